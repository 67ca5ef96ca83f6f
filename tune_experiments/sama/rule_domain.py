"""Domains whose rules score all combinations of sub-goals, and allocate them by their cost for each agent."""

import itertools
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from rl_models.planners.domain import Allocation, Decomposition, SubgoalTexts
from rl_models.planners.replies import Fault


class Kind(Protocol):
    """A sub-goal of a domain."""

    @property
    def text(self) -> str:
        """The command."""

    @property
    def goal(self) -> str:
        """The team's goal that it belongs to."""


AnyKind = TypeVar("AnyKind", bound=Kind)
"""Type of the sub-goals."""


class RuleDomain(ABC, Generic[AnyKind]):
    """The rules of a `Domain`, whose `kinds` are the sub-goals by text.

    `agent` and `everybody` name one agent and all of them, such as `chef` and `both chefs`; an agent cannot begin a
    sub-goal whose cost is `far`; `goal_order` are goals by priority for naming a combination of sub-goals.
    """

    agent: ClassVar[str]
    everybody: ClassVar[str]
    far: ClassVar[int]
    goal_order: ClassVar[tuple[str, ...]]
    agents: tuple[str, ...]
    kinds: dict[str, AnyKind]
    _scene: Callable[[str], Any]

    def diverse_states(self, count: int, seed: int) -> list[str]:
        """See `Domain.diverse_states`: randomly drawn."""
        numbers, found = random.Random(seed), dict[str, None]()
        while len(found) < count:
            found[self._draw(numbers)] = None
        return list(found)

    def decompose(self, state: str, goal: str | None, failed: Collection[SubgoalTexts]) -> Decomposition:
        """See `Domain.decompose`; sub-goals are in the order of the valid ones, not of the agents."""
        scene, first, fresh = self._scene(state), None, None
        for chosen in self._choices(scene, goal):
            first = first or chosen
            if tuple(sorted(one.text for one in chosen)) not in failed:
                fresh = chosen
                break
        chosen = fresh or first or ()
        leading = goal or min((one.goal for one in chosen), key=self.goal_order.index)
        texts = tuple(sorted((one.text for one in chosen), key=list(self.kinds).index))
        return Decomposition(self._thoughts(scene, leading, texts), leading, texts)

    def possible_subgoals(self, state: str, agent: int, given: Sequence[str]) -> SubgoalTexts:
        """See `Domain.possible_subgoals`: those with a cost."""
        return tuple(text for text in self.kinds if self._costs(state, (*given, text))[agent][len(given)] < self.far)

    def allocate(self, state: str, subgoals: Sequence[str], failed: Collection[SubgoalTexts]) -> Allocation:
        """See `Domain.allocate`."""
        found = self._allocations(state, subgoals)
        fresh = [one for one in found if tuple(subgoals[place] for place in one[0]) not in failed]
        order, cost = (fresh or found)[0]
        who = "; ".join(
            f"{status}, so it should {subgoals[which]}"
            for status, which in zip(self.statuses(state), order, strict=True)
        )
        thoughts = f"{who}." if cost < self.far else f"No allocation suits {self.everybody}. The least bad: {who}."
        return Allocation(thoughts, order)

    def find_fault(self, state: str, subgoals: Sequence[str], order: Sequence[int]) -> Fault:
        """See `Domain.find_fault`: a sub-goal must be possible for some agent, and for its own."""
        costs = self._costs(state, subgoals)
        for which, text in enumerate(subgoals):
            if all(own[which] >= self.far for own in costs):
                clause = f'No {self.agent} can begin to "{text}" now'
                return Fault(thoughts=f"{clause}, so the sub-goals are at fault.", phase="decomposition")
        for agent, which in enumerate(order):
            if costs[agent][which] >= self.far:
                clause = f'{self.agents[agent]} cannot begin to "{subgoals[which]}" now'
                if any(cost < self.far for _, cost in _assignments(costs)):
                    return Fault(
                        thoughts=f"{clause}, but another can, so the allocation is at fault.", phase="allocation"
                    )
                return Fault(thoughts=f"{clause}, and no allocation suits {self.everybody}.", phase="decomposition")
        easier = f"Each {self.agent} could begin, so other sub-goals may be easier to reach."
        return Fault(thoughts=easier, phase="decomposition")

    def _allocations(self, state: str, subgoals: Sequence[str]) -> list[tuple[tuple[int, ...], int]]:
        """All allocations with their costs, the cheapest first."""
        return sorted(_assignments(self._costs(state, subgoals)), key=lambda one: one[1])

    @abstractmethod
    def statuses(self, state: str) -> tuple[str, ...]:
        """See `Domain.statuses`."""

    @abstractmethod
    def _draw(self, numbers: random.Random) -> str:
        """Any legal state."""

    @abstractmethod
    def _choices(self, scene: Any, goal: str | None) -> Iterable[tuple[AnyKind, ...]]:
        """Compatible combinations of one sub-goal an agent, the best first."""

    @abstractmethod
    def _costs(self, state: str, subgoals: Sequence[str]) -> list[list[int]]:
        """Costs [N, K] of sub-goals that are done in the same round, for each agent."""

    @abstractmethod
    def _thoughts(self, scene: Any, goal: str, texts: SubgoalTexts) -> str:
        """Reasons for this goal and these sub-goals."""


def ranked(options: Sequence[Sequence[tuple[AnyKind, float]]]) -> list[tuple[AnyKind, ...]]:
    """All combinations of one scored option an agent, by the sum of scores, the best first; ties by order."""
    found = [(tuple(one for one, _ in each), sum(score for _, score in each)) for each in itertools.product(*options)]
    found.sort(key=lambda one: -one[1])
    return [chosen for chosen, _ in found]


def _assignments(costs: Sequence[Sequence[int]]) -> list[tuple[tuple[int, ...], int]]:
    """All allocations, one sub-goal an agent: the sub-goal of each agent, and the total cost."""
    orders = itertools.permutations(range(len(costs[0])))
    return [(order, sum(costs[agent][which] for agent, which in enumerate(order))) for order in orders]
