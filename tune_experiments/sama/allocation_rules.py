"""Rules that allocate sub-goals by their cost for each agent, and that find the fault of a plan that failed."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from rl_models.planners.domain import Allocation, Fault, SubgoalTexts

Prices: TypeAlias = Sequence[Sequence[int]]
"""Costs [N, K] of K sub-goals for each of N agents."""


@dataclass(frozen=True)
class AllocationRules:
    """Allocation of sub-goals by cost.

    Attributes:
        agent, everybody: names of one agent and of all of them, such as `chef` and `both chefs`.
        far: cost from which on an agent cannot begin a sub-goal.
    """

    agent: str
    everybody: str
    far: int

    def allocate(
        self, subgoals: Sequence[str], prices: Prices, statuses: Sequence[str], failed: Collection[SubgoalTexts]
    ) -> Allocation:
        """See `Domain.allocate`.

        Args:
            subgoals: texts of the sub-goals.
            prices: costs of the sub-goals.
            statuses: one clause about each agent.
            failed: earlier allocations, in the order of the agents.
        """
        found = sorted(assignments(prices), key=lambda one: one[1])
        fresh = [one for one in found if tuple(subgoals[place] for place in one[0]) not in failed]
        order, price = (fresh or found)[0]
        who = "; ".join(
            f"{status}, so it should {subgoals[which]}" for status, which in zip(statuses, order, strict=True)
        )
        thoughts = f"{who}." if price < self.far else f"No allocation suits {self.everybody}. The least bad: {who}."
        return Allocation(thoughts, order)

    def find_fault(self, subgoals: Sequence[str], prices: Prices, agents: Sequence[str], order: Sequence[int]) -> Fault:
        """See `Domain.find_fault`: some agent must be able to begin each sub-goal, and so must the one that has it.

        Args:
            subgoals: texts of the sub-goals.
            prices: costs of the sub-goals.
            agents: names of the agents.
            order: index of each agent's sub-goal.
        """
        for which, text in enumerate(subgoals):
            if all(own[which] >= self.far for own in prices):
                clause = f'No {self.agent} can begin to "{text}" now'
                return Fault(f"{clause}, so the sub-goals are at fault.", "decomposition")
        for agent, which in enumerate(order):
            if prices[agent][which] >= self.far:
                clause = f'{agents[agent]} cannot begin to "{subgoals[which]}" now'
                if any(price < self.far for _, price in assignments(prices)):
                    return Fault(f"{clause}, but another can, so the allocation is at fault.", "allocation")
                return Fault(f"{clause}, and no allocation suits {self.everybody}.", "decomposition")
        return Fault(f"Each {self.agent} could begin, so other sub-goals may be easier to reach.", "decomposition")


def assignments(prices: Prices) -> list[tuple[tuple[int, ...], int]]:
    """All allocations, one sub-goal per agent: the sub-goal of each agent, and the total cost."""
    orders = itertools.permutations(range(len(prices[0])))
    return [(order, sum(prices[agent][which] for agent, which in enumerate(order))) for order in orders]


def different_states(draw: Callable[[random.Random], str], count: int, seed: int) -> list[str]:
    """`count` different states, drawn one after another."""
    numbers, found = random.Random(seed), dict[str, None]()
    while len(found) < count:
        found[draw(numbers)] = None
    return list(found)
