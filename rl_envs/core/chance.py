"""Counter-based random numbers: each is a hash of its place in the run, not of the numbers drawn before.

A world's uniforms depend only on (world key, episode, step, draw number). So they do not depend on the number of worlds
in the batch, the env runner, the process or its hash seed, and a snapshot of them is three integers per world. The
mixing function is the finaliser of SplitMix64 (Steele, Lea and Flood, 2014).
"""

import numpy as np
from numpy.typing import NDArray

from rl_envs.core.array_library import NUMPY, ArrayLibrary, Rows

Float64 = NDArray[np.float64]
UInt64 = NDArray[np.uint64]

POLICY_DRAWS = 2**32
"""Draw numbers from here on are for sampling actions; smaller ones are for the world."""

_EPISODE, _STEP, _DRAW, _WORLD = 0x9E3779B97F4A7C15, 0xD1B54A32D192ED03, 0x8CB92BA72F3D8DD7, 0xABC98388FB8FAC03
_TO_UNIT = 2.0**-53


def mix(x: UInt64, xp: ArrayLibrary = NUMPY) -> UInt64:
    """SplitMix64's finaliser [...] uint64: a bijection in which each input bit reaches each output bit."""
    x = x ^ xp.shift_right(x, 30)
    x *= xp.as_word(0xBF58476D1CE4E5B9)
    x ^= xp.shift_right(x, 27)
    x *= xp.as_word(0x94D049BB133111EB)
    x ^= xp.shift_right(x, 31)
    return x


def world_keys(seed: int, first_world: int, num_worlds: int) -> UInt64:
    """Keys [B] uint64 of worlds `first_world ..` of a run with this seed, however worlds are split over env runners."""
    index = np.arange(first_world, first_world + num_worlds, dtype=np.uint64)
    return mix(mix(index * _WORLD + seed % 2**64) + _WORLD)


def pick(uniforms: Float64, count: int) -> NDArray[np.int64]:
    """Uniform numbers in [0, 1) as integers 0 .. count - 1, same shape int64."""
    return (uniforms * count).astype(np.int64)


class Chance:
    """The clock and the uniforms of B worlds, in an array library.

    Attributes:
        key: [B] uint64, identity of each world; int64 with the same bits in torch.
        episode: [B] int64, episodes begun since `reset`, from 0.
        step: [B] int64, env steps since the episode began.
    """

    def __init__(self, seed: int, first_world: int, num_worlds: int, xp: ArrayLibrary = NUMPY) -> None:
        self._xp = xp
        self.key = xp.asarray(world_keys(seed, first_world, num_worlds))
        self.episode = xp.zeros(num_worlds, dtype=xp.int64)
        self.step = xp.zeros(num_worlds, dtype=xp.int64)

    def uniforms(self, draws: int, rows: Rows = slice(None), first_draw: int = 0) -> Float64:
        """Uniforms of draws `first_draw .. first_draw + draws - 1` of the present step, [K, D] float64 in [0, 1).

        The same draw always gives the same number. `rows` are the K worlds, all by default.
        """
        xp = self._xp
        with np.errstate(over="ignore"):
            moment = mix(self.key[rows] + xp.astype(self.episode[rows], xp.word) * xp.as_word(_EPISODE), xp)
            moment = mix(moment + xp.astype(self.step[rows], xp.word) * xp.as_word(_STEP), xp)
            number = xp.arange(first_draw, first_draw + draws, dtype=xp.word) * xp.as_word(_DRAW)
            bits = mix(moment[:, None] + number, xp)
        return xp.astype(xp.shift_right(bits, 11), xp.float64) * _TO_UNIT

    def policy_uniforms(self, draws: int, first_draw: int = 0) -> Float64:
        """Uniforms for sampling actions at this step, [B, D] float64 in [0, 1).

        With another `first_draw` they are for other random choices of a policy.
        """
        return self.uniforms(draws, first_draw=POLICY_DRAWS + first_draw)

    def next_step(self) -> None:
        """Advance every world's clock by one env step."""
        self.step += 1

    def next_episode(self, rows: NDArray[np.integer]) -> None:
        """Start the clock of a new episode in the worlds `rows`, [K] int."""
        self.episode[rows] += 1
        self.step[rows] = 0

    def next_episode_where(self, ended: NDArray[np.bool_]) -> None:
        """Start the clock of a new episode where the mask [B] holds."""
        self.episode += ended
        self._xp.copyto(self.step, 0, where=ended)
