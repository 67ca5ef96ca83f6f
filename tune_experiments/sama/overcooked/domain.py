"""Overcooked's kitchens for the planner: texts (states are the environment's), and rules instead of a model."""

import functools
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

import rl_envs.overcooked
from rl_envs.core.spec import Array
from rl_envs.overcooked.goals import reached
from rl_envs.overcooked.kitchen import Kitchen
from rl_envs.overcooked.text import WITH_ARTICLE, describe, describe_pot
from rl_envs.overcooked.words import COOK_STEPS, FULL, HEADINGS, POT, POT_ONIONS, THINGS
from rl_models.planners.domain import Skill, SubgoalTest, SubgoalTexts
from tune_experiments.sama.overcooked.choice import choices, value_per_step
from tune_experiments.sama.overcooked.subgoals import (
    COUNTER,
    DISH_STORE,
    FAR,
    GOALS,
    HATCH,
    MAKE,
    MIDDLE_COUNTER,
    ONION_STORE,
    PREPARE,
    SERVE,
    WAIT,
    Reachability,
    Scene,
    Subgoal,
    cost,
    emptied_pots,
    make_subgoals,
    reward_code,
)
from tune_experiments.sama.rule_domain import RuleDomain

DONE = "your task is done: keep out of the other chef's way"
"""Command of a chef that has reached its sub-goal."""
FACTS = ("a pot has room", "a pot is full", "a dish is at hand", "a soup is at hand")
_OBJECTS = ("onion", "pot", "dish", "soup", "hatch", "onion store", "dish store", "counter")
_SCENES_KEPT, _CHOICES_KEPT = 4096, 256
_MAX_ON_COUNTERS = 3
_HELD = ("nothing", "nothing", "onion", "dish", "soup")
_LYING = ("onion", "onion", "onion", "dish", "dish", "soup")
"""Things to sample for counters of diverse states; repeated ones are more likely."""


class KitchenDomain(RuleDomain[Subgoal]):
    """`GameDomain` of a kitchen with two chefs: a layout by name, or its rows; `kinds` are the sub-goals by text."""

    title, source = "Overcooked", Path(rl_envs.overcooked.__file__).parent
    agent, everybody, far = "chef", "both chefs", FAR
    goal_order = (SERVE, PREPARE, MAKE, WAIT)
    goals: tuple[str, ...] = GOALS
    objects: tuple[str, ...] = _OBJECTS
    goal_verbs: tuple[str, ...] = ("serve", "deliver")
    action_verbs: tuple[str, ...] = ("pick", "put", "take", "place", "interact", "carry", "bring")
    skills: tuple[Skill, ...] = (
        Skill(MAKE, frozenset({"a pot has room"}), frozenset({"a pot is full"})),
        Skill(PREPARE, frozenset({"a pot is full"}), frozenset({"a dish is at hand"})),
        Skill(SERVE, frozenset({"a pot is full", "a dish is at hand"}), frozenset({"a soup is served"})),
        Skill(SERVE, frozenset({"a soup is at hand"}), frozenset({"a soup is served"})),
    )
    final_facts = frozenset({"a soup is served"})
    earlier = "one step earlier"

    def __init__(self, layout: str | Sequence[str]) -> None:
        self._layout, kitchen = layout, Kitchen(layout)
        self.name = kitchen.name
        self._ways = Reachability(kitchen)
        self._scene = functools.lru_cache(_SCENES_KEPT)(functools.partial(Scene, self._ways))
        self.kinds = {one.text: one for one in make_subgoals(self._ways)}
        self.subgoals = tuple(self.kinds)
        kinds = tuple(self.kinds.values())
        self._ranked = functools.lru_cache(_CHOICES_KEPT)(lambda scene: choices(scene, kinds))
        self.tests: Mapping[str, SubgoalTest] = {
            text: functools.partial(reached, kitchen, one.event) for text, one in self.kinds.items()
        }
        self.agents = tuple(f"Chef {number}" for number in range(len(kitchen.starts)))
        rules = files("tune_experiments.sama.overcooked").joinpath("manual.txt").read_text(encoding="utf-8").strip()
        self.map = _describe_map(self._ways)
        self.manual = f"{rules}\n{self.map}"

    def __reduce__(self) -> Any:
        # Its caches cannot be pickled, but worlds are, and hold their domain.
        return type(self), (self._layout,)

    def check(self, state: str) -> str:
        """See `Domain.check`."""
        scene = self._scene(state)
        scene.check()
        return describe(self._ways.kitchen, {name: value[None] for name, value in scene.state.items()})

    def situation(self, state: str) -> str:
        """See `Domain.situation`."""
        return _situation(self._scene(state))

    def statuses(self, state: str) -> tuple[str, ...]:
        """See `Domain.statuses`."""
        scene = self._scene(state)
        return tuple(
            f"Chef {number} holds {WITH_ARTICLE[scene.state['held'][number]]} in the {scene.ways.room_name(cell)} "
            "at row {}, column {}".format(*scene.ways.kitchen.place(cell))
            for number, cell in enumerate(scene.at)
        )

    def as_json(self, state: str, agent: int) -> Any:
        """See `Domain.as_json`."""
        return self._scene(state).as_json(agent)

    def code(self, subgoal: str) -> str:
        """See `Domain.code`."""
        return reward_code(self._ways, self.kinds[subgoal])

    def facts(self, state: str) -> frozenset[str]:
        """See `Domain.facts`."""
        scene = self._scene(state)
        about = {*scene.lying.values(), *scene.holds}
        has_room = [pot.has_room for pot in scene.pots]
        tests = (any(has_room), not all(has_room), "dish" in about, "soup" in about)
        return frozenset(fact for fact, holds in zip(FACTS, tests, strict=True) if holds)

    def goal_list(self, state: str, length: int) -> tuple[str, ...]:
        """See `Domain.goal_list`: soup after soup, beginning with the nearest goal."""
        facts = self.facts(state)
        if "a soup is at hand" in facts:
            first = [SERVE]
        elif "a pot is full" in facts:
            first = [SERVE] if "a dish is at hand" in facts else [PREPARE, SERVE]
        else:
            first = []
        whole = [MAKE, MAKE, PREPARE, SERVE]
        return tuple((first + whole * length)[:length])

    def _draw(self, numbers: random.Random) -> str:
        """A legal state: chefs are in their initial rooms."""
        ways, kitchen = self._ways, self._ways.kitchen
        contents = kitchen.contents.copy()
        for pot in kitchen.pots:
            onions = numbers.randint(0, POT_ONIONS)
            cooked = numbers.choice((COOK_STEPS, numbers.randint(1, COOK_STEPS)))  # half of the full pots are done
            contents[pot] = FULL + cooked if onions == POT_ONIONS else POT + onions
        counters = [cell for cell in ways.cells[COUNTER] if kitchen.neighbours[:, cell].any()]
        for cell in numbers.sample(counters, min(len(counters), numbers.randint(0, _MAX_ON_COUNTERS))):
            contents[cell] = THINGS.index(numbers.choice(_LYING))
        state = {"episode_length": numbers.randrange(300), "soups": numbers.randrange(5), "contents": contents}
        cells, headings, held = list[int](), list[int](), list[int]()
        for reach in kitchen.reach & kitchen.is_floor:
            cells.append(numbers.choice([cell for cell in np.flatnonzero(reach).tolist() if cell not in cells]))
            headings.append(numbers.randrange(len(HEADINGS)))
            held.append(THINGS.index(numbers.choice(_HELD)))
        state |= {"agent_cells": cells, "headings": headings, "held": held}
        return describe(kitchen, {name: np.asarray(value)[None] for name, value in state.items()})

    def _choices(self, scene: Scene, goal: str | None) -> Sequence[tuple[Subgoal, ...]]:
        return sorted(self._ranked(scene), key=lambda chosen: -sum(one.goal == goal for one in chosen))

    def _costs(self, state: str, subgoals: Sequence[str]) -> list[list[int]]:
        kinds = [self.kinds[text] for text in subgoals]
        emptied, scene = emptied_pots(kinds), self._scene(state)
        return [[cost(scene, chef, one, emptied) for one in kinds] for chef in range(len(self.agents))]

    def _allocations(self, state: str, subgoals: Sequence[str]) -> list[tuple[tuple[int, ...], int]]:
        """All allocations: first those that both chefs can begin, by their value."""
        kinds, scene = [self.kinds[text] for text in subgoals], self._scene(state)
        found, costs = super()._allocations(state, subgoals), self._costs(state, subgoals)
        worth = {
            order: value_per_step(scene, [kinds[one] for one in order], [costs[n][one] for n, one in enumerate(order)])
            for order, _ in found
        }
        return sorted(found, key=lambda one: (one[1] >= FAR, -worth[one[0]]))

    def _thoughts(self, scene: Scene, goal: str, texts: SubgoalTexts) -> str:
        ready = sum(pot.is_ready for pot in scene.pots)
        cooking = sum(not pot.has_room and not pot.is_ready for pot in scene.pots)
        onions = ", ".join(str(pot.onions) for pot in scene.pots if pot.has_room)
        room = f"pots with room hold {onions} onions" if onions else "no pot has room"
        return (
            f"{_situation(scene)} {ready} of the soups are done and {cooking} cook; {room}. So the goal is to {goal}. "
            f"What can begin now and leads there: {'; '.join(texts)}."
        )


def _describe_map(ways: Reachability) -> str:
    names = ("the kitchen is one room",) if len(ways.rooms) == 1 else ("left room", "right room")
    lines = [f"- {name}: {', '.join(_usable(ways, room))}." for name, room in zip(names, ways.rooms, strict=True)]
    if ways.hands_over:
        lines.append("- The middle counter can be used from both of its sides, so things can be handed over it.")
    return "\n".join(["Map:", *lines])


def _usable(ways: Reachability, room: Array) -> list[str]:
    """Reachable places of a room, with their numbers."""
    beside = frozenset(np.flatnonzero(ways.kitchen.neighbours[room].any(0)).tolist())
    found = []
    for place in (ONION_STORE, DISH_STORE, HATCH):
        number = len(beside.intersection(ways.cells[place]))
        found += [place if number == 1 else f"{number} {place}s"] * (number > 0)
    others = [*ways.pots, *([MIDDLE_COUNTER] if ways.hands_over else [])]
    return found + [place for place in others if not beside.isdisjoint(ways.cells[place])]


def _situation(scene: Scene) -> str:
    pots = "; ".join(
        f"{name}: {describe_pot(pot.contents)}" for name, pot in zip(scene.ways.pots, scene.pots, strict=True)
    )
    middle = scene.ways.cells[MIDDLE_COUNTER]
    parts = [
        f"on the {name}: {_counted(thing for cell, thing in scene.lying.items() if (cell in middle) == is_middle)}"
        for name, is_middle in (("middle counter", True), ("other counters", False))
        if middle or not is_middle
    ]
    # The step makes all states of an episode different, so that a model does not repeat an error forever.
    step, soups = scene.state["episode_length"], scene.state["soups"]
    return f"Step {step}. {pots[0].upper()}{pots[1:]}; {'; '.join(parts)}; soups served: {soups}."


def _counted(things: Iterable[str]) -> str:
    counts = Counter(things)
    plural = {"onion": "onions", "dish": "dishes", "soup": "soups"}
    parts = [f"{n} {thing if n == 1 else plural[thing]}" for thing, n in sorted(counts.items())]
    return ", ".join(parts) or "nothing"


@functools.cache
def get_domain(layout: str) -> KitchenDomain:
    """The planner's domain of a named kitchen."""
    return KitchenDomain(layout)


def command_texts(layout: str) -> tuple[str, ...]:
    """All commands, by number; the last one is `DONE`."""
    return (*get_domain(layout).subgoals, DONE)
