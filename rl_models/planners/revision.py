"""What follows a round that failed: reflection, or its control, a fresh draw that has learned nothing.

| | asks | remembers |
|---|---|---|
| reflection | what was wrong, then plans anew with the failures in view (SAMA, section 3.4) | three failures |
| retry | another planner, which differs by its seed, for a plan of the same state | nothing |

A planner that errs by chance does better at a second try whatever it is given, so what reflection is worth is its gain
over as many retries. This file must not know when a round has failed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from rl_models.planners.planner import Planner
from rl_models.planners.plans import Memory, Plan


class Revision(Protocol):
    """Makes plans in the place of those that failed.

    Attributes:
        planners: further planners that it asks.
    """

    planners: Sequence[Planner]

    def revise(
        self,
        plans: Sequence[Plan],
        reached: Sequence[Sequence[bool]],
        memories: Sequence[Memory],
        goals: Sequence[str | None],
        tries: Sequence[int],
    ) -> list[Plan]:
        """Other plans for the same states.

        Args:
            plans: that failed.
            reached: for each plan, which agents reached their sub-goals.
            memories: of the worlds.
            goals: to decompose; none where the planner is to choose one.
            tries: which try after the round's first failure it is, from 1.
        """


class Reflection:
    """Finds the fault, remembers the failure and plans differently."""

    def __init__(self, planner: Planner) -> None:
        """Reflect with the planner that made the plans."""
        self._planner = planner
        self.planners: Sequence[Planner] = ()

    def revise(
        self,
        plans: Sequence[Plan],
        reached: Sequence[Sequence[bool]],
        memories: Sequence[Memory],
        goals: Sequence[str | None],
        tries: Sequence[int],
    ) -> list[Plan]:
        """As `Revision.revise`; the failure is added to each memory."""
        return self._planner.reflect(plans, reached, memories, goals)


class Retry:
    """Plans anew with another seed and an empty memory."""

    def __init__(self, planners: Sequence[Planner]) -> None:
        """Take one planner for each try, of which no two have the same seed."""
        self.planners: Sequence[Planner] = planners

    def revise(
        self,
        plans: Sequence[Plan],
        reached: Sequence[Sequence[bool]],
        memories: Sequence[Memory],
        goals: Sequence[str | None],
        tries: Sequence[int],
    ) -> list[Plan]:
        """As `Revision.revise`; neither `reached` nor the memories are looked at."""
        revised = list(plans)
        for number, planner in enumerate(self.planners, start=1):
            own = [place for place, which in enumerate(tries) if which == number]
            anew = planner.plan([plans[place].state for place in own], [goals[place] for place in own])
            for place, plan in zip(own, anew, strict=True):
                revised[place] = plan
        return revised
