"""Two scripted chefs who walk shortest ways: each is given cells of objects, and turns to and uses the nearest of them.

Actions are those of `relocation.py`, a cell to go to; a neighbouring cell is chosen at every env step, so that both
reaches allow it. A chef that rests makes way. Of two that meet, the one with the smaller detour walks round the other.
Where there is no way round, or both want the same cell, chance decides who gives way.
"""

from __future__ import annotations

import functools

import numpy as np

from rl_envs.core.spec import Array
from rl_envs.overcooked.kitchen import Kitchen

NUM_UNIFORMS = 4
"""Random numbers that the two chefs use in an env step: who gives way and where to, of each chef."""


class ShortestWays:
    """Chooses the next cells of both chefs in one kitchen; it has no state between env steps."""

    def __init__(self, kitchen: Kitchen) -> None:
        """Keep the tables of a kitchen."""
        self._kitchen = kitchen
        self._steps = functools.lru_cache(maxsize=4096)(self._steps_uncached)

    def next_cells(self, at: Array, targets: Array, uniforms: Array) -> Array:
        """Cells that the chefs choose now, [2] int, of each chef its own cell or a neighbouring one.

        Args:
            at: [2] int, cells in which they stand.
            targets: [2, H * W] bool, objects of which each shall use the nearest; none to let a chef rest.
            uniforms: [NUM_UNIFORMS] float in [0, 1).
        """
        here, rests = at.tolist(), np.logical_not(targets.any(1)).tolist()
        ahead = [self._onwards(chef, at, targets, -1)[0] for chef in range(2)]
        wanted = list(ahead)
        for chef in range(2):
            other = 1 - chef
            if ahead[chef] != here[other] or self._leaves(other, at, ahead):
                continue
            if rests[other]:
                wanted[other] = self._way_out(other, at)
            else:
                wanted[chef] = self._round(chef, at, targets, ahead)
        for chef in range(2):
            if wanted[chef] == here[1 - chef] and not self._leaves(1 - chef, at, wanted):
                # no way round: one or both step aside
                return np.array([self._aside(place, at, uniforms[2 * place : 2 * place + 2]) for place in range(2)])
        if wanted[0] == wanted[1] and self._kitchen.is_floor[wanted[0]]:
            waits = int(uniforms[0] < 0.5)
            wanted[waits] = here[waits]
        return np.array(wanted)

    def _leaves(self, chef: int, at: Array, wanted: list[int]) -> bool:
        """Whether a chef goes to a floor cell on which nobody stands."""
        return bool(self._kitchen.is_floor[wanted[chef]]) and wanted[chef] not in at.tolist()

    def _round(self, chef: int, at: Array, targets: Array, ahead: list[int]) -> int:
        """Where a chef goes that has the other in its way: round it, or it waits while the other uses an object.

        Of two that meet, the one with the smaller detour turns back.
        """
        other = 1 - chef
        turned, more = self._detour(chef, at, targets)
        if ahead[other] == at[chef]:
            less = self._detour(other, at, targets)[1]
            return turned if more < less or (more == less and chef == 0) else int(at[other])
        return turned if more < self._kitchen.size else int(at[chef])

    def _detour(self, chef: int, at: Array, targets: Array) -> tuple[int, int]:
        """The first cell of the way round the other chef, and its env steps beyond a shortest way; H * W if none."""
        direct, (turned, steps) = (
            self._onwards(chef, at, targets, -1)[1],
            self._onwards(chef, at, targets, int(at[1 - chef])),
        )
        return turned, steps - direct if steps < self._kitchen.size else self._kitchen.size

    def _onwards(self, chef: int, at: Array, targets: Array, blocked: int) -> tuple[int, int]:
        """The next cell of a shortest way that leaves out a cell, else the chef's own; and the way's env steps."""
        here = int(at[chef])
        steps = self._steps(targets[chef].tobytes(), blocked)
        beside = np.flatnonzero(self._kitchen.neighbours[here])
        found = int(steps[here])
        return (int(beside[steps[beside].argmin()]) if found < self._kitchen.size else here), found

    def _way_out(self, chef: int, at: Array) -> int:
        """A free floor cell beside a chef that makes way, else its own."""
        beside = np.flatnonzero(self._kitchen.neighbours[at[chef]] & self._kitchen.is_floor)
        free = beside[beside != at[1 - chef]]
        return int(free[0]) if len(free) else int(at[chef])

    def _aside(self, chef: int, at: Array, uniforms: Array) -> int:
        """A free floor cell beside a chef, in half of the cases its own."""
        here = int(at[chef])
        free = np.flatnonzero(self._kitchen.neighbours[here] & self._kitchen.is_floor)
        free = free[free != at[1 - chef]]
        return int(free[int(uniforms[1] * len(free))]) if len(free) and uniforms[0] < 0.5 else here

    def _steps_uncached(self, targets: bytes, blocked: int) -> Array:
        """[H * W] int64, env steps from each cell to a target, the blocked floor cell left out; H * W without a way."""
        size, floor = self._kitchen.size, self._kitchen.is_floor.copy()
        ahead = np.frombuffer(targets, bool)
        if blocked >= 0:
            floor[blocked] = False
        steps = np.where(ahead, 0, size)
        for count in range(1, size):
            ahead = self._kitchen.neighbours[:, ahead].any(1) & floor & (steps == size)
            if not ahead.any():
                break
            steps[ahead] = count
        return steps
