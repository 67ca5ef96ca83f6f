"""Which sub-goals the chefs of a kitchen should have now: every pair that can begin, weighed.

The order of worth follows the soup: what is nearest to being served comes first (SAMA, section 3.2: goals that lead to
the reward). This file must not put anything into words.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tune_experiments.sama.kitchen.layout import FAR, MIDDLE_COUNTER, Layout
from tune_experiments.sama.kitchen.state import FULL_POT, KitchenState, Pot
from tune_experiments.sama.kitchen.subgoals import Subgoal, cost

_STEP_PRICE = 1.0
_POTS = tuple(f"pot {number}" for number in range(10))
_OF_THE_GOAL = 200.0
"""Worth of belonging to a goal that is given: above every other."""


@dataclass(frozen=True)
class Choice:
    """Sub-goals in the chefs' order, and what they are worth together."""

    subgoals: tuple[Subgoal, ...]
    worth: float


def choices(layout: Layout, state: KitchenState, subgoals: Sequence[Subgoal], goal: str | None = None) -> list[Choice]:
    """All compatible ways to occupy the chefs, the best first; ties by the order of sub-goals."""
    options = [
        [(one, steps) for one in subgoals if (steps := cost(layout, state, chef, one)) < FAR]
        for chef in range(len(state.chefs))
    ]
    found = [
        _weigh(layout, state, combination, goal)
        for combination in itertools.product(*options)
        if _compatible(layout, state, [one for one, _ in combination])
    ]
    return sorted(found, key=lambda choice: -choice.worth)


def assignments(
    layout: Layout, state: KitchenState, subgoals: Sequence[Subgoal]
) -> Iterator[tuple[tuple[int, ...], int]]:
    """All ways to hand sub-goals out, with the steps they take; at least `FAR` where a chef cannot begin."""
    for order in itertools.permutations(range(len(subgoals))):
        yield order, sum(cost(layout, state, chef, subgoals[which]) for chef, which in enumerate(order))


def _weigh(layout: Layout, state: KitchenState, combination: Sequence[tuple[Subgoal, int]], goal: str | None) -> Choice:
    worth = sum(
        _worth(layout, state, chef, one) - _STEP_PRICE * steps + _OF_THE_GOAL * (one.goal == goal)
        for chef, (one, steps) in enumerate(combination)
    )
    return Choice(tuple(one for one, _ in combination), worth)


def _worth(layout: Layout, state: KitchenState, chef: int, one: Subgoal) -> float:
    if one.kind == "serve":
        return 100.0
    if one.kind == "fill":
        return 90.0 - _pot(state, one).steps_left
    if one.kind == "wait":
        return 3.0 if one.target == MIDDLE_COUNTER else 1.0
    if one.kind == "clear":
        return _worth_of_clearing(layout, state, chef, one)
    if one.thing == "dish":
        return _worth_of_a_dish(layout, state, one)
    return _worth_of_an_onion(layout, state, chef, one)


def _worth_of_an_onion(layout: Layout, state: KitchenState, chef: int, one: Subgoal) -> float:
    if one.target.startswith("pot "):
        # Fuller pots first, and what lies ready before what must be fetched.
        lies_ready = 8.0 if one.origin == MIDDLE_COUNTER else 0.0
        return 50.0 + 6.0 * _pot(state, one).onions + lies_ready
    middle = layout.cells(MIDDLE_COUNTER)
    stock = sum(thing == "onion" and cell in middle for cell, thing in state.counters)
    taken = sum(cell in middle for cell, _ in state.counters)
    room = sum(FULL_POT - pot.onions for pot in state.pots)
    # One cell stays free: with onions everywhere no dish could be handed over, and nothing would move again.
    is_needed = stock < max(room, FULL_POT) and taken < len(middle) - 1
    must = not any(layout.reaches(state.chefs[chef].cell, f"pot {n}") for n in range(len(state.pots)))
    return (60.0 if must else 52.0) - 8.0 * stock if is_needed else -5.0


def _worth_of_a_dish(layout: Layout, state: KitchenState, one: Subgoal) -> float:
    full = [pot for pot in state.pots if not pot.has_room]
    on_the_way = sum(chef.holds == "dish" for chef in state.chefs)
    lying = sum(layout.hands_over and thing == "dish" for cell, thing in state.counters)
    is_passed_on = one.origin == MIDDLE_COUNTER
    missing = len(full) - on_the_way - (0 if is_passed_on else lying)
    if missing <= 0:
        return -10.0
    urgency = 80.0 - min(pot.steps_left for pot in full)
    if one.target == MIDDLE_COUNTER and _somebody_can_do_both(layout, state):
        return urgency - 60.0
    return urgency + (5.0 if is_passed_on else 0.0)


def _worth_of_clearing(layout: Layout, state: KitchenState, chef: int, one: Subgoal) -> float:
    """Empty hands are wanted when a soup waits for a dish that nobody can fetch, or dishes keep pots from filling."""
    others_free = any(other.holds in ("nothing", "dish") for n, other in enumerate(state.chefs) if n != chef)
    waiting = any(not pot.has_room for pot in state.pots)
    if one.thing == "onion":
        return 40.0 if waiting and not others_free else 0.5
    return 20.0 if not waiting else 0.5


def _somebody_can_do_both(layout: Layout, state: KitchenState) -> bool:
    """Whether one chef can walk from the dishes to the pots."""
    return any(layout.reaches(chef.cell, "dish store") and layout.reaches(chef.cell, "pot 0") for chef in state.chefs)


def _compatible(layout: Layout, state: KitchenState, chosen: Sequence[Subgoal]) -> bool:
    """Whether all can be done in the same round without one taking the other's onion, pot or dish."""
    for place in {one.target for one in chosen if one.kind == "bring" and one.target.startswith("pot ")}:
        room = FULL_POT - state.pots[int(place.removeprefix("pot "))].onions
        if sum(one.target == place for one in chosen if one.kind == "bring") > room:
            return False
    for kind in ("fill", "clear", "bring"):
        # Two who hand over have nobody left to hand to.
        targets = [one.target for one in chosen if one.kind == kind and not (kind == "bring" and one.target in _POTS)]
        if len(set(targets)) < len(targets):
            return False
    return _enough_to_take(layout, state, chosen) and _enough_need_of_dishes(state, chosen)


def _enough_to_take(layout: Layout, state: KitchenState, chosen: Sequence[Subgoal]) -> bool:
    middle = layout.cells(MIDDLE_COUNTER)
    for thing in ("onion", "dish"):
        lying = sum(cell in middle and lies == thing for cell, lies in state.counters)
        takers = sum(one.origin == MIDDLE_COUNTER and one.thing == thing for one in chosen)
        held = sum(chef.holds == thing for chef in state.chefs)
        if takers > lying + held:
            return False
    return True


def _enough_need_of_dishes(state: KitchenState, chosen: Sequence[Subgoal]) -> bool:
    dishes = sum(one.thing == "dish" and one.kind in ("fetch", "bring") for one in chosen)
    full = sum(not pot.has_room for pot in state.pots)
    return dishes <= max(1, full)


def _pot(state: KitchenState, one: Subgoal) -> Pot:
    return state.pots[int(one.target.removeprefix("pot "))]
