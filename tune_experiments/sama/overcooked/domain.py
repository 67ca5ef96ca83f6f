"""Overcooked's kitchens for the planner: words, and rules in the place of a language model.

States come and go in the world's sentences.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

import rl_envs.overcooked
from rl_envs.overcooked.goals import reached
from rl_envs.overcooked.kitchen import Kitchen
from rl_envs.overcooked.text import describe
from rl_envs.overcooked.words import COOK_STEPS, FULL, HEADINGS, POT, POT_ONIONS, THINGS
from rl_models.planners.code_index import CodeIndex
from rl_models.planners.domain import Skill, SubgoalTest, SubgoalTexts
from tune_experiments.sama.overcooked import wording
from tune_experiments.sama.overcooked.choice import choices, value_per_step
from tune_experiments.sama.overcooked.scene import COUNTER, FAR, Reachability, Scene
from tune_experiments.sama.overcooked.subgoals import (
    GOALS,
    MAKE,
    PREPARE,
    SERVE,
    WAIT,
    Subgoal,
    cost,
    emptied_pots,
    make_subgoals,
    reward_code,
)
from tune_experiments.sama.planner_config import PlannedGame
from tune_experiments.sama.rule_domain import RuleDomain

DONE = "your task is done: keep out of the other chef's way"
"""Told to a chef whose sub-goal is reached."""
FACTS = ("a pot has room", "a pot is full", "a dish is at hand", "a soup is at hand")
_SCENES_KEPT = 4096
_MAX_ON_COUNTERS = 3
_HELD = ("nothing", "nothing", "onion", "dish", "soup")
_LYING = ("onion", "onion", "onion", "dish", "dish", "soup")
"""Things to draw for counters of diverse states; a thing that stands here twice is twice as likely."""


class KitchenDomain(RuleDomain[Subgoal]):
    """`Domain` for one kitchen with two chefs."""

    agent, everybody, far = "chef", "both chefs", FAR
    goal_order = (SERVE, PREPARE, MAKE, WAIT)
    goals: tuple[str, ...] = GOALS
    objects: tuple[str, ...] = wording.OBJECTS
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
        """Make the words; `kinds` are the sub-goals with their parts, `map` tells where things are.

        Args:
            layout: a name of the world's layouts, or rows of a kitchen of one's own.
        """
        kitchen = Kitchen(layout)
        self.name = kitchen.name
        self._ways = Reachability(kitchen)
        self._read = functools.lru_cache(_SCENES_KEPT)(functools.partial(Scene, self._ways))
        self.kinds = {one.text: one for one in make_subgoals(self._ways)}
        self.subgoals = tuple(self.kinds)
        self.tests: dict[str, SubgoalTest] = {
            text: functools.partial(reached, kitchen, one.event) for text, one in self.kinds.items()
        }
        self.agents = tuple(f"Chef {number}" for number in range(len(kitchen.starts)))
        rules = files("tune_experiments.sama.overcooked").joinpath("manual.txt").read_text(encoding="utf-8").strip()
        self.map = wording.describe_map(self._ways)
        self.manual = f"{rules}\n{self.map}"

    def check(self, state: str) -> str:
        """See `Domain.check`."""
        scene = self._scene(state)
        scene.check()
        return describe(self._ways.kitchen, {name: value[None] for name, value in scene.state.items()})

    def situation(self, state: str) -> str:
        """See `Domain.situation`."""
        return wording.situation(self._scene(state))

    def statuses(self, state: str) -> tuple[str, ...]:
        """See `Domain.statuses`."""
        return wording.statuses(self._scene(state))

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
        """See `Domain.goal_list`: soup after soup, beginning with what this state is nearest to."""
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
        return _draw(self._ways, numbers)

    def _scene(self, state: str) -> Scene:
        return self._read(state)

    def _choices(self, scene: Scene, goal: str | None) -> Sequence[tuple[Subgoal, ...]]:
        return choices(scene, tuple(self.kinds.values()), goal)

    def _costs(self, state: str, subgoals: Sequence[str]) -> list[list[int]]:
        kinds = [self.kinds[text] for text in subgoals]
        emptied, scene = emptied_pots(kinds), self._scene(state)
        return [[cost(scene, chef, one, emptied) for one in kinds] for chef in range(len(self.agents))]

    def _allocations(self, state: str, subgoals: Sequence[str]) -> list[tuple[tuple[int, ...], int]]:
        """Those that both chefs can begin with first; of these the one that is worth most."""
        kinds, scene = [self.kinds[text] for text in subgoals], self._scene(state)
        found = super()._allocations(state, subgoals)
        worth = {order: value_per_step(scene, [kinds[which] for which in order]) for order, _ in found}
        return sorted(found, key=lambda one: (one[1] >= FAR, -worth[one[0]]))

    def _thoughts(self, scene: Scene, goal: str, texts: SubgoalTexts) -> str:
        return wording.thoughts(scene, goal, texts)


def _draw(ways: Reachability, numbers: random.Random) -> str:
    """A legal state: chefs stand in the room they began in."""
    kitchen = ways.kitchen
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


# ------------------------------------------------------------------------------- as the planner's game


@functools.cache
def get_domain(layout: str) -> KitchenDomain:
    """The planner's domain of a named kitchen."""
    return KitchenDomain(layout)


def make_game(layout: str) -> PlannedGame:
    """A named kitchen as the planner's game."""
    domain = get_domain(layout)
    return PlannedGame("Overcooked", domain, domain.map, game_code)


def command_texts(layout: str) -> tuple[str, ...]:
    """All commands, by number; the last one is `DONE`."""
    return (*get_domain(layout).subgoals, DONE)


def manual_sentences(manual: str) -> tuple[str, ...]:
    """Sentences about the game that the policy reads: the lines of the manual."""
    return tuple(line.strip() for line in manual.splitlines() if line.strip())


@functools.cache
def game_code() -> CodeIndex:
    """The game's source, to be looked up by words."""
    return CodeIndex.from_folder(Path(rl_envs.overcooked.__file__).parent)
