"""Records of the planner: plans, rounds, and failures."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from rl_models.planners.domain import SubgoalTexts
from rl_models.planners.replies import Phase

Pair: TypeAlias = tuple[str, SubgoalTexts]
"""A state, and the command of each agent."""


@dataclass(frozen=True)
class Plan:
    """Goal, sub-goals and their allocation, for one world and one round.

    Attributes:
        state: text of the state.
        goal: goal of the team.
        subgoals: sub-goals of the agents, in the order of the decomposition.
        order: index of each agent's sub-goal among them.
        commands: commands of the agents; their sub-goals, unless a commander changes them.
    """

    state: str
    goal: str
    subgoals: SubgoalTexts
    order: tuple[int, ...]
    commands: SubgoalTexts

    @property
    def allocated(self) -> SubgoalTexts:
        """The sub-goals in the agents' order, before a commander changes them."""
        return tuple(self.subgoals[place] for place in self.order)


@dataclass(frozen=True)
class Failure:
    """A plan that failed, and the phase that was at fault."""

    plan: Plan
    phase: Phase


@dataclass
class Memory:
    """The latest failures of one world, at most three (SAMA, section 3.4)."""

    failures: deque[Failure] = field(default_factory=lambda: deque(maxlen=3))

    def failed_decompositions(self) -> frozenset[SubgoalTexts]:
        """Sets of sub-goals that must not come again, each sorted."""
        return frozenset(
            tuple(sorted(failure.plan.subgoals)) for failure in self.failures if failure.phase == "decomposition"
        )

    def failed_allocations(self) -> frozenset[SubgoalTexts]:
        """Sub-goals in the agents' order that must not come again."""
        return frozenset(failure.plan.allocated for failure in self.failures if failure.phase == "allocation")

    def describe(self) -> str:
        """The failures as lines of a prompt, or `- none`."""
        lines = [
            f"- goal: {failure.plan.goal}; told: {'; '.join(failure.plan.commands)}; at fault: {failure.phase}"
            for failure in self.failures
        ]
        return "\n".join(lines) or "- none"


@dataclass
class Round:
    """The present round of one world.

    Attributes:
        plan: its plan; none before the first round.
        memory: memory of the world.
        reached: whether each agent has reached its sub-goal, once the round is over.
        goal: goal to decompose; None where the planner chooses one.
        number: number of rounds so far, this one included.
        tries: number of plans made again since a failed round.
    """

    plan: Plan = Plan("", "", (), (), ())
    memory: Memory = field(default_factory=Memory)
    reached: Sequence[bool] = ()
    goal: str | None = None
    number: int = 0
    tries: int = 0
