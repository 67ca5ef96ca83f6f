"""The sub-goals of a kitchen: in words, as a predicate, and who can do one now at which price.

Words and predicates are ours; the kinds are those of SAMA's listing 23 with doubles removed. This file must not choose
between them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tune_experiments.sama.kitchen.layout import COUNTER, DISH_STORE, FAR, HATCH, MIDDLE_COUNTER, ONION_STORE, Layout
from tune_experiments.sama.kitchen.state import Cell, KitchenState

MAKE, PREPARE, SERVE, WAIT = "make onion soup", "prepare a dish", "serve onion soup", "keep ready"
GOALS = (MAKE, PREPARE, SERVE, WAIT)
Kind = Literal["bring", "fetch", "fill", "serve", "clear", "wait"]


@dataclass(frozen=True)
class Subgoal:
    """One thing for one chef to do.

    Attributes:
        text: what the chef is told.
        predicate: when it is reached.
        goal: the team's goal it belongs to.
        kind: `bring` a thing from one place to another, `fetch` a dish into the hands, `fill` a dish at a pot, `serve`
            a soup, `clear` the hands, `wait` somewhere.
        thing: what is carried.
        origin, target: places; empty where there is none.
    """

    text: str
    predicate: str
    goal: str
    kind: Kind
    thing: str = ""
    origin: str = ""
    target: str = ""


def subgoals_of(layout: Layout) -> tuple[Subgoal, ...]:
    """All sub-goals that some chef of a kitchen can do, in a fixed order."""
    pots = [f"pot {number}" for number in range(len(layout.pots))]
    found = [_bring("onion", ONION_STORE, pot, MAKE) for pot in pots]
    if layout.hands_over:
        found += [_bring("onion", ONION_STORE, MIDDLE_COUNTER, MAKE)]
        found += [_bring("onion", MIDDLE_COUNTER, pot, MAKE) for pot in pots]
        found += [_bring("dish", DISH_STORE, MIDDLE_COUNTER, PREPARE), _fetch(MIDDLE_COUNTER)]
    found += [_fetch(DISH_STORE), *map(_fill, pots)]
    found += [Subgoal("bring a soup to the hatch", "put(soup, hatch)", SERVE, "serve", "soup", "", HATCH)]
    found += [_clear("onion"), _clear("dish")]
    found += [_wait(place) for place in (*pots, *([MIDDLE_COUNTER] if layout.hands_over else []))]
    return tuple(one for one in found if _somebody_can(layout, one))


def cost(layout: Layout, state: KitchenState, agent: int, subgoal: Subgoal) -> int:
    """Steps that a chef needs for a sub-goal from here, others aside; `FAR` if it cannot begin with it now."""
    chef = state.chefs[agent]
    if subgoal.kind == "wait":
        return layout.to_nearest(chef.cell, layout.cells(subgoal.target))[0]
    if subgoal.kind == "fetch":
        return _fetching(layout, state, agent, subgoal) if chef.holds == "nothing" else FAR
    if subgoal.kind == "bring":
        return _bringing(layout, state, agent, subgoal)
    if chef.holds != subgoal.thing:
        return FAR
    if subgoal.kind == "fill":
        return _filling(layout, state, agent, subgoal)
    return _walk(layout, chef.cell, _free_cells(layout, state, subgoal.target))


def _somebody_can(layout: Layout, one: Subgoal) -> bool:
    """Whether one room has all that a sub-goal needs; a dish that is taken into the hands needs a pot to go to."""
    needed = [place for place in (one.origin, one.target or "pot 0") if place]
    return any(all(layout.reaches(start, place) for place in needed) for start in layout.starts)


def _bring(thing: str, origin: str, target: str, goal: str) -> Subgoal:
    article = "an" if thing == "onion" else "a"
    text = f"bring {article} {thing} from the {origin} to {_the(target)}"
    return Subgoal(text, f"put({thing}, {_word(target)})", goal, "bring", thing, origin, target)


def _fetch(origin: str) -> Subgoal:
    predicate = f"take(dish, {_word(origin)})"
    return Subgoal(f"take a dish from the {origin}", predicate, PREPARE, "fetch", "dish", origin)


def _fill(pot: str) -> Subgoal:
    return Subgoal(f"fill a dish with the soup of {pot}", f"take(soup, {_word(pot)})", SERVE, "fill", "dish", "", pot)


def _clear(thing: str) -> Subgoal:
    text = f"lay the {thing} down on a counter"
    return Subgoal(text, f"put({thing}, counter)", WAIT, "clear", thing, "", COUNTER)


def _wait(place: str) -> Subgoal:
    return Subgoal(f"wait at {_the(place)}", f"face({_word(place)})", WAIT, "wait", "", "", place)


def _the(place: str) -> str:
    return place if place.startswith("pot ") else f"the {place}"


def _word(place: str) -> str:
    return place.replace(" ", "_")


def _walk(layout: Layout, start: Cell, cells: tuple[Cell, ...]) -> int:
    """Steps to the nearest cell, with one more for acting on it."""
    steps = layout.to_nearest(start, cells)[0]
    return FAR if steps == FAR else steps + 1


def _free_cells(layout: Layout, state: KitchenState, place: str) -> tuple[Cell, ...]:
    taken = {cell for cell, _ in state.counters}
    return tuple(cell for cell in layout.cells(place) if cell not in taken)


def _cells_with(layout: Layout, state: KitchenState, place: str, thing: str) -> tuple[Cell, ...]:
    """Where one gets a thing: a store, or counters of a place on which it lies."""
    if place in (ONION_STORE, DISH_STORE):
        return layout.cells(place)
    lying = {cell for cell, lies in state.counters if lies == thing}
    return tuple(cell for cell in layout.cells(place) if cell in lying)


def _fetching(layout: Layout, state: KitchenState, agent: int, subgoal: Subgoal) -> int:
    return _walk(layout, state.chefs[agent].cell, _cells_with(layout, state, subgoal.origin, subgoal.thing))


def _bringing(layout: Layout, state: KitchenState, agent: int, subgoal: Subgoal) -> int:
    """From the chef over the origin to the target; the first half is spared where the thing is in hand."""
    chef, steps = state.chefs[agent], 0
    if chef.holds not in ("nothing", subgoal.thing) or not _has_room(layout, state, subgoal.target):
        return FAR
    here = chef.cell
    sources = _cells_with(layout, state, subgoal.origin, subgoal.thing)
    if chef.holds == "nothing":
        steps, here = layout.to_nearest(here, sources)
        if steps == FAR:
            return FAR
        steps += 1
    elif not layout.reaches(here, subgoal.origin):
        return FAR
    further = _walk(layout, here, _free_cells(layout, state, subgoal.target))
    return FAR if further == FAR else steps + further


def _has_room(layout: Layout, state: KitchenState, target: str) -> bool:
    if target.startswith("pot "):
        return state.pots[int(target.removeprefix("pot "))].has_room
    return bool(_free_cells(layout, state, target))


def _filling(layout: Layout, state: KitchenState, agent: int, subgoal: Subgoal) -> int:
    pot = state.pots[int(subgoal.target.removeprefix("pot "))]
    if pot.has_room:
        return FAR
    steps = _walk(layout, state.chefs[agent].cell, (pot.cell,))
    return FAR if steps == FAR else max(steps, pot.steps_left)
