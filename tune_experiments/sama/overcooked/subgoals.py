"""A kitchen for the planner's rules: its states, and its sub-goals with their events, rewards in Python, and costs.

A cell is a number as in the environment, row * W + column. Texts and events of sub-goals are ours; the kinds are those
of SAMA's listing 23 without duplicates.
"""

import functools
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from rl_envs.core.spec import Array
from rl_envs.overcooked.goals import Goal
from rl_envs.overcooked.kitchen import PLACES, Kitchen
from rl_envs.overcooked.text import WITH_ARTICLE, UnreadableStateError, read_state
from rl_envs.overcooked.words import COOK_STEPS, FULL, HEADINGS, NOTHING, POT, POT_ONIONS, READY, SOUP, THINGS
from rl_models.planners.domain import StateTextError

ONION_STORE, DISH_STORE, HATCH = "onion store", "dish store", "hatch"
COUNTER, MIDDLE_COUNTER = "counter", "middle counter"
_HANDING_OVER_PAYS = 3
"""Number of saved steps from which a middle counter is used."""
FAR = 10_000


class Reachability:
    """Places of a kitchen, their cells in reading order, and shortest paths of its chefs; `FAR` where there is no way.

    `to_nearest`: (start, cells) -> steps to a cell beside the nearest of the cells, and that cell. `trip`: (start,
    place, place) -> steps between cells beside two places, for a chef at `start`.
    """

    def __init__(self, kitchen: Kitchen) -> None:
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
    """One state: `state` are one world's arrays, `ways` places and distances, `pots` are by number.

    `lying` is the thing by cell, of counters in reading order; `at` and `holds`: each chef's cell and what it carries.
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


MAKE, PREPARE, SERVE, WAIT = "make onion soup", "prepare a dish", "serve onion soup", "keep ready"
GOALS = (MAKE, PREPARE, SERVE, WAIT)
Kind = Literal["bring", "fetch", "fill", "serve", "clear", "wait"]


@dataclass(frozen=True)
class Subgoal:
    """A sub-goal of one chef.

    Attributes:
        text: the chef's command.
        event: event of the world that completes it.
        goal: the team's goal it belongs to.
        kind: `bring` a thing from one place to another, `fetch` a thing into the hands, `fill` a dish at a pot, `serve`
            a soup, `clear` the hands, `wait` somewhere.
        thing: carried object.
        origin, target: places; empty if there is none.
    """

    text: str
    event: Goal
    goal: str
    kind: Kind
    thing: str = ""
    origin: str = ""
    target: str = ""


def make_subgoals(ways: Reachability) -> tuple[Subgoal, ...]:
    """All sub-goals that are possible in a kitchen, in a fixed order."""
    pots = ways.pots
    found = [_bring("onion", ONION_STORE, pot, MAKE) for pot in pots]
    if ways.hands_over:
        found += [_bring("onion", ONION_STORE, MIDDLE_COUNTER, MAKE)]
        found += [_bring("onion", MIDDLE_COUNTER, pot, MAKE) for pot in pots]
        found += [_bring("dish", DISH_STORE, MIDDLE_COUNTER, PREPARE), _fetch(MIDDLE_COUNTER)]
    found += [_fetch(DISH_STORE), *map(_fill, pots)]
    found += [Subgoal("bring a soup to the hatch", Goal("put", "soup", HATCH), SERVE, "serve", "soup", "", HATCH)]
    found += [_clear("onion"), _clear("dish")]
    found += [_wait(place) for place in (*pots, *([MIDDLE_COUNTER] if ways.hands_over else []))]
    found += [_fetch(MIDDLE_COUNTER, "onion")] * ways.hands_over + [_fetch(COUNTER, "dish"), _fetch(COUNTER, "soup")]
    found += [_wait(ONION_STORE), _wait(DISH_STORE)]
    # A chef that cannot serve a soup must be able to put it down.
    found += [_clear("soup")] * (not all(ways.reaches(start, HATCH) for start in ways.kitchen.starts.tolist()))
    return tuple(one for one in found if _somebody_can(ways, one))


def _somebody_can(ways: Reachability, one: Subgoal) -> bool:
    """Whether one room has everything for a sub-goal; to take a dish also needs a pot."""
    needed = [one.origin or one.target] if COUNTER in (one.origin, one.target) else [one.origin, one.target or "pot 0"]
    needed = [place for place in needed if place]
    return any(all(ways.reaches(start, place) for place in needed) for start in ways.kitchen.starts.tolist())


def _bring(thing: str, origin: str, target: str, goal: str) -> Subgoal:
    article = "an" if thing == "onion" else "a"
    text = f"bring {article} {thing} from the {origin} to {_the(target)}"
    return Subgoal(text, Goal("put", thing, target), goal, "bring", thing, origin, target)


def _fetch(origin: str, thing: str = "dish") -> Subgoal:
    goal = {"onion": MAKE, "dish": PREPARE, "soup": SERVE}[thing]
    place = "a counter" if origin == COUNTER else f"the {origin}"
    text = f"take {WITH_ARTICLE[THINGS.index(thing)]} from {place}"
    return Subgoal(text, Goal("take", thing, origin), goal, "fetch", thing, origin)


def _fill(pot: str) -> Subgoal:
    text = f"fill a dish with the soup of {pot}"
    return Subgoal(text, Goal("take", "soup", pot), SERVE, "fill", "dish", "", pot)


def _clear(thing: str) -> Subgoal:
    text = f"lay the {thing} down on a counter"
    return Subgoal(text, Goal("put", thing, COUNTER), WAIT, "clear", thing, "", COUNTER)


def _wait(place: str) -> Subgoal:
    return Subgoal(f"wait at {_the(place)}", Goal("face", place=place), WAIT, "wait", "", "", place)


def _the(place: str) -> str:
    return place if place.startswith("pot ") else f"the {place}"


def emptied_pots(subgoals: Iterable[Subgoal]) -> frozenset[str]:
    """Pots whose soups are taken out by one of these sub-goals."""
    return frozenset(one.target for one in subgoals if one.kind == "fill")


def cost(scene: Scene, agent: int, one: Subgoal, emptied: frozenset[str] = frozenset()) -> int:
    """Steps for a sub-goal from here while others empty the pots `emptied`; `FAR` if the chef cannot begin now."""
    ways, here, holds = scene.ways, scene.at[agent], scene.holds[agent]
    if one.kind == "wait":
        return ways.to_nearest(here, ways.cells[one.target])[0]
    if one.kind == "fetch":
        return _to_act(scene, here, _with_thing(scene, one)) if holds == "nothing" else FAR
    if one.kind == "bring":
        return _bringing(scene, agent, one, emptied)
    if holds != one.thing:
        return FAR
    if one.kind == "fill":
        pot, steps = scene.pot(one.target), _to_act(scene, here, ways.cells[one.target])
        return FAR if pot.has_room else max(steps, pot.steps_left)
    free = _free(scene, one.target)
    # Useless things are preferably not put on the middle counter.
    aside = tuple(cell for cell in free if cell not in ways.cells[MIDDLE_COUNTER]) if ways.hands_over else free
    steps = _to_act(scene, here, aside)
    return steps if steps < FAR else _to_act(scene, here, free)


def _bringing(scene: Scene, agent: int, one: Subgoal, emptied: frozenset[str]) -> int:
    """Steps from the chef to the origin, and from there to the target; the first part is 0 for a held thing."""
    here, steps, holds, until_empty = scene.at[agent], 0, scene.holds[agent], 0
    if one.target in scene.ways.pots and not (pot := scene.pot(one.target)).has_room:
        if one.target not in emptied:
            return FAR
        until_empty = pot.steps_left + 2
    if holds not in ("nothing", one.thing):
        return FAR
    if holds == "nothing":
        steps, here = scene.ways.to_nearest(here, _with_thing(scene, one))
        steps += 1
    elif not scene.ways.reaches(here, one.origin):
        return FAR
    return min(FAR, max(until_empty, steps + _to_act(scene, here, _free(scene, one.target))))


def _to_act(scene: Scene, start: int, cells: tuple[int, ...]) -> int:
    """Steps to the nearest cell, with one more for acting on it."""
    return min(FAR, scene.ways.to_nearest(start, cells)[0] + 1)


def _free(scene: Scene, place: str) -> tuple[int, ...]:
    return tuple(cell for cell in scene.ways.cells[place] if cell not in scene.lying)


def _with_thing(scene: Scene, one: Subgoal) -> tuple[int, ...]:
    """Cells that provide a thing: a store, or counters of the place."""
    cells = scene.ways.cells[one.origin]
    if one.origin in (ONION_STORE, DISH_STORE):
        return cells
    return tuple(cell for cell in cells if scene.lying.get(cell) == one.thing)


# ------------------------------------------------------------------------------- reward functions as text

_FACED = """\
def reward(previous, current):
    steps = {{"north": [-1, 0], "south": [1, 0], "east": [0, 1], "west": [0, -1]}}
    was = previous["me"]
    now = current["me"]
    step = steps[{moment}["facing"]]
    faced = [{moment}["at"][0] + step[0], {moment}["at"][1] + step[1]]
    return 1 if {test}faced in {cells} else 0
"""


def reward_code(ways: Reachability, one: Subgoal) -> str:
    """The event's test as Python over `Scene.as_json`, as a language model's reply; it only runs in the sandbox."""
    cells = str([list(ways.kitchen.place(cell)) for cell in ways.cells[one.target or one.origin]])
    if one.kind == "wait":
        return _FACED.format(moment="now", test="", cells=cells)
    hands = {"fill": ("dish", "soup"), "fetch": ("nothing", one.thing)}
    before, after = hands.get(one.kind, (one.thing, "nothing"))
    test = f'was["holds"] == "{before}" and now["holds"] == "{after}" and '
    return _FACED.format(moment="was", test=test, cells=cells)
