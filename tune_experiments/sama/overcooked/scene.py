"""A state of a kitchen for the planner's rules: the environment's parser and tables, with names.

A cell is a number as in the environment, row * W + column.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from rl_envs.core.spec import Array
from rl_envs.overcooked.kitchen import PLACES, Kitchen
from rl_envs.overcooked.text import UnreadableStateError, read_state
from rl_envs.overcooked.words import COOK_STEPS, FULL, HEADINGS, NOTHING, POT, POT_ONIONS, READY, SOUP, THINGS
from rl_models.planners.domain import StateTextError

ONION_STORE, DISH_STORE, HATCH = "onion store", "dish store", "hatch"
COUNTER, MIDDLE_COUNTER = "counter", "middle counter"
_HANDING_OVER_PAYS = 3
"""Number of saved steps from which a middle counter is used."""
FAR = 10_000


class Reachability:
    """Places of a kitchen, and shortest paths of its chefs.

    Attributes:
        kitchen: the world's tables.
        pots: names of the pots.
        cells: cells of each place, in reading order.
        to_nearest: (start, cells) -> steps to a cell beside the nearest of the cells, and that cell; `FAR` steps if
        there is no way.
        trip: (start, place, place) -> steps between cells beside two places, for a chef at `start`; `FAR` if there is
        no way.
    """

    def __init__(self, kitchen: Kitchen) -> None:
        """Look up the places."""
        self.kitchen = kitchen
        self.pots = tuple(f"pot {number}" for number in range(len(kitchen.pots)))
        places = (*PLACES, *self.pots)
        self.cells = {place: tuple(np.flatnonzero(kitchen.place_cells(place)).tolist()) for place in places}
        self.to_nearest = functools.cache(self._to_nearest)
        self.trip = functools.cache(self._trip)

    def _to_nearest(self, start: int, cells: tuple[int, ...]) -> tuple[int, int]:
        stands = self._stands(cells)
        steps = self.kitchen.distances[start, stands]
        if steps.min(initial=self.kitchen.size) == self.kitchen.size:
            return FAR, start
        return int(steps.min()), int(stands[steps.argmin()])

    def _trip(self, start: int, origin: str, target: str) -> int:
        reached = self.kitchen.distances[start] < self.kitchen.size
        ends = [[cell for cell in self._stands(self.cells[place]) if reached[cell]] for place in (origin, target)]
        return int(self.kitchen.distances[np.ix_(*ends)].min(initial=FAR))

    def _stands(self, cells: Iterable[int]) -> Array:
        """Floor cells beside some of these cells, in reading order."""
        return np.flatnonzero(self.kitchen.neighbours[:, list(cells)].any(1))

    def reaches(self, start: int, place: str) -> bool:
        """Whether there is a way to some cell of a place."""
        return self.to_nearest(start, self.cells[place])[0] < FAR

    @cached_property
    def rooms(self) -> list[Array]:
        """[H * W] bool each: floor that some chef can walk on, joined cells together, from left to right."""
        first, second = self.kitchen.reach & self.kitchen.is_floor
        rooms = [first] if (first == second).all() else [first, second]
        return sorted(rooms, key=lambda room: int((np.flatnonzero(room) % self.kitchen.width).min()))

    def room_name(self, cell: int) -> str:
        """`left room`, `right room`, or `room` where there is one."""
        return "room" if len(self.rooms) == 1 else "left room" if self.rooms[0][cell] else "right room"

    @cached_property
    def hands_over(self) -> bool:
        """Whether to use the middle counter: if a chef must, or if it saves steps."""
        if not self.cells[MIDDLE_COUNTER]:
            return False
        needed = (ONION_STORE, DISH_STORE, HATCH, *self.pots)
        someone_must = not all(self.reaches(start, place) for start in self.kitchen.starts.tolist() for place in needed)
        return someone_must or self._saved_by_handing_over() >= _HANDING_OVER_PAYS

    def _saved_by_handing_over(self) -> int:
        """Steps saved on the shortest way of an onion into a pot if it is handed across a counter."""
        onions, pots = self._stands(self.cells[ONION_STORE]), self._stands(self.cells["pot"])
        to_onions, to_pots = self.kitchen.distances[onions].min(0), self.kitchen.distances[pots].min(0)
        sides = [self._stands([counter]) for counter in self.cells[MIDDLE_COUNTER]]
        return int(to_onions[pots].min() - min(to_onions[side].min() + to_pots[side].min() for side in sides))


class Pot(NamedTuple):
    """A pot, by the number of its content."""

    contents: int

    @property
    def onions(self) -> int:
        """0 to 3."""
        return min(self.contents - POT, POT_ONIONS)

    @property
    def cooked(self) -> int:
        """Steps that its soup has cooked."""
        return max(0, self.contents - FULL)

    @property
    def has_room(self) -> bool:
        """Whether an onion can go in."""
        return self.contents < FULL

    @property
    def is_ready(self) -> bool:
        """Whether its soup is done."""
        return self.contents == READY

    @property
    def steps_left(self) -> int:
        """Steps until a full pot's soup is done."""
        return COOK_STEPS - self.cooked


class Scene:
    """One state.

    Attributes:
        ways: places and distances of its kitchen.
        state: one world's arrays.
        pots: pots by number.
        lying: thing by cell, counters with something on them in reading order.
        at, holds: cell of each chef, and what it carries.
    """

    def __init__(self, ways: Reachability, text: str) -> None:
        try:
            self.state = read_state(ways.kitchen, text)
        except UnreadableStateError as error:
            raise StateTextError(str(error)) from None
        self.ways, contents = ways, self.state["contents"].tolist()
        self.pots = [Pot(contents[cell]) for cell in ways.cells["pot"]]
        self.lying = {cell: THINGS[thing] for cell, thing in enumerate(contents) if NOTHING < thing <= SOUP}
        self.at: list[int] = self.state["agent_cells"].tolist()
        self.holds = [THINGS[held] for held in self.state["held"]]

    @cached_property
    def on_middle(self) -> Counter[str]:
        """Number of each thing on the middle counter."""
        middle = self.ways.cells[MIDDLE_COUNTER]
        return Counter(thing for cell, thing in self.lying.items() if cell in middle)

    def check(self) -> None:
        """Check that a state is reachable."""
        reach = self.ways.kitchen.reach & self.ways.kitchen.is_floor
        if len(set(self.at)) < len(self.at):
            raise StateTextError("two chefs stand on one cell")
        if not all(reach[chef, cell] for chef, cell in enumerate(self.at)):
            raise StateTextError("a chef is in an unreachable cell")

    def pot(self, place: str) -> Pot:
        """The pot of a name."""
        return self.pots[self.ways.pots.index(place)]

    def as_json(self, agent: int) -> dict[str, Any]:
        """The state for a model-written reward function; `me` is the chef to reward."""

        def at(cell: int) -> list[int]:
            return list(self.ways.kitchen.place(cell))

        chefs = [
            {"at": at(cell), "facing": HEADINGS[heading], "holds": holds}
            for cell, heading, holds in zip(self.at, self.state["headings"], self.holds, strict=True)
        ]
        places = zip(self.ways.cells["pot"], self.pots, strict=True)
        return {
            "served": int(self.state["soups"]),
            "pots": [{"at": at(cell), "onions": pot.onions, "cooked": pot.cooked} for cell, pot in places],
            "counters": [{"at": at(cell), "thing": thing} for cell, thing in self.lying.items()],
            "me": chefs[agent],
            "others": [chef for index, chef in enumerate(chefs) if index != agent],
        }
