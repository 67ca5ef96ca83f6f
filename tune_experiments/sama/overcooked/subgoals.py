"""The sub-goals of a kitchen: in words, as a deed of the world, as Python, and who can do one now at which price.

Words and deeds are ours; the kinds are those of SAMA's listing 23 with doubles removed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rl_envs.overcooked.goals import Goal
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
    """One thing for one chef to do.

    Attributes:
        text: the chef's command.
        deed: when it is reached.
        goal: the team's goal it belongs to.
        kind: `bring` a thing from one place to another, `fetch` a dish into the hands, `fill` a dish at a pot, `serve`
            a soup, `clear` the hands, `wait` somewhere.
        thing: carried object.
        origin, target: places; empty where there is none.
    """

    text: str
    deed: Goal
    goal: str
    kind: Kind
    thing: str = ""
    origin: str = ""
    target: str = ""


def make_subgoals(ways: Reachability) -> tuple[Subgoal, ...]:
    """All sub-goals that some chef of a kitchen can do, in a fixed order."""
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
    return tuple(one for one in found if _somebody_can(ways, one))


def _somebody_can(ways: Reachability, one: Subgoal) -> bool:
    """Whether one room has all that a sub-goal needs; a dish that is taken into the hands needs a pot to go to."""
    needed = [place for place in (one.origin, one.target or "pot 0") if place]
    return any(all(ways.reaches(start, place) for place in needed) for start in ways.kitchen.starts.tolist())


def _bring(thing: str, origin: str, target: str, goal: str) -> Subgoal:
    article = "an" if thing == "onion" else "a"
    text = f"bring {article} {thing} from the {origin} to {_the(target)}"
    return Subgoal(text, Goal("put", thing, target), goal, "bring", thing, origin, target)


def _fetch(origin: str) -> Subgoal:
    deed = Goal("take", "dish", origin)
    return Subgoal(f"take a dish from the {origin}", deed, PREPARE, "fetch", "dish", origin)


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


def cost(scene: Scene, agent: int, one: Subgoal) -> int:
    """Steps that a chef needs for a sub-goal from here, others aside; `FAR` if it cannot begin with it now."""
    ways, here, holds = scene.ways, scene.at[agent], scene.holds[agent]
    if one.kind == "wait":
        return ways.to_nearest(here, ways.cells[one.target])[0]
    if one.kind == "fetch":
        return _to_act(scene, here, _with_thing(scene, one)) if holds == "nothing" else FAR
    if one.kind == "bring":
        return _bringing(scene, agent, one)
    if holds != one.thing:
        return FAR
    if one.kind == "fill":
        pot, steps = scene.pot(one.target), _to_act(scene, here, ways.cells[one.target])
        return FAR if pot.has_room else max(steps, pot.steps_left)
    return _to_act(scene, here, _free(scene, one.target))


def _bringing(scene: Scene, agent: int, one: Subgoal) -> int:
    """Steps from the chef to the origin and on to the target; the first part is 0 if the thing is in hand."""
    here, steps, holds = scene.at[agent], 0, scene.holds[agent]
    is_full = one.target in scene.ways.pots and not scene.pot(one.target).has_room
    if is_full or holds not in ("nothing", one.thing):
        return FAR
    if holds == "nothing":
        steps, here = scene.ways.to_nearest(here, _with_thing(scene, one))
        steps += 1
    elif not scene.ways.reaches(here, one.origin):
        return FAR
    return min(FAR, steps + _to_act(scene, here, _free(scene, one.target)))


def _to_act(scene: Scene, start: int, cells: tuple[int, ...]) -> int:
    """Steps to the nearest cell, with one more for acting on it."""
    return min(FAR, scene.ways.to_nearest(start, cells)[0] + 1)


def _free(scene: Scene, place: str) -> tuple[int, ...]:
    return tuple(cell for cell in scene.ways.cells[place] if cell not in scene.lying)


def _with_thing(scene: Scene, one: Subgoal) -> tuple[int, ...]:
    """Cells at which one gets a thing: a store, or counters of the place on which it lies."""
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
    """Python that says over `Scene.as_json` whether the deed is done, as a language model would write it.

    It is data: it runs in the sandbox alone.
    """
    cells = str([list(ways.kitchen.place(cell)) for cell in ways.cells[one.target or one.origin]])
    if one.kind == "wait":
        return _FACED.format(moment="now", test="", cells=cells)
    hands = {"fill": ("dish", "soup"), "fetch": ("nothing", "dish")}
    before, after = hands.get(one.kind, (one.thing, "nothing"))
    test = f'was["holds"] == "{before}" and now["holds"] == "{after}" and '
    return _FACED.format(moment="was", test=test, cells=cells)
