"""The control of reflection (`Planner.revise`): a new sample without feedback for a plan whose round failed.

| | asks | remembers |
|---|---|---|
| reflection | what was wrong, then plans again with the failures in view (SAMA, section 3.4) | three failures |
| retry | another planner, which differs by its seed, for a plan of the same state | nothing |

A noisy planner does better at a second try without any feedback, so the value of reflection is its gain over as many
retries.
"""

from collections.abc import Sequence

from rl_models.planners.planner import Planner
from rl_models.planners.plans import Plan, Round


class Retry:
    """Plans again with an empty memory and for each try another planner, of which no two have the same seed."""

    def __init__(self, planners: Sequence[Planner]) -> None:
        self.planners = planners

    def revise(self, failed: Sequence[Round]) -> list[Plan]:
        """Another plan for each round that failed, from its start; sub-goals and memories are not used."""
        revised = [one.plan for one in failed]
        for number, planner in enumerate(self.planners, start=1):
            own = [place for place, one in enumerate(failed) if one.tries == number]
            some = [failed[place] for place in own]
            replanned = planner.plan([one.plan.state for one in some], [one.goal for one in some])
            for place, plan in zip(own, replanned, strict=True):
                revised[place] = plan
        return revised
