"""Overcooked's kitchens for the planner: words, and rules in the place of a language model.

This file must not know how the planner asks, or the world but through its sentences and its drawing.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from importlib.resources import files
from typing import Any

from rl_models.planners.domain import Allocation, Decomposition, Fault, Skill, SubgoalTexts, ValidSubgoal
from tune_experiments.sama.kitchen import wording
from tune_experiments.sama.kitchen.choice import Choice, assignments, choices
from tune_experiments.sama.kitchen.code import reward_code
from tune_experiments.sama.kitchen.layout import FAR, Layout
from tune_experiments.sama.kitchen.samples import diverse_states
from tune_experiments.sama.kitchen.state import KitchenState, read_state, write_state
from tune_experiments.sama.kitchen.subgoals import GOALS, MAKE, PREPARE, SERVE, WAIT, Subgoal, cost, subgoals_of

FACTS = ("a pot has room", "a pot is full", "a dish is at hand", "a soup is at hand")


class KitchenDomain:
    """`Domain` for one kitchen with two chefs."""

    goals: tuple[str, ...] = GOALS
    objects: tuple[str, ...] = wording.OBJECTS
    skills: tuple[Skill, ...] = (
        Skill(MAKE, frozenset({"a pot has room"}), frozenset({"a pot is full"})),
        Skill(PREPARE, frozenset({"a pot is full"}), frozenset({"a dish is at hand"})),
        Skill(SERVE, frozenset({"a pot is full", "a dish is at hand"}), frozenset({"a soup is served"})),
        Skill(SERVE, frozenset({"a soup is at hand"}), frozenset({"a soup is served"})),
    )
    final_facts = frozenset({"a soup is served"})

    def __init__(self, rows: Sequence[str], name: str = "kitchen") -> None:
        """Take the drawing of a kitchen; `kinds` are its sub-goals with their parts, `map` tells where things are.

        Args:
            rows: as the world draws it.
            name: of the layout.
        """
        self.name = name
        self._layout = Layout(rows)
        self.kinds = subgoals_of(self._layout)
        self._of_text = {one.text: one for one in self.kinds}
        self.subgoals = tuple(ValidSubgoal(one.text, one.predicate) for one in self.kinds)
        self.agents = tuple(f"Chef {number}" for number in range(len(self._layout.starts)))
        rules = files("tune_experiments.sama.kitchen").joinpath("manual.txt").read_text(encoding="utf-8").strip()
        self.map = wording.describe_map(self._layout)
        self.manual = f"{rules}\n{self.map}"

    def check(self, state: str) -> str:
        """As `Domain.check`."""
        found = read_state(state)
        self._layout.check(found)
        return write_state(found)

    def situation(self, state: str) -> str:
        """As `Domain.situation`."""
        return wording.situation(self._layout, read_state(state))

    def statuses(self, state: str) -> tuple[str, ...]:
        """As `Domain.statuses`."""
        return wording.statuses(self._layout, read_state(state))

    def as_json(self, state: str, agent: int) -> Any:
        """As `Domain.as_json`."""
        return read_state(state).as_json(agent)

    def code(self, subgoal: str) -> str:
        """As `Domain.code`."""
        return reward_code(self._layout, self._of_text[subgoal])

    def facts(self, state: str) -> frozenset[str]:
        """As `Domain.facts`."""
        return _facts(read_state(state))

    def diverse_states(self, count: int, seed: int) -> list[str]:
        """As `Domain.diverse_states`."""
        return [write_state(state) for state in diverse_states(self._layout, count, seed)]

    def goal_list(self, state: str, length: int) -> tuple[str, ...]:
        """As `Domain.goal_list`: soup after soup, beginning with what this state is nearest to."""
        facts = self.facts(state)
        if "a soup is at hand" in facts:
            first = [SERVE]
        elif "a pot is full" in facts:
            first = [SERVE] if "a dish is at hand" in facts else [PREPARE, SERVE]
        else:
            first = []
        whole = [MAKE, MAKE, PREPARE, SERVE]
        return tuple((first + whole * length)[:length])

    def decompose(self, state: str, goal: str | None, failed: Collection[SubgoalTexts]) -> Decomposition:
        """As `Domain.decompose`; sub-goals stand in the order of the valid ones, so they do not tell whose they are."""
        now = read_state(state)
        ranked = choices(self._layout, now, self.kinds, goal)
        fresh = [choice for choice in ranked if tuple(sorted(one.text for one in choice.subgoals)) not in failed]
        best = (fresh or ranked)[0]
        name, texts = self._named(best, goal)
        return Decomposition(wording.thoughts(self._layout, now, name, texts), name, texts)

    def allocate(self, state: str, subgoals: Sequence[str], failed: Collection[SubgoalTexts]) -> Allocation:
        """As `Domain.allocate`."""
        now, texts = read_state(state), tuple(subgoals)
        found = sorted(assignments(self._layout, now, self._read(texts)), key=lambda one: one[1])
        fresh = [one for one in found if tuple(texts[place] for place in one[0]) not in failed]
        order, steps = (fresh or found)[0]
        return Allocation(wording.thoughts_on_allocation(self._layout, now, texts, order, steps < FAR), order)

    def find_fault(self, state: str, subgoals: Sequence[str], order: Sequence[int]) -> Fault:
        """As `Domain.find_fault`: somebody must be able to begin with each sub-goal, and its chef must be."""
        now, kinds = read_state(state), self._read(subgoals)
        for one in kinds:
            if all(cost(self._layout, now, chef, one) >= FAR for chef in range(len(now.chefs))):
                return Fault(f'No chef can begin to "{one.text}" now, so the sub-goals are at fault.', "decomposition")
        for chef, which in enumerate(order):
            if cost(self._layout, now, chef, kinds[which]) >= FAR:
                can_do = any(steps < FAR for _, steps in assignments(self._layout, now, kinds))
                clause = f'{self.agents[chef]} cannot begin to "{kinds[which].text}" now'
                if can_do:
                    return Fault(f"{clause}, but another can, so the allocation is at fault.", "allocation")
                return Fault(f"{clause}, and no allocation suits both chefs.", "decomposition")
        return Fault("Each chef could begin, so other sub-goals may be easier to reach.", "decomposition")

    def _named(self, choice: Choice, goal: str | None) -> tuple[str, SubgoalTexts]:
        chosen = sorted(choice.subgoals, key=self.kinds.index)
        leading = min((one.goal for one in chosen), key=(SERVE, PREPARE, MAKE, WAIT).index)
        return goal or leading, tuple(one.text for one in chosen)

    def _read(self, texts: Sequence[str]) -> list[Subgoal]:
        return [self._of_text[text] for text in texts]


def _facts(state: KitchenState) -> frozenset[str]:
    lying = {thing for _, thing in state.counters} | {chef.holds for chef in state.chefs}
    tests = (
        any(pot.has_room for pot in state.pots),
        any(not pot.has_room for pot in state.pots),
        "dish" in lying,
        "soup" in lying,
    )
    return frozenset(fact for fact, holds in zip(FACTS, tests, strict=True) if holds)
