"""Two scripted chefs that walk shortest paths to the nearest one of some objects and use it.

Actions are those of `relocation.py`, a cell to go to, here always the chef's own or a neighbouring one. A chef without
a target makes way. When two chefs meet, the one with the smaller detour walks around the other. If there is no detour,
or both want the same cell, random numbers decide which one gives way.
"""

import functools

import numpy as np

from rl_envs.core.spec import Array
from rl_envs.overcooked.kitchen import Kitchen

NUM_UNIFORMS = 4
"""Random numbers of the two chefs in an env step: for each chef whether it makes way, and where to."""


class ShortestPaths:
    """Chooses the next cells of both chefs in one kitchen; it has no state between env steps."""

    def __init__(self, kitchen: Kitchen) -> None:
        """Keep the tables of a kitchen."""
        self._kitchen = kitchen
        self._steps = functools.lru_cache(maxsize=4096)(self._steps_uncached)

    def next_cells(self, at: Array, targets: Array, uniforms: Array) -> Array:
        """Cell that each chef `at` [2] chooses now, [2] int, its own or a neighbouring one.

        `targets` [2, H * W] bool: objects of which each uses the nearest, none for a chef without a target. `uniforms`
        [NUM_UNIFORMS] are in [0, 1).
        """
        here, rests = at.tolist(), np.logical_not(targets.any(1)).tolist()
        ahead = [self._next_cell(chef, at, targets, -1)[0] for chef in range(2)]
        wanted = list(ahead)
        for chef in range(2):
            other = 1 - chef
            if ahead[chef] != here[other] or self._leaves(other, at, ahead):
                continue
            if rests[other]:
                wanted[other] = self._make_way(other, at)
            else:
                wanted[chef] = self._go_around(chef, at, targets, ahead)
        for chef in range(2):
            if wanted[chef] == here[1 - chef] and not self._leaves(1 - chef, at, wanted):
                # no detour: one or both step aside
                return np.array(
                    [self._step_aside(place, at, uniforms[2 * place : 2 * place + 2]) for place in range(2)]
                )
        if wanted[0] == wanted[1] and self._kitchen.is_floor[wanted[0]]:
            waits = int(uniforms[0] < 0.5)
            wanted[waits] = here[waits]
        return np.array(wanted)

    def _leaves(self, chef: int, at: Array, wanted: list[int]) -> bool:
        """Whether a chef moves to a free floor cell."""
        return bool(self._kitchen.is_floor[wanted[chef]]) and wanted[chef] not in at.tolist()

    def _go_around(self, chef: int, at: Array, targets: Array, ahead: list[int]) -> int:
        """Next cell of a chef that the other blocks: a detour, or its own cell while the other uses an object."""
        other = 1 - chef
        turned, more = self._detour(chef, at, targets)
        if ahead[other] == at[chef]:
            less = self._detour(other, at, targets)[1]
            return turned if more < less or (more == less and chef == 0) else int(at[other])
        return turned if more < self._kitchen.size else int(at[chef])

    def _detour(self, chef: int, at: Array, targets: Array) -> tuple[int, int]:
        """The first cell of the detour around the other chef, and its additional env steps; H * W without one."""
        direct = self._next_cell(chef, at, targets, -1)[1]
        turned, steps = self._next_cell(chef, at, targets, int(at[1 - chef]))
        return turned, steps - direct if steps < self._kitchen.size else self._kitchen.size

    def _next_cell(self, chef: int, at: Array, targets: Array, blocked: int) -> tuple[int, int]:
        """The next cell of a shortest path that avoids a cell, else the chef's own; and the path's env steps."""
        here = int(at[chef])
        steps = self._steps(targets[chef].tobytes(), blocked)
        beside = np.flatnonzero(self._kitchen.neighbours[here])
        found = int(steps[here])
        return (int(beside[steps[beside].argmin()]) if found < self._kitchen.size else here), found

    def _make_way(self, chef: int, at: Array) -> int:
        """A free floor cell next to a chef that gives way, else its own."""
        beside = np.flatnonzero(self._kitchen.neighbours[at[chef]] & self._kitchen.is_floor)
        free = beside[beside != at[1 - chef]]
        return int(free[0]) if len(free) else int(at[chef])

    def _step_aside(self, chef: int, at: Array, uniforms: Array) -> int:
        """A free floor cell next to a chef, or with probability 1/2 its own."""
        here = int(at[chef])
        free = np.flatnonzero(self._kitchen.neighbours[here] & self._kitchen.is_floor)
        free = free[free != at[1 - chef]]
        return int(free[int(uniforms[1] * len(free))]) if len(free) and uniforms[0] < 0.5 else here

    def _steps_uncached(self, targets: bytes, blocked: int) -> Array:
        """[H * W] int64, env steps from each cell to a target, avoiding the blocked cell; H * W without a path."""
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
