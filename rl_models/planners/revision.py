"""Revision of a plan whose round failed: reflection, or its control, a new sample without feedback.

| | asks | remembers |
|---|---|---|
| reflection | what was wrong, then plans again with the failures in view (SAMA, section 3.4) | three failures |
| retry | another planner, which differs by its seed, for a plan of the same state | nothing |

A noisy planner does better at a second try without any feedback, so the value of reflection is its gain over as many
retries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from rl_models.planners.planner import Planner
from rl_models.planners.plans import Memory, Plan


@dataclass(frozen=True)
class FailedPlan:
    """A plan of one world whose round failed.

    Attributes:
        plan: plan that failed.
        reached: whether each agent reached its sub-goal.
        memory: memory of the world.
        goal: goal to decompose; None where the planner is to choose one.
        tried: number of the try after the round's first failure, from 1.
    """

    plan: Plan
    reached: Sequence[bool]
    memory: Memory
    goal: str | None
    tried: int


class Revision(Protocol):
    """Replaces failed plans.

    Attributes:
        planners: further planners that it uses.
    """

    planners: Sequence[Planner]

    def revise(self, failures: Sequence[FailedPlan]) -> list[Plan]:
        """Another plan for the state of each plan that failed."""


class Reflection:
    """Finds the fault, remembers the failure and plans differently."""

    def __init__(self, planner: Planner) -> None:
        """Reflect with the planner that made the plans."""
        self._planner = planner
        self.planners: Sequence[Planner] = ()

    def revise(self, failures: Sequence[FailedPlan]) -> list[Plan]:
        """See `Revision.revise`; the failure is added to each memory."""
        return self._planner.reflect(
            [one.plan for one in failures],
            [one.reached for one in failures],
            [one.memory for one in failures],
            [one.goal for one in failures],
        )


class Retry:
    """Plans again with another seed and an empty memory."""

    def __init__(self, planners: Sequence[Planner]) -> None:
        """Take one planner for each try, of which no two have the same seed."""
        self.planners: Sequence[Planner] = planners

    def revise(self, failures: Sequence[FailedPlan]) -> list[Plan]:
        """See `Revision.revise`; sub-goals and memories are not used."""
        revised = [one.plan for one in failures]
        for number, planner in enumerate(self.planners, start=1):
            own = [place for place, one in enumerate(failures) if one.tried == number]
            some = [failures[place] for place in own]
            replanned = planner.plan([one.plan.state for one in some], [one.goal for one in some])
            for place, plan in zip(own, replanned, strict=True):
                revised[place] = plan
        return revised
