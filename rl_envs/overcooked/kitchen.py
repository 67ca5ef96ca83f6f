"""A layout as tables: contents of cells, targets of actions, faced cells, distances and reach.

The number of a cell is row * W + column.
"""

from collections import deque
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from rl_envs.core.spec import Array
from rl_envs.overcooked.layouts import STARTS, get_rows
from rl_envs.overcooked.words import DISH_STORE, FLOOR, HATCH, NOTHING, ONION_STORE, POT, STAY, STEPS

_CONTENTS = {"X": NOTHING, "O": ONION_STORE, "D": DISH_STORE, "S": HATCH, "P": POT}
PLACES = ("pot", "counter", "shared counter", "middle counter", "onion store", "dish store", "hatch")
"""Kinds of cells that chefs use; single pots are `pot 0`, `pot 1`, in reading order."""


class Kitchen:
    """One layout."""

    def __init__(self, layout: str | Sequence[str]) -> None:
        """Compute the tables of a named layout or of given rows."""
        self.rows = get_rows(layout)  # rows of the layout
        self.name = layout if isinstance(layout, str) else "kitchen"  # name of the layout, or `kitchen` for custom rows
        self.height, self.width = len(self.rows), len(self.rows[0])  # H and W
        signs = "".join(self.rows)
        self.size = len(signs)
        # [H * W] uint8, contents of every cell at the start
        self.contents = np.array([_CONTENTS.get(sign, FLOOR) for sign in signs], np.uint8)
        self.is_floor = self.contents == FLOOR  # [H * W] bool, whether each cell is floor
        self.pots = np.flatnonzero(self.contents == POT)  # [P] int64, cells of the pots
        self.starts = np.array([signs.index(sign) for sign in STARTS])  # [2] int64, first cells of the chefs
        targets = np.array([[self._shifted(cell, step) for step in STEPS] for cell in range(self.size)])
        # [H * W * 4] int64, by cell * 4 + heading: the faced cell; at the edge the cell itself
        self.front = targets[:, :STAY].ravel()
        here = np.arange(self.size)[:, None]
        # [H * W * 6] int64, by cell * 6 + action: target of the action without the other chef
        self.next_cell = np.where(self.is_floor[targets] & self.is_floor[:, None], targets, here).ravel()

    def place(self, cell: int) -> tuple[int, int]:
        """Row and column of a cell."""
        return divmod(int(cell), self.width)

    def _shifted(self, cell: int, step: tuple[int, int]) -> int:
        row, column = cell // self.width + step[0], cell % self.width + step[1]
        inside = 0 <= row < self.height and 0 <= column < self.width
        return row * self.width + column if inside else cell

    @cached_property
    def neighbours(self) -> Array:
        """[H * W, H * W] bool, row c has the cells next to the floor cell c."""
        beside = np.zeros((self.size, self.size), bool)
        here = np.repeat(np.arange(self.size), STAY)
        beside[here, self.front] = self.is_floor[here]
        return beside & ~np.eye(self.size, dtype=bool)

    @cached_property
    def distances(self) -> Array:
        """[H * W, H * W] int64, steps from each floor cell to each cell; H * W without a path.

        The path to a cell that is not floor ends with the step towards it.
        """
        found = np.full((self.size, self.size), self.size)
        for start in np.flatnonzero(self.is_floor):
            found[start] = self._distances_from(int(start))
        return found

    def _distances_from(self, start: int) -> Array:
        found = np.full(self.size, self.size)
        found[start], ahead = 0, deque([start])
        while ahead:
            cell = ahead.popleft()
            for beside in np.flatnonzero(self.neighbours[cell] & (found == self.size)):
                found[beside] = found[cell] + 1
                if self.is_floor[beside]:
                    ahead.append(int(beside))
        return found

    @cached_property
    def reach(self) -> Array:
        """[2, H * W] bool, cells that each chef can enter, or face from a cell that it can enter."""
        return self.distances[self.starts] < self.size

    def place_cells(self, place: str) -> Array:
        """[H * W] bool, the cells of a place: one of `PLACES`, or a single pot (`pot 0`)."""
        if place not in self._cells:
            raise ValueError(f"the kitchen {self.name} has no place {place!r}; there are {', '.join(self._cells)}")
        return self._cells[place]

    @cached_property
    def _cells(self) -> dict[str, Array]:
        """Both chefs can use a shared counter; a middle counter can be used from several cells."""
        counters = self.contents == NOTHING
        kinds = (POT, NOTHING, NOTHING, NOTHING, ONION_STORE, DISH_STORE, HATCH)
        found = {name: self.contents == kind for name, kind in zip(PLACES, kinds, strict=True)}
        found["shared counter"] = counters & self.reach.all(0)
        found["middle counter"] = counters & (self.neighbours.sum(0) > 1)
        here = np.arange(self.size)
        return found | {f"pot {number}": here == cell for number, cell in enumerate(self.pots)}
