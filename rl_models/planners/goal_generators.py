"""Three generators of the next goal (SAMA, appendix G.2); all other stages are the same.

| | next goal |
|---|---|
| SAMA | the model names it together with its sub-goals, in each round |
| DEPS | the model writes the whole list at the start, and a new one when a round has failed |
| Plan4MC | a search over a graph of skills, from the present to the final facts, in each round; no model |
"""

from collections import deque
from collections.abc import Sequence

from rl_models.chat.client import RejectedReplyError
from rl_models.planners.calling import Call, Caller, Stage
from rl_models.planners.domain import Domain, Skill
from rl_models.planners.offline_reading import normalised
from rl_models.planners.replies import LinesReply

GOALS = Stage("goals", LinesReply)


class GoalGenerator:
    """Chooses goals for worlds by their numbers; this base class, SAMA's, leaves them to the decomposition."""

    def goals(self, worlds: Sequence[int], states: Sequence[str]) -> list[str | None]:
        """The goal of each world's next round; None leaves it to the decomposition."""
        return [None] * len(worlds)

    def after_round(self, world: int, goal: str | None, is_reached: bool) -> None:
        """Called with a world's finished round, and the goal that it was planned for."""

    def begin_episode(self, world: int) -> None:
        """Reset a world's state for a new episode."""


_DEPS_GOALS = 12
"""Number of goals in a list of DEPS."""


class DepsGoals(GoalGenerator):
    """A list of goals for each world, used in order."""

    def __init__(self, caller: Caller, domain: Domain, manual: str | None = None) -> None:
        self._caller, self._domain = caller, domain
        self._manual = manual or domain.manual
        self._lists: dict[int, deque[str]] = {}
        self._failed: dict[int, str] = {}

    def begin_episode(self, world: int) -> None:
        """See `GoalGenerator.begin_episode`."""
        self._lists.pop(world, None)
        self._failed.pop(world, None)

    def after_round(self, world: int, goal: str | None, is_reached: bool) -> None:
        """Go on to the next goal, or drop the list and remember the goal that failed.

        A round that only repeats an earlier allocation was for the previous goal of the list, so the present goal is
        not done.
        """
        goals = self._lists[world]
        if is_reached:
            if goals and goals[0] == goal:
                goals.popleft()
            self._failed.pop(world, None)
        else:
            self._failed[world] = goal or "none"
            goals.clear()

    def goals(self, worlds: Sequence[int], states: Sequence[str]) -> list[str | None]:
        """See `GoalGenerator.goals`; worlds without a list get one."""
        empty = [place for place, world in enumerate(worlds) if not self._lists.get(world)]
        calls = [self._call(worlds[place], states[place]) for place in empty]
        for place, answer in zip(empty, self._caller.call(GOALS, calls), strict=True):
            self._lists[worlds[place]] = deque(answer.value)
        return [self._lists[world][0] for world in worlds]

    def _call(self, world: int, state: str) -> Call[LinesReply, tuple[str, ...]]:
        return Call(
            values={
                "manual": self._manual,
                "situation": self._domain.situation(state),
                "agents": "; ".join(self._domain.statuses(state)),
                "goals": ", ".join(self._domain.goals),
                "length": str(_DEPS_GOALS),
                "failed": self._failed.get(world, "none"),
            },
            rule=lambda: LinesReply(lines=list(self._domain.goal_list(state, _DEPS_GOALS))),
            check=self._read,
        )

    def _read(self, reply: LinesReply) -> tuple[str, ...]:
        agents = self._domain.agents
        known = {normalised(goal, agents): goal for goal in self._domain.goals}
        lines = [normalised(line, agents) for line in reply.lines]
        if not lines or not known.keys() >= set(lines):
            raise RejectedReplyError(f"each line must be one of the goals {', '.join(self._domain.goals)}")
        return tuple(known[line] for line in lines[:_DEPS_GOALS])


class Plan4McGoals(GoalGenerator):
    """A search over the domain's skills."""

    def __init__(self, domain: Domain) -> None:
        """Take the graph of a domain."""
        self._domain = domain

    def goals(self, worlds: Sequence[int], states: Sequence[str]) -> list[str | None]:
        """See `GoalGenerator.goals`: the first skill on a shortest way, None if there is none."""
        return [
            first_skill(self._domain.skills, self._domain.facts(state), self._domain.final_facts) for state in states
        ]


def first_skill(skills: Sequence[Skill], facts: frozenset[str], wanted: frozenset[str]) -> str | None:
    """Goal of the first skill on a shortest way from facts to wanted facts (breadth first); facts only grow."""
    ahead: deque[tuple[frozenset[str], str | None]] = deque([(facts, None)])
    seen = {facts}
    while ahead:
        now, first = ahead.popleft()
        if wanted <= now:
            return first
        for skill in skills:
            then = now | skill.gives
            if skill.needs <= now and then not in seen:
                seen.add(then)
                ahead.append((then, first or skill.goal))
    return None
