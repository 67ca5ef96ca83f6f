"""Rounds of planning, acting, judging and reflecting, for many worlds at once (SAMA, figure 2 and section 3.4).

The caller steps the worlds, calls `begin` for new episodes and `end_rounds` when rounds are over, follows the plans
that they return, and restores a world to the beginning of its round when a plan says so.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rl_models.planners.commander import RandomCommander
from rl_models.planners.goal_generators import GoalGenerator
from rl_models.planners.planner import Planner
from rl_models.planners.plans import FailedPlan, Memory, Pair, Plan
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


@dataclass
class _Progress:
    """Plan, the goal that was given for it, memory and counts of one world."""

    memory: Memory = field(default_factory=Memory)
    plan: Plan | None = None
    goal: str | None = None
    rounds: int = 0
    reflections: int = 0


@dataclass
class RoundCounts:
    """Sums over all worlds."""

    rounds: int = 0
    reached: int = 0
    failed: int = 0
    reflections: int = 0
    given_up: int = 0


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
        self._progress: dict[int, _Progress] = {}
        self.counts = RoundCounts()

    @property
    def question_counts(self) -> Counter[str]:
        """How the questions of all planners of this loop ended so far (`ChatClient.counts`)."""
        return sum((Counter(planner.caller.counts) for planner in self._planners), Counter())

    def begin(self, states: Mapping[int, str]) -> dict[int, Plan]:
        """Plans for the first rounds of new episodes, by world."""
        for world in states:
            self._progress[world] = _Progress()
            self._goals.begin_episode(world)
        return self._plan(states)

    def end_rounds(self, ends: Mapping[int, RoundEnd]) -> dict[int, NextRound]:
        """Next rounds of the worlds whose rounds are over; `ends` must lack rounds that an episode's end cuts off."""
        for world, end in ends.items():
            self._judge(world, end)
        failed = [world for world, end in ends.items() if not all(end.reached)]
        again = [world for world in failed if self._progress[world].reflections < self._most]
        revised = self._reflect(again, ends)
        onwards = {world: end.state for world, end in ends.items() if world not in revised}
        for world in onwards:
            self._progress[world].reflections = 0
        plans = {world: NextRound(plan, False) for world, plan in self._plan(onwards).items()}
        return plans | {world: NextRound(plan, True) for world, plan in revised.items()}

    def _judge(self, world: int, end: RoundEnd) -> None:
        """The heuristic h: reflect unless all sub-goals were reached."""
        progress, is_reached = self._progress[world], all(end.reached)
        self.counts.rounds += 1
        self.counts.reached += is_reached
        self.counts.failed += not is_reached
        if is_reached:
            progress.memory = Memory()
        self.counts.given_up += not is_reached and 0 < self._most <= progress.reflections
        self._goals.after_round(world, progress.goal, is_reached)
        commands = progress.plan.commands if progress.plan is not None else ()
        results = [
            f"{text}: {'reached' if done else 'not reached'}" for text, done in zip(commands, end.reached, strict=True)
        ]
        self.planner.caller.transcript.add_note(f"World {world}: round {progress.rounds} ended", results)

    def _plan(self, states: Mapping[int, str]) -> dict[int, Plan]:
        if not states:
            return {}
        worlds, texts = list(states), list(states.values())
        goals = self._goals.goals(worlds, texts)
        memories = [self._progress[world].memory for world in worlds]
        for world, goal in zip(worlds, goals, strict=True):
            self._progress[world].goal = goal
        return self._take(worlds, self.planner.plan(texts, goals, memories), "planned")

    def _reflect(self, worlds: Sequence[int], ends: Mapping[int, RoundEnd]) -> dict[int, Plan]:
        if not worlds:
            return {}
        some = [self._progress[world] for world in worlds]
        for progress in some:
            progress.reflections += 1
        self.counts.reflections += len(worlds)
        planned = [(world, plan) for world in worlds if (plan := self._progress[world].plan) is not None]
        goals = self._goals.goals(worlds, [plan.state for _, plan in planned])
        failures = [
            FailedPlan(plan, ends[world].reached, progress.memory, goal, progress.reflections)
            for (world, plan), progress, goal in zip(planned, some, goals, strict=True)
        ]
        revised = self._revision.revise(failures)
        for progress, plan, failure in zip(some, revised, failures, strict=True):
            if plan.subgoals != failure.plan.subgoals:  # else they are only assigned again, for the goal before
                progress.goal = failure.goal
        return self._take(worlds, revised, "planned again")

    def _take(self, worlds: Sequence[int], plans: Sequence[Plan], how: str) -> dict[int, Plan]:
        """Apply the commander to the commands, then store and log the plans."""
        rounds = [self._progress[world].rounds + 1 for world in worlds]
        if self._visited is not None:
            self._visited.update(dict.fromkeys((plan.state, plan.commands) for plan in plans))
        commanded = self._commander.command(worlds, rounds, plans) if self._commander else plans
        for world, number, plan in zip(worlds, rounds, commanded, strict=True):
            self._progress[world].rounds, self._progress[world].plan = number, plan
            agents = self.planner.domain.agents
            commands = [f"{name}: {text}" for name, text in zip(agents, plan.commands, strict=True)]
            self.planner.caller.transcript.add_note(
                f"World {world}: round {number} {how}", [f"goal: {plan.goal}", *commands]
            )
        return dict(zip(worlds, commanded, strict=True))
