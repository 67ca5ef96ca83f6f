"""Two scripted chefs who walk shortest ways: each is given cells of objects, and turns to and uses the nearest of them.

Actions are those of `relocation.py`, a cell to go to; a neighbouring cell is chosen at every env step, so that both
reaches allow it. A chef walks round the other one where there is a way round. Where there is none, or both want the
same cell, chance decides who gives way.
"""

from __future__ import annotations

import functools

import numpy as np

from rl_envs.core.spec import Array
from rl_envs.overcooked.kitchen import Kitchen

NUM_UNIFORMS = 4
"""Random numbers that the two chefs use in an env step: who gives way and where to, of each chef."""


class ShortestWays:
    """Chooses the next cells of both chefs in one kitchen; it remembers nothing between env steps."""

    def __init__(self, kitchen: Kitchen) -> None:
        """Keep the tables of a kitchen."""
        self._kitchen = kitchen
        self._steps = functools.lru_cache(maxsize=4096)(self._steps_uncached)

    def next_cells(self, at: Array, targets: Array, uniforms: Array) -> Array:
        """Cells that the chefs choose now, [2] int, of each chef its own cell or a neighbouring one.

        Args:
            at: [2] int, cells in which they stand.
            targets: [2, H * W] bool, objects of which each shall use the nearest; none to let a chef stay.
            uniforms: [NUM_UNIFORMS] float in [0, 1).
        """
        here, wanted = at.tolist(), [self._onwards(chef, at, targets) for chef in range(2)]
        for chef in range(2):
            other = 1 - chef
            if wanted[chef] == here[other]:  # no way round: one or both step aside
                return np.array([self._aside(place, at, uniforms[2 * place : 2 * place + 2]) for place in range(2)])
        if wanted[0] == wanted[1] and self._kitchen.is_floor[wanted[0]]:
            waits = int(uniforms[0] < 0.5)
            wanted[waits] = here[waits]
        return np.array(wanted)

    def _onwards(self, chef: int, at: Array, targets: Array) -> int:
        """The next cell of a shortest way: round the other chef, else through it, else the chef's own cell."""
        here, other = int(at[chef]), int(at[1 - chef])
        cells = targets[chef].tobytes()
        for blocked in (other, -1):
            steps = self._steps(cells, blocked)
            beside = np.flatnonzero(self._kitchen.neighbours[here])
            if steps[here] < self._kitchen.size:
                return int(beside[steps[beside].argmin()])
        return here

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
