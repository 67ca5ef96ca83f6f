"""A planner whose language model generates no text but scores possible sub-goals (SayCan, TWOSOME).

Agents get their sub-goals one after another; each prompt contains those of the agents before. Requests and replies go
through the same record and transcript as those of a generating model.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from rl_models.chat.exchange import ChatReply, ChatRequest, Message, Outcome
from rl_models.planners.briefing import Briefing, command_examples
from rl_models.planners.calling import Call, Caller, Stage
from rl_models.planners.domain import Domain, SubgoalTexts
from rl_models.planners.offline import OfflineBackend
from rl_models.planners.planner import Planner
from rl_models.planners.plans import Memory, Plan, Round
from rl_models.planners.replies import ScoredReply

SUBGOAL = Stage("subgoal", ScoredReply)
ScoringQuestion: TypeAlias = "tuple[tuple[Message, ...], SubgoalTexts]"
"""A conversation, and the phrases that may continue it."""


@dataclass(frozen=True)
class Scored:
    """Scores of the phrases of one question, and the number of tokens that were read."""

    scores: tuple[float, ...]
    tokens: int


Scorer: TypeAlias = Callable[[Sequence[ScoringQuestion]], list[Scored]]


class ScoredBackend:
    """A `Transport` that answers with the sub-goal of the highest score, and by rule in all other stages."""

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer

    def prepare(self, requests: Sequence[ChatRequest]) -> None:
        """Score all of these in one batch; the scorer caches the result."""
        self._scorer([_question(request) for request in requests if request.stage == SUBGOAL.name])

    def complete(self, request: ChatRequest) -> Outcome:
        """Answer one request, the same way each time."""
        if request.stage != SUBGOAL.name:
            return OfflineBackend().complete(request)
        (found,) = self._scorer([_question(request)])
        scores = dict(zip(request.choices, found.scores, strict=True))
        best = max(scores, key=scores.__getitem__)
        return ChatReply(ScoredReply(subgoal=best, scores=scores).model_dump_json(), prompt_tokens=found.tokens)


def _question(request: ChatRequest) -> ScoringQuestion:
    lead = Message("assistant", f"{request.context} should")
    return (*request.messages, lead), request.choices


class ScoredPlanner(Planner):
    """Chooses the sub-goals of agents one at a time."""

    def __init__(self, caller: Caller, domain: Domain, briefing: Briefing | None = None) -> None:
        """See `Planner`; prompts list the sub-goals that are possible now."""
        briefing = briefing or Briefing(domain.manual, domain.objects)
        super().__init__(caller, domain, briefing)
        self._commands = command_examples(domain, briefing.shots)

    def plan(
        self, states: Sequence[str], goals: Sequence[str | None] | None = None, memories: Sequence[Memory] | None = None
    ) -> list[Plan]:
        """See `Planner.plan`; a goal that is not given stays empty, and the only possible sub-goal is not asked for."""
        goals = goals or [None] * len(states)
        memories = memories or [Memory() for _ in states]
        given: list[SubgoalTexts] = [() for _ in states]
        for _ in self.domain.agents:
            options = [self._options(*one) for one in zip(states, given, memories, strict=True)]
            asked = zip(states, goals, memories, given, options, strict=True)
            answers = iter(self.caller.call(SUBGOAL, [self._subgoal_call(*one) for one in asked if len(one[-1]) > 1]))
            given = [
                (*before, next(answers).value if len(some) > 1 else some[0])
                for before, some in zip(given, options, strict=True)
            ]
        order = tuple(range(len(self.domain.agents)))
        return [
            Plan(state, goal or "", texts, order, texts)
            for state, goal, texts in zip(states, goals, given, strict=True)
        ]

    def revise(self, failed: Sequence[Round]) -> list[Plan]:
        """See `Planner.revise`: the failed plan is remembered and not repeated; no reason is given."""
        for one in failed:
            self._remember(one, "allocation", "none, sub-goals are scored")
        return self.plan(
            [one.plan.state for one in failed], [one.goal for one in failed], [one.memory for one in failed]
        )

    def _subgoal_call(
        self, state: str, goal: str | None, memory: Memory, given: SubgoalTexts, options: SubgoalTexts
    ) -> Call[ScoredReply, str]:
        domain, number = self.domain, len(given)
        agent = domain.agents[number]
        told = " ".join(f"{name} should {text}." for name, text in zip(domain.agents, given, strict=False))
        return Call(
            values={
                **self._shared,
                "examples": self._commands,
                "situation": domain.situation(state),
                "agents": "; ".join(domain.statuses(state)),
                "goal": goal or "what helps the team most",
                "failed": memory.describe(),
                "told": told or "nothing",
                "agent": agent,
            },
            rule=lambda: ScoredReply(subgoal=self._by_rule(state, goal, memory)[number]),
            check=lambda reply: self._match(reply.subgoal),
            choices=options,
            agent=agent,
        )

    def _options(self, state: str, given: SubgoalTexts, memory: Memory) -> SubgoalTexts:
        """Sub-goals that the next agent can begin now, except those that would repeat a failed plan."""
        options = self.domain.possible_subgoals(state, len(given), given)
        failed, decomposed = memory.failed_allocations(), memory.failed_decompositions()
        plans = {text: (*given, text) for text in options}
        fresh = [text for text, one in plans.items() if one not in failed and tuple(sorted(one)) not in decomposed]
        return tuple(fresh) or options

    def _by_rule(self, state: str, goal: str | None, memory: Memory) -> SubgoalTexts:
        subgoals = self.domain.decompose(state, goal, memory.failed_decompositions()).subgoals
        order = self.domain.allocate(state, subgoals, memory.failed_allocations()).order
        return tuple(subgoals[place] for place in order)
