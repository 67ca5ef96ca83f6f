"""Counter-based random numbers: each is a hash of its place in the run, not of the numbers drawn before.

A world's uniforms depend only on (world key, episode, step, draw number). So they do not depend on the number of worlds
in the batch, the env runner, the process or its hash seed, and a snapshot of them is three integers per world. The
mixing function is the finaliser of SplitMix64 (Steele, Lea and Flood, 2014).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Float64 = NDArray[np.float64]
UInt64 = NDArray[np.uint64]

POLICY_DRAWS = 2**32
"""Draw numbers from here on are for sampling actions; smaller ones are for the world."""

_EPISODE, _STEP, _DRAW, _WORLD = (
    np.uint64(constant) for constant in (0x9E3779B97F4A7C15, 0xD1B54A32D192ED03, 0x8CB92BA72F3D8DD7, 0xABC98388FB8FAC03)
)
_TO_UNIT = 2.0**-53


def mix(x: UInt64) -> UInt64:
    """SplitMix64's finaliser: a bijection of uint64 in which each input bit reaches each output bit; any shape."""
    x = x ^ (x >> np.uint64(30))
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return x


def world_keys(seed: int, first_world: int, num_worlds: int) -> UInt64:
    """Keys of worlds `first_world .. first_world + num_worlds - 1` of a run with this seed.

    Returns:
        [B] uint64. Splitting the same worlds over several env runners leaves every key as it is.
    """
    index = np.arange(first_world, first_world + num_worlds, dtype=np.uint64)
    return mix(mix(np.uint64(seed % 2**64) + index * _WORLD) + _WORLD)


def pick(uniforms: Float64, count: int) -> NDArray[np.int64]:
    """Uniform numbers in [0, 1) as integers 0 .. count - 1, same shape int64."""
    return (uniforms * count).astype(np.int64)


class Chance:
    """The clock and the uniforms of B worlds.

    Attributes:
        key: [B] uint64, identity of each world.
        episode: [B] int64, episodes begun since `reset`, from 0.
        step: [B] int64, env steps since the episode began.
    """

    def __init__(self, seed: int, first_world: int, num_worlds: int) -> None:
        self.key = world_keys(seed, first_world, num_worlds)
        self.episode = np.zeros(num_worlds, np.int64)
        self.step = np.zeros(num_worlds, np.int64)

    def uniforms(self, draws: int, rows: NDArray[np.integer] | slice = slice(None), first_draw: int = 0) -> Float64:
        """Uniform numbers for draws `first_draw .. first_draw + draws - 1` of the present step.

        Args:
            draws: D, numbers per world.
            rows: indices of K worlds; all by default.
            first_draw: number of the first draw. The same draw always gives the same number.

        Returns:
            [K, D] float64 in [0, 1).
        """
        with np.errstate(over="ignore"):
            moment = mix(self.key[rows] + self.episode[rows].astype(np.uint64) * _EPISODE)
            moment = mix(moment + self.step[rows].astype(np.uint64) * _STEP)
            number = np.arange(first_draw, first_draw + draws, dtype=np.uint64) * _DRAW
            bits = mix(moment[:, None] + number)
        return (bits >> np.uint64(11)).astype(np.float64) * _TO_UNIT

    def policy_uniforms(self, draws: int, first_draw: int = 0) -> Float64:
        """Uniforms for sampling actions at this step, [B, D] float64 in [0, 1).

        With another `first_draw` they are for other random choices of a policy.
        """
        return self.uniforms(draws, first_draw=POLICY_DRAWS + first_draw)

    def next_step(self) -> None:
        """Advance every world's clock by one env step."""
        self.step += 1

    def next_episode(self, rows: NDArray[np.integer]) -> None:
        """Start the clock of a new episode in the given worlds."""
        self.episode[rows] += 1
        self.step[rows] = 0
