"""The planner's backend without a language model: rules of the domain, answered as text like any model's reply.

So prompts, forms, checks, record and transcript are the same with and without a model.
"""

from __future__ import annotations

from functools import singledispatchmethod
from typing import Any, cast

from rl_models.chat.exchange import ChatFailure, ChatReply, ChatRequest, Outcome
from rl_models.planners import offline_reading
from rl_models.planners.domain import Domain, RewardDomain
from rl_models.planners.replies import (
    AllocationReply,
    AskAllocation,
    AskDecomposition,
    AskFacts,
    AskFault,
    AskGoals,
    AskGroups,
    AskObjects,
    AskRelevance,
    AskReward,
    AskSentence,
    AskStates,
    AskSummary,
    CodeReply,
    DecompositionReply,
    FaultReply,
    GroupsReply,
    LinesReply,
    RelevanceReply,
    Reply,
    SentenceReply,
    StatesReply,
)

MODEL = "offline"


class OfflineBackend:
    """A `Transport` that answers by rule from a request's context."""

    def __init__(self, domain: Domain) -> None:
        """Take the rules of a domain."""
        self._domain = domain

    def complete(self, request: ChatRequest) -> Outcome:
        """Answer one request, the same way each time."""
        if request.context is None:
            return ChatFailure("rules cannot answer a question without its context")
        return ChatReply(self.reply(request.context).model_dump_json())

    @singledispatchmethod
    def reply(self, ask: Any) -> Reply:
        """The reply to a context; see the methods below."""
        raise TypeError(f"there is no rule for {type(ask).__name__}")

    @reply.register
    def _(self, ask: AskRelevance) -> Reply:
        return RelevanceReply(relevant=offline_reading.is_relevant(ask.paragraph, self._domain.objects))

    @reply.register
    def _(self, ask: AskFacts) -> Reply:
        return LinesReply(lines=offline_reading.facts(ask.paragraph, ask.question, self._domain))

    @reply.register
    def _(self, ask: AskSummary) -> Reply:
        return LinesReply(lines=offline_reading.summary(ask.facts, self._domain.agents))

    @reply.register
    def _(self, ask: AskObjects) -> Reply:
        return LinesReply(lines=offline_reading.objects(ask.manual, self._domain.objects))

    @reply.register
    def _(self, ask: AskGroups) -> Reply:
        return GroupsReply(groups=offline_reading.groups(ask.texts, self._domain.agents))

    @reply.register
    def _(self, ask: AskSentence) -> Reply:
        return SentenceReply(sentence=self._domain.situation(ask.state))

    @reply.register
    def _(self, ask: AskStates) -> Reply:
        return StatesReply(states=self._domain.diverse_states(ask.count, ask.seed))

    @reply.register
    def _(self, ask: AskGoals) -> Reply:
        return LinesReply(lines=list(self._domain.goal_list(ask.state, ask.length)))

    @reply.register
    def _(self, ask: AskDecomposition) -> Reply:
        found = self._domain.decompose(ask.state, ask.goal, ask.failed)
        return DecompositionReply(thoughts=found.thoughts, goal=found.goal, subgoals=list(found.subgoals))

    @reply.register
    def _(self, ask: AskAllocation) -> Reply:
        found = self._domain.allocate(ask.state, ask.subgoals, ask.failed)
        return AllocationReply(thoughts=found.thoughts, numbers=[place + 1 for place in found.order])

    @reply.register
    def _(self, ask: AskFault) -> Reply:
        found = self._domain.find_fault(ask.state, ask.subgoals, ask.order)
        return FaultReply(thoughts=found.thoughts, phase=found.phase)

    @reply.register
    def _(self, ask: AskReward) -> Reply:
        return CodeReply(code=cast(RewardDomain, self._domain).code(ask.subgoal))
