"""Kitchens in sentences for people and models: the map, the situation, the chefs, and reasons for a plan.

This file must not decide anything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from tune_experiments.sama.kitchen.layout import (
    DISH_STORE,
    HATCH,
    MIDDLE_COUNTER,
    ONION_STORE,
    Layout,
)
from tune_experiments.sama.kitchen.state import Cell, KitchenState, pot_in_words, with_article

OBJECTS = ("onion", "pot", "dish", "soup", "hatch", "onion store", "dish store", "counter")


def describe_map(layout: Layout) -> str:
    """Rooms and what can be used from each."""
    lines = ["Map:"]
    for number, room in enumerate(layout.rooms):
        name = "the kitchen is one room" if len(layout.rooms) == 1 else f"{('left', 'right')[number]} room"
        lines.append(f"- {name}: {', '.join(_usable(layout, room))}.")
    if layout.hands_over:
        lines.append("- The middle counter can be used from both of its sides, so things can be handed over it.")
    return "\n".join(lines)


def situation(layout: Layout, state: KitchenState) -> str:
    """The step, and one sentence about pots and counters."""
    pots = "; ".join(f"pot {number}: {pot_in_words(pot)}" for number, pot in enumerate(state.pots))
    middle = layout.cells(MIDDLE_COUNTER)
    parts = [
        f"on the {name}: {_counted(thing for cell, thing in state.counters if (cell in middle) == is_middle)}"
        for name, is_middle in (("middle counter", True), ("other counters", False))
        if middle or not is_middle
    ]
    # The step makes no two moments of an episode alike: a model that errs would else err the same way for ever.
    return f"Step {state.step}. {pots[0].upper()}{pots[1:]}; {'; '.join(parts)}; soups served: {state.served}."


def statuses(layout: Layout, state: KitchenState) -> tuple[str, ...]:
    """Where each chef is and what it holds."""
    return tuple(
        f"Chef {number} holds {with_article(chef.holds)} in the {layout.room_name(chef.cell)} "
        f"at row {chef.cell[0]}, column {chef.cell[1]}"
        for number, chef in enumerate(state.chefs)
    )


def thoughts(layout: Layout, state: KitchenState, goal: str, subgoals: Sequence[str]) -> str:
    """Why this goal and these sub-goals."""
    ready = sum(pot.is_ready for pot in state.pots)
    cooking = sum(not pot.has_room and not pot.is_ready for pot in state.pots)
    onions = ", ".join(str(pot.onions) for pot in state.pots if pot.has_room)
    facts = [f"{ready} of the soups are done and {cooking} cook"]
    facts += [f"pots with room hold {onions} onions"] if onions else ["no pot has room"]
    return (
        f"{situation(layout, state)} {'; '.join(facts)}. So the goal is to {goal}. "
        f"What can begin now and leads there: {'; '.join(subgoals)}."
    )


def thoughts_on_allocation(
    layout: Layout, state: KitchenState, subgoals: Sequence[str], order: Sequence[int], is_possible: bool
) -> str:
    """Why these chefs."""
    who = "; ".join(
        f"{status}, so it should {subgoals[which]}"
        for status, which in zip(statuses(layout, state), order, strict=True)
    )
    return f"{who}." if is_possible else f"No allocation suits both chefs. The least bad: {who}."


def _usable(layout: Layout, room: frozenset[Cell]) -> list[str]:
    """Places that can be used from a room, with how many of them there are."""
    found = []
    for place in (ONION_STORE, DISH_STORE, HATCH):
        number = sum(any(beside in room for beside in layout.beside(cell)) for cell in layout.cells(place))
        found += [place if number == 1 else f"{number} {place}s"] * (number > 0)
    pots = [f"pot {n}" for n, cell in enumerate(layout.pots) if any(beside in room for beside in layout.beside(cell))]
    has_middle = any(beside in room for cell in layout.cells(MIDDLE_COUNTER) for beside in layout.beside(cell))
    return found + pots + [MIDDLE_COUNTER] * (has_middle and layout.hands_over)


def _counted(things: Iterable[str]) -> str:
    counts = Counter(things)
    plural = {"onion": "onions", "dish": "dishes", "soup": "soups"}
    parts = [f"{n} {thing if n == 1 else plural[thing]}" for thing, n in sorted(counts.items())]
    return ", ".join(parts) or "nothing"
