"""A layout as tables: contents of cells, where each action leads, what one faces, who reaches what.

Cells are numbered row * W + column. This file must not know what an interaction does.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from rl_envs.core.spec import Array
from rl_envs.overcooked.layouts import STARTS, drawing_of
from rl_envs.overcooked.words import DISH_STORE, FLOOR, HATCH, NOTHING, ONION_STORE, POT, STAY, STEPS

_CONTENTS = {"X": NOTHING, "O": ONION_STORE, "D": DISH_STORE, "S": HATCH, "P": POT}
PLACES = ("pot", "counter", "shared counter", "middle counter", "onion store", "dish store", "hatch")
"""Kinds of cells that chefs act on; a single pot is `pot 0`, `pot 1`, in reading order."""


class Kitchen:
    """One layout.

    Attributes:
        name: of the layout, or `kitchen` for a drawing of one's own.
        rows: the drawing.
        height, width: H and W.
        contents: [H * W] uint8, of every cell at the start.
        is_floor: [H * W] bool.
        pots: [P] int64, cells of the pots.
        starts: [2] int64, cells where the chefs begin.
        next_cell: [H * W * 6] int64, by cell * 6 + action: where it leads if nobody is in the way.
        front: [H * W * 4] int64, by cell * 4 + heading: the cell that is faced; itself at the edge.
    """

    def __init__(self, layout: str | Sequence[str]) -> None:
        """Make the tables of a named layout or a drawing.

        Raises:
            ValueError: an unknown name, or a drawing that is no kitchen for two.
        """
        self.rows = drawing_of(layout)
        self.name = layout if isinstance(layout, str) else "kitchen"
        self.height, self.width = len(self.rows), len(self.rows[0])
        signs = "".join(self.rows)
        self.size = len(signs)
        self.contents = np.array([_CONTENTS.get(sign, FLOOR) for sign in signs], np.uint8)
        self.is_floor = self.contents == FLOOR
        self.pots = np.flatnonzero(self.contents == POT)
        self.starts = np.array([signs.index(sign) for sign in STARTS])
        targets = np.array([[self._shifted(cell, step) for step in STEPS] for cell in range(self.size)])
        self.front = targets[:, :STAY].ravel()
        here = np.arange(self.size)[:, None]
        self.next_cell = np.where(self.is_floor[targets] & self.is_floor[:, None], targets, here).ravel()

    def place(self, cell: int) -> tuple[int, int]:
        """Row and column of a cell."""
        return divmod(int(cell), self.width)

    def _shifted(self, cell: int, step: tuple[int, int]) -> int:
        row, column = cell // self.width + step[0], cell % self.width + step[1]
        inside = 0 <= row < self.height and 0 <= column < self.width
        return row * self.width + column if inside else cell

    # ------------------------------------------------------------------- who reaches what

    @cached_property
    def neighbours(self) -> Array:
        """[H * W, H * W] bool, cells beside a floor cell, in its row."""
        beside = np.zeros((self.size, self.size), bool)
        here = np.repeat(np.arange(self.size), STAY)
        beside[here, self.front] = self.is_floor[here]
        return beside & ~np.eye(self.size, dtype=bool)

    @cached_property
    def distances(self) -> Array:
        """[H * W, H * W] int64, steps from each floor cell to each cell; H * W where there is no way.

        The way to a place that is no floor ends with the step towards it.
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
        """[2, H * W] bool, cells that each chef can walk to, or face from where it can walk to."""
        return self.distances[self.starts] < self.size

    def cells_of(self, place: str) -> Array:
        """[H * W] bool, the cells of a place: one of `PLACES`, or a single pot (`pot 0`).

        Raises:
            ValueError: there is no such place.
        """
        if place not in self._cells:
            raise ValueError(f"the kitchen {self.name} has no place {place!r}; there are {', '.join(self._cells)}")
        return self._cells[place]

    @cached_property
    def _cells(self) -> dict[str, Array]:
        """A shared counter is one that both chefs can use, a middle counter one that can be used from several cells."""
        counters = self.contents == NOTHING
        kinds = (POT, NOTHING, NOTHING, NOTHING, ONION_STORE, DISH_STORE, HATCH)
        found = {name: self.contents == kind for name, kind in zip(PLACES, kinds, strict=True)}
        found["shared counter"] = counters & self.reach.all(0)
        found["middle counter"] = counters & (self.neighbours.sum(0) > 1)
        here = np.arange(self.size)
        return found | {f"pot {number}": here == cell for number, cell in enumerate(self.pots)}
