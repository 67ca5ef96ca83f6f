"""Rounds of planning, acting, judging and reflecting, for many worlds at once (SAMA, figure 2 and section 3.4).

The caller steps the worlds, calls `begin` for new episodes and `end_rounds` when rounds are over, follows the plans
that they return, and restores a world to the beginning of its round when a plan says so.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rl_models.planners.commander import RandomCommander
from rl_models.planners.goal_generators import GoalGenerator
from rl_models.planners.planner import Planner
from rl_models.planners.plans import Memory, Pair, Plan, Round
from rl_models.planners.revision import Retry


@dataclass(frozen=True)
class RoundEnd:
    """How a world's round ended: the state then, and which agents had reached their sub-goals within the round."""

    state: str
    reached: tuple[bool, ...]


@dataclass(frozen=True)
class NextRound:
    """Plan of a world's next round, and whether the world is first restored to the start of the failed one."""

    plan: Plan
    recovers: bool


class PlanningLoop:
    """Tracks every world's round, memory and reflections."""

    def __init__(
        self,
        planner: Planner,
        goals: GoalGenerator | None = None,
        max_reflections: int = 3,
        commander: RandomCommander | None = None,
        visited: dict[Pair, None] | None = None,
        retry: Retry | None = None,
    ) -> None:
        """Set up the loop.

        `max_reflections` are attempts after a failed round; then the episode continues from its present state.
        `commander` replaces commands. `visited` collects visited states with their plans, for fine-tuning the policy.
        `retry` makes the plans of these attempts in place of the planner's reflection.
        """
        self.planner, self._most = planner, max_reflections
        self._goals = goals or GoalGenerator()
        self._revision: Planner | Retry = retry or planner
        self._planners = [planner, *(retry.planners if retry else ())]
        self._commander, self._visited = commander, visited
        self._rounds: dict[int, Round] = {}
        self.counts = Counter(dict.fromkeys(("rounds", "reached", "failed", "reflections", "given_up"), 0))
        """How rounds of all worlds ended so far."""

    @property
    def question_counts(self) -> Counter[str]:
        """How the questions of all planners of this loop ended so far (`ChatClient.counts`)."""
        return sum((Counter(planner.caller.counts) for planner in self._planners), Counter())

    def begin(self, states: Mapping[int, str]) -> dict[int, Plan]:
        """Plans for the first rounds of new episodes, by world."""
        for world in states:
            self._rounds[world] = Round()
            self._goals.begin_episode(world)
        return self._plan(states)

    def end_rounds(self, ends: Mapping[int, RoundEnd]) -> dict[int, NextRound]:
        """Next rounds of the worlds whose rounds are over; `ends` must lack rounds that an episode's end cuts off."""
        for world, end in ends.items():
            self._judge(world, end)
        failed = [world for world, end in ends.items() if not all(end.reached)]
        again = [world for world in failed if self._rounds[world].tries < self._most]
        revised = self._reflect(again)
        onwards = {world: end.state for world, end in ends.items() if world not in revised}
        for world in onwards:
            self._rounds[world].tries = 0
        plans = {world: NextRound(plan, False) for world, plan in self._plan(onwards).items()}
        return plans | {world: NextRound(plan, True) for world, plan in revised.items()}

    def _judge(self, world: int, end: RoundEnd) -> None:
        """The heuristic h: reflect unless all sub-goals were reached."""
        one, is_reached = self._rounds[world], all(end.reached)
        one.reached = end.reached
        self.counts["rounds"] += 1
        self.counts["reached" if is_reached else "failed"] += 1
        if is_reached:
            one.memory = Memory()
        self.counts["given_up"] += not is_reached and 0 < self._most <= one.tries
        self._goals.after_round(world, one.goal, is_reached)
        results = [
            f"{text}: {'reached' if done else 'not reached'}"
            for text, done in zip(one.plan.commands, end.reached, strict=True)
        ]
        self.planner.caller.transcript.add_note(f"World {world}: round {one.number} ended", results)

    def _plan(self, states: Mapping[int, str]) -> dict[int, Plan]:
        if not states:
            return {}
        worlds, texts = list(states), list(states.values())
        goals = self._goals.goals(worlds, texts)
        memories = [self._rounds[world].memory for world in worlds]
        for world, goal in zip(worlds, goals, strict=True):
            self._rounds[world].goal = goal
        return self._take(worlds, self.planner.plan(texts, goals, memories), "planned")

    def _reflect(self, worlds: Sequence[int]) -> dict[int, Plan]:
        if not worlds:
            return {}
        some = [self._rounds[world] for world in worlds]
        self.counts["reflections"] += len(worlds)
        earlier = [one.goal for one in some]
        for one, goal in zip(some, self._goals.goals(worlds, [one.plan.state for one in some]), strict=True):
            one.goal, one.tries = goal, one.tries + 1
        revised = self._revision.revise(some)
        for one, plan, goal in zip(some, revised, earlier, strict=True):
            if plan.subgoals == one.plan.subgoals:  # they are only assigned again, for the goal before
                one.goal = goal
        return self._take(worlds, revised, "planned again")

    def _take(self, worlds: Sequence[int], plans: Sequence[Plan], how: str) -> dict[int, Plan]:
        """Apply the commander to the commands, then store and log the plans."""
        numbers = [self._rounds[world].number + 1 for world in worlds]
        if self._visited is not None:
            self._visited.update(dict.fromkeys((plan.state, plan.commands) for plan in plans))
        commanded = self._commander.command(worlds, numbers, plans) if self._commander else plans
        for world, number, plan in zip(worlds, numbers, commanded, strict=True):
            self._rounds[world].number, self._rounds[world].plan = number, plan
            agents = self.planner.domain.agents
            commands = [f"{name}: {text}" for name, text in zip(agents, plan.commands, strict=True)]
            self.planner.caller.transcript.add_note(
                f"World {world}: round {number} {how}", [f"goal: {plan.goal}", *commands]
            )
        return dict(zip(worlds, commanded, strict=True))
