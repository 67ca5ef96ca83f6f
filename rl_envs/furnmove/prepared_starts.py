"""Starts of B worlds' next episodes, drawn by the host in time and kept in a table on the device.

A start depends on key and number of the episode alone (`core/chance.py`), so it can be drawn before the episode begins.
An episode takes as many env steps as the TV needs to come within a cell of the stand, or the limit if that is less.
This bounds how many starts the next env steps can take.

The host cannot count replays of a captured step. So `refill` draws for those that it is told of and for `STEPS_AHEAD`
steps beside them, which the host counts. A captured step reads the ring where it is, so from then on it never moves.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from rl_envs.core.array_library import ArrayLibrary, Rows
from rl_envs.core.chance import Chance
from rl_envs.core.spec import Array
from rl_envs.furnmove.start import packed_size, unpacked

STEPS_AHEAD = 32
"""Env steps for which `refill` draws beyond its argument."""


class PreparedStarts:
    """A ring of packed starts for each world: that of its episode e is at e mod D."""

    def __init__(
        self,
        num_worlds: int,
        num_agents: int,
        max_episode_steps: int,
        draw: Callable[[Chance, int], Array],
        xp: ArrayLibrary,
    ) -> None:
        """Allocate the ring; `draw(chance, world)` draws the packed start of a world's episode."""
        self._xp, self._draw, self._max_episode_steps = xp, draw, max_episode_steps
        self._size, self._num_agents = packed_size(num_agents), num_agents
        self._chance = Chance(0, 0, num_worlds)  # whose episode of each world is the next to draw
        self._key: Any = None
        self._steps = self._steps_left = 0
        self._is_captured = False
        self._allocate(num_worlds, STEPS_AHEAD + 1)

    def take(self, rows: Rows, worlds: Array, episodes: Array) -> Array:
        """Packed starts [K, S] of the episodes [B] int64 of `rows` of all worlds, whose numbers are `worlds` [K]."""
        flat = (episodes % self._depth * self._ring.shape[1])[rows] + worlds
        return self._xp.take(self._ring.reshape(-1, self._size), flat, 0)

    def has_step(self, chance: Chance) -> bool:
        """Count an env step, and whether its starts are drawn; if not, `refill` must come first.

        Raises RuntimeError where it is being captured, and the host has drawn nothing for this game.
        """
        is_same_game = chance.key is self._key
        if not self._xp.is_capturing():
            self._steps_left -= 1
            return is_same_game and self._steps_left >= 0
        if not is_same_game:
            raise RuntimeError("a step is captured before its starts are drawn: call `prepare` before the capture")
        self._is_captured, self._steps_left = True, 0  # replays may take all that is drawn
        return True

    def refill(self, chance: Chance, steps: int | None = None, is_anew: bool = False) -> Array:
        """Draw all starts that the present episodes and the next `steps` env steps can take; gives their rooms [R].

        The host waits for the clock. `is_anew`: the host has begun episodes, so that those drawn may not be next.
        Raises RuntimeError where an episode has begun whose start was not drawn, or the ring of a captured step is too
        short.
        """
        episode, drawn = self._xp.to_numpy(chance.episode), self._chance.episode
        steps = (self._steps if steps is None else steps) + STEPS_AHEAD
        if chance.key is not self._key:  # another game, for which a step must be captured anew
            self._key, self._chance.key = chance.key, self._xp.to_numpy(chance.key).view(np.uint64)
            self._is_captured, is_anew = False, True
        if steps >= self._depth:
            if self._is_captured:
                most = self._depth - 1 - STEPS_AHEAD
                raise RuntimeError(
                    f"prepare({steps - STEPS_AHEAD}) needs more memory than the captured step reads: prepare at most "
                    f"{most} steps at once, or call it before the capture"
                )
            self._allocate(len(episode), steps + 1)
            is_anew = True
        self._steps = steps - STEPS_AHEAD
        if is_anew:
            drawn[...] = episode
        elif (episode >= drawn).any():
            raise RuntimeError("more env steps were replayed than `prepare` was called for: give it their number")
        self._steps_left = STEPS_AHEAD if self._is_captured else steps
        ends, found = self._earliest_ends(episode), [np.empty((0, 1 + self._size), np.int64)]
        while (worlds := np.flatnonzero(ends <= steps)).size:
            starts = np.stack([self._draw(self._chance, world) for world in worlds.tolist()])
            state, slots = unpacked(starts, self._num_agents), drawn[worlds] % self._depth
            distance = abs(state["tv"][:, :2] - state["stand"][:, :2]).sum(1)
            self._least[slots, worlds] = np.clip(distance - 1, 1, self._max_episode_steps)
            ends[worlds] += np.where(drawn[worlds] == episode[worlds], 1, self._least[slots, worlds])
            drawn[worlds] += 1
            found.append(np.column_stack([slots * len(ends) + worlds, starts]))
        new = np.concatenate(found)
        if len(new):
            given = self._xp.asarray(new)  # one copy to the device
            self._ring.reshape(-1, self._size)[given[:, 0]] = given[:, 1:]
        return np.unique(new[:, 1])

    def _earliest_ends(self, episode: Array) -> Array:
        """[B] int64, least env steps until the last of the drawn episodes ends; 0 where not even the present is."""
        drawn, worlds = self._chance.episode, np.arange(len(episode))
        ends = (drawn > episode).astype(np.int64)  # the present one may end in the next step
        for ahead in range(1, int((drawn - episode).max(initial=0))):
            number = episode + ahead
            ends += np.where(number < drawn, self._least[number % self._depth, worlds], 0)
        return ends

    def _allocate(self, num_worlds: int, depth: int) -> None:
        self._depth = depth
        self._ring = self._xp.zeros((depth, num_worlds, self._size), dtype=self._xp.int64)
        self._least = np.ones((depth, num_worlds), np.int64)
