"""The sub-goals of a kitchen: their text, the event that completes them, their reward in Python, and their cost.

Texts and events are ours; the kinds are those of SAMA's listing 23 without duplicates.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from rl_envs.overcooked.goals import Goal
from rl_envs.overcooked.text import WITH_ARTICLE
from rl_envs.overcooked.words import THINGS
from tune_experiments.sama.overcooked.scene import (
    COUNTER,
    DISH_STORE,
    FAR,
    HATCH,
    MIDDLE_COUNTER,
    ONION_STORE,
    Reachability,
    Scene,
)

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


# ------------------------------------------------------------------------------- price


def emptied_pots(subgoals: Iterable[Subgoal]) -> frozenset[str]:
    """Pots whose soups are taken out by one of these sub-goals."""
    return frozenset(one.target for one in subgoals if one.kind == "fill")


def cost(scene: Scene, agent: int, one: Subgoal, emptied: frozenset[str] = frozenset()) -> int:
    """Steps that a chef needs for a sub-goal from here; `FAR` if it cannot begin now.

    `emptied` are pots that another chef empties in the same round.
    """
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
    """The event's test as Python over `Scene.as_json`, in the form of a language model's reply.

    It only runs in the sandbox.
    """
    cells = str([list(ways.kitchen.place(cell)) for cell in ways.cells[one.target or one.origin]])
    if one.kind == "wait":
        return _FACED.format(moment="now", test="", cells=cells)
    hands = {"fill": ("dish", "soup"), "fetch": ("nothing", one.thing)}
    before, after = hands.get(one.kind, (one.thing, "nothing"))
    test = f'was["holds"] == "{before}" and now["holds"] == "{after}" and '
    return _FACED.format(moment="was", test=test, cells=cells)
