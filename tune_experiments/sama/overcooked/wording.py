"""Kitchens in sentences for people and models: the map, the situation, the chefs, and reasons for a plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from rl_envs.core.spec import Array
from rl_envs.overcooked.text import WITH_ARTICLE, pot_in_words
from tune_experiments.sama.overcooked.scene import DISH_STORE, HATCH, MIDDLE_COUNTER, ONION_STORE, Reachability, Scene

OBJECTS = ("onion", "pot", "dish", "soup", "hatch", "onion store", "dish store", "counter")


def describe_map(ways: Reachability) -> str:
    """Rooms and what can be used from each."""
    names = ("the kitchen is one room",) if len(ways.rooms) == 1 else ("left room", "right room")
    lines = [f"- {name}: {', '.join(_usable(ways, room))}." for name, room in zip(names, ways.rooms, strict=True)]
    if ways.hands_over:
        lines.append("- The middle counter can be used from both of its sides, so things can be handed over it.")
    return "\n".join(["Map:", *lines])


def _usable(ways: Reachability, room: Array) -> list[str]:
    """Places that can be used from a room, with how many of them there are."""
    beside = frozenset(np.flatnonzero(ways.kitchen.neighbours[room].any(0)).tolist())
    found = []
    for place in (ONION_STORE, DISH_STORE, HATCH):
        number = len(beside.intersection(ways.cells[place]))
        found += [place if number == 1 else f"{number} {place}s"] * (number > 0)
    others = [*ways.pots, *([MIDDLE_COUNTER] if ways.hands_over else [])]
    return found + [place for place in others if not beside.isdisjoint(ways.cells[place])]


def situation(scene: Scene) -> str:
    """The step, and one sentence about pots and counters."""
    pots = "; ".join(
        f"{name}: {pot_in_words(pot.contents)}" for name, pot in zip(scene.ways.pots, scene.pots, strict=True)
    )
    middle = scene.ways.cells[MIDDLE_COUNTER]
    parts = [
        f"on the {name}: {_counted(thing for cell, thing in scene.lying.items() if (cell in middle) == is_middle)}"
        for name, is_middle in (("middle counter", True), ("other counters", False))
        if middle or not is_middle
    ]
    # The step makes no two moments of an episode alike: a model that errs would else err the same way for ever.
    step, soups = scene.state["episode_length"], scene.state["soups"]
    return f"Step {step}. {pots[0].upper()}{pots[1:]}; {'; '.join(parts)}; soups served: {soups}."


def statuses(scene: Scene) -> tuple[str, ...]:
    """Sentence on each chef: its place, and what it holds."""
    return tuple(
        f"Chef {number} holds {WITH_ARTICLE[scene.state['held'][number]]} in the {scene.ways.room_name(cell)} "
        "at row {}, column {}".format(*scene.ways.kitchen.place(cell))
        for number, cell in enumerate(scene.at)
    )


def thoughts(scene: Scene, goal: str, subgoals: Sequence[str]) -> str:
    """Why this goal and these sub-goals."""
    ready = sum(pot.is_ready for pot in scene.pots)
    cooking = sum(not pot.has_room and not pot.is_ready for pot in scene.pots)
    onions = ", ".join(str(pot.onions) for pot in scene.pots if pot.has_room)
    room = f"pots with room hold {onions} onions" if onions else "no pot has room"
    return (
        f"{situation(scene)} {ready} of the soups are done and {cooking} cook; {room}. So the goal is to {goal}. "
        f"What can begin now and leads there: {'; '.join(subgoals)}."
    )


def _counted(things: Iterable[str]) -> str:
    counts = Counter(things)
    plural = {"onion": "onions", "dish": "dishes", "soup": "soups"}
    parts = [f"{n} {thing if n == 1 else plural[thing]}" for thing, n in sorted(counts.items())]
    return ", ".join(parts) or "nothing"
