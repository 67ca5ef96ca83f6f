"""A kitchen's drawing as geometry: rooms, places, and how far it is.

`X` counter, `O` onion store, `P` pot, `D` dish store, `S` hatch, else floor; `1` and `2` are where chefs begin.
This file must not know what is in the pots or who holds what.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from functools import cache, cached_property

from rl_models.planners.domain import StateTextError
from tune_experiments.sama.kitchen.state import HEADINGS, Cell, KitchenState

ONION_STORE, DISH_STORE, HATCH, MIDDLE_COUNTER, COUNTER = (
    "onion store",
    "dish store",
    "hatch",
    "middle counter",
    "counter",
)
_SIGNS = {"O": ONION_STORE, "D": DISH_STORE, "S": HATCH, "X": COUNTER}
_HANDING_OVER_PAYS = 3
"""Steps that a middle counter must save on the way from the onions to a pot, for chefs who could walk."""
FAR = 10_000


class Layout:
    """One kitchen.

    Attributes:
        rows: the drawing.
        floor: walkable cells.
        starts: where the chefs begin.
        pots: cells of the pots in reading order.
    """

    def __init__(self, rows: Sequence[str]) -> None:
        """Read a drawing."""
        self.rows = tuple(rows)
        signs = {(row, column): sign for row, line in enumerate(rows) for column, sign in enumerate(line)}
        self.floor = frozenset(cell for cell, sign in signs.items() if sign in " 12")
        self.pots = tuple(cell for cell, sign in signs.items() if sign == "P")
        self.starts = tuple(cell for mark in "12" for cell, sign in signs.items() if sign == mark)
        self._places = {name: tuple(c for c, sign in signs.items() if sign == mark) for mark, name in _SIGNS.items()}
        # A cell that can be used from two sides; the counters along the walls can only be used from one.
        self._places[MIDDLE_COUNTER] = tuple(c for c in self._places[COUNTER] if len(self.beside(c)) > 1)
        self.distance = cache(self._distance)

    def cells(self, place: str) -> tuple[Cell, ...]:
        """Cells of a place: `pot 0`, or one of the names above."""
        if place.startswith("pot "):
            return (self.pots[int(place.removeprefix("pot "))],)
        return self._places[place]

    def beside(self, cell: Cell) -> tuple[Cell, ...]:
        """Floor cells from which a cell is used, or walked to."""
        around = ((cell[0] + step[0], cell[1] + step[1]) for step in HEADINGS.values())
        return tuple(found for found in around if found in self.floor)

    def to_nearest(self, start: Cell, cells: Iterable[Cell]) -> tuple[int, Cell]:
        """Steps to stand beside the nearest of those cells, and where one then stands; `FAR` if there is no way."""
        stands = [(self.distance(start, stand), stand) for cell in cells for stand in self.beside(cell)]
        return min(stands, default=(FAR, start))

    def reaches(self, start: Cell, place: str) -> bool:
        """Whether there is a way to some cell of a place."""
        return self.to_nearest(start, self.cells(place))[0] < FAR

    @cached_property
    def rooms(self) -> tuple[frozenset[Cell], ...]:
        """Floor cells that are joined, from left to right; those where no chef begins are left out."""
        found: list[frozenset[Cell]] = []
        for start in self.starts:
            if not any(start in room for room in found):
                found.append(frozenset(cell for cell in self.floor if self.distance(start, cell) < FAR))
        return tuple(sorted(found, key=lambda room: min(column for _, column in room)))

    def room_name(self, cell: Cell) -> str:
        """`left room`, `right room`, or `room` where there is one."""
        if len(self.rooms) == 1:
            return "room"
        return "left room" if cell in self.rooms[0] else "right room"

    @cached_property
    def hands_over(self) -> bool:
        """Whether things should be passed over the middle counter: somebody must, or it saves steps."""
        if not self.cells(MIDDLE_COUNTER):
            return False
        needed = (ONION_STORE, DISH_STORE, HATCH, *(f"pot {number}" for number in range(len(self.pots))))
        someone_must = not all(self.reaches(start, place) for start in self.starts for place in needed)
        return someone_must or self._saved_by_handing_over() >= _HANDING_OVER_PAYS

    def check(self, state: KitchenState) -> None:
        """Refuse states that this kitchen cannot be in.

        Raises:
            StateTextError: with the reason.
        """
        if tuple(pot.cell for pot in state.pots) != self.pots:
            raise StateTextError("the pots are not where this kitchen has them")
        if len(state.chefs) != len(self.starts):
            raise StateTextError(f"this kitchen has {len(self.starts)} chefs")
        if not all(cell in self.cells(COUNTER) for cell, _ in state.counters):
            raise StateTextError("things can lie on counters only")
        if len({chef.cell for chef in state.chefs}) < len(state.chefs):
            raise StateTextError("two chefs stand on one cell")
        for chef, start in zip(state.chefs, self.starts, strict=True):
            if chef.cell not in self.floor or self.distance(start, chef.cell) == FAR:
                raise StateTextError("a chef stands where it can never be")

    def _saved_by_handing_over(self) -> int:
        """Steps saved on the shortest way of an onion into a pot if it is handed across a counter."""
        stores = [stand for cell in self.cells(ONION_STORE) for stand in self.beside(cell)]
        pots = [stand for cell in self.pots for stand in self.beside(cell)]
        walking = min((self.distance(a, b) for a in stores for b in pots), default=0)
        over = [
            min(self.distance(a, c) for a in stores for c in self.beside(counter))
            + min(self.distance(c, b) for b in pots for c in self.beside(counter))
            for counter in self.cells(MIDDLE_COUNTER)
        ]
        return walking - min(over, default=walking)

    def _distance(self, start: Cell, goal: Cell) -> int:
        return self._distances_from(start).get(goal, FAR)

    @cache  # noqa: B019 (a layout lives as long as its planner)
    def _distances_from(self, start: Cell) -> dict[Cell, int]:
        found, ahead = {start: 0}, deque([start])
        while ahead:
            cell = ahead.popleft()
            for beside in self.beside(cell):
                if beside not in found:
                    found[beside] = found[cell] + 1
                    ahead.append(beside)
        return found
