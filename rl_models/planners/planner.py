"""Goal generation with decomposition, allocation and reflection (SAMA, sections 3.2 and 3.4, appendix F.6).

All methods take many worlds at once, and every answer is either a model's that passed its check or the rules'.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from rl_models.chat.client import Answer, RejectedReplyError
from rl_models.planners.briefing import Briefing, allocation_examples, decomposition_examples, numbered
from rl_models.planners.calling import Call, Caller, Stage
from rl_models.planners.domain import Allocation, Decomposition, Domain, Fault, Phase, SubgoalTexts
from rl_models.planners.offline_reading import normalised
from rl_models.planners.plans import Failure, Memory, Plan
from rl_models.planners.replies import (
    AllocationReply,
    AskAllocation,
    AskDecomposition,
    AskFault,
    DecompositionReply,
    FaultReply,
)

DECOMPOSITION = Stage("decomposition", DecompositionReply)
ALLOCATION = Stage("allocation", AllocationReply)
FAULT = Stage("fault", FaultReply)


class Planner:
    """Makes plans for worlds of one domain.

    Attributes:
        domain: description of the environment.
        caller: makes the calls; it holds their counts and transcript.
        manual: manual of the game in prompts.
    """

    def __init__(
        self,
        caller: Caller,
        domain: Domain,
        briefing: Briefing | None = None,
        translate: Callable[[Sequence[str]], list[str]] | None = None,
    ) -> None:
        """Bind a backend and a domain.

        Args:
            caller: sends the questions to the backend.
            domain: description of the environment, and its rules.
            briefing: description of the game in prompts; the domain's own manual and objects if there is none.
            translate: state texts to sentences; the domain's own if there is none.
        """
        self.domain, self.caller = domain, caller
        briefing = briefing or Briefing(domain.manual, domain.objects)
        self.manual = briefing.manual
        self._translate = translate or (lambda states: [domain.situation(state) for state in states])
        self._valid = {normalised(text, domain.agents): text for text in domain.subgoals}
        self._shared = {"manual": briefing.manual, "number": str(len(domain.agents))}
        self._offered = {"elements": briefing.elements(), "subgoals": briefing.listed(domain)}
        self._decompositions = decomposition_examples(domain, briefing.shots)
        self._allocations = allocation_examples(domain, briefing.shots)

    def plan(
        self, states: Sequence[str], goals: Sequence[str | None] | None = None, memories: Sequence[Memory] | None = None
    ) -> list[Plan]:
        """A plan for each state.

        Args:
            states: texts in the environment's form.
            goals: goals to decompose; none where the model is to choose one.
            memories: latest failures of each world.
        """
        goals = goals or [None] * len(states)
        memories = memories or [Memory() for _ in states]
        parts = self._decompose(states, goals, memories)
        return self._allocate(states, [answer.value for answer in parts], memories)

    def reflect(
        self,
        plans: Sequence[Plan],
        reached: Sequence[Sequence[bool]],
        memories: Sequence[Memory],
        goals: Sequence[str | None] | None = None,
    ) -> list[Plan]:
        """Find the faults of failed plans, store them in memory, and plan again for the same states.

        Args:
            plans: plans that failed.
            reached: whether each agent reached its sub-goal, for each plan.
            memories: memories of the worlds; the failure is added to each.
            goals: goals of plans that are decomposed again; None where the planner is to choose.
        """
        goals = goals or [None] * len(plans)
        faults = self._find_faults(plans, reached, memories)
        for plan, fault, memory in zip(plans, faults, memories, strict=True):
            memory.failures.append(Failure(plan, self._phase(plan, fault, memory)))
            self._note_reflection(plan, fault, memory)
        revised = list(plans)
        again = [index for index, memory in enumerate(memories) if memory.failures[-1].phase == "decomposition"]
        replanned = self.plan([plans[i].state for i in again], [goals[i] for i in again], [memories[i] for i in again])
        for index, plan in zip(again, replanned, strict=True):
            revised[index] = plan
        others = [index for index in range(len(plans)) if index not in again]
        kept = [Decomposition("", plans[index].goal, plans[index].subgoals) for index in others]
        changed = self._allocate([plans[i].state for i in others], kept, [memories[i] for i in others])
        for index, plan in zip(others, changed, strict=True):
            revised[index] = plan
        return revised

    # ----------------------------------------------------------------------- decomposition

    def _decompose(
        self, states: Sequence[str], goals: Sequence[str | None], memories: Sequence[Memory]
    ) -> list[Answer[Decomposition]]:
        situations = self._translate(states)
        calls = [
            self._decomposition_call(state, situation, goal, memory)
            for state, situation, goal, memory in zip(states, situations, goals, memories, strict=True)
        ]
        return self.caller.call(DECOMPOSITION, calls)

    def _decomposition_call(
        self, state: str, situation: str, goal: str | None, memory: Memory
    ) -> Call[DecompositionReply, Decomposition]:
        failed = memory.failed_decompositions()
        return Call(
            values={
                **self._shared,
                **self._offered,
                "examples": self._decompositions,
                "situation": situation,
                "agents": "; ".join(self.domain.statuses(state)),
                "goal": goal or "yours to choose",
                "failed": memory.describe(),
            },
            context=AskDecomposition(state, goal, failed),
            check=lambda reply: self._read_decomposition(reply, goal, memory),
            fallback=lambda: self.domain.decompose(state, goal, failed),
        )

    def _read_decomposition(self, reply: DecompositionReply, goal: str | None, memory: Memory) -> Decomposition:
        wanted = len(self.domain.agents)
        if len(reply.subgoals) != wanted:
            raise RejectedReplyError(f"it holds {len(reply.subgoals)} sub-goals and {wanted} are wanted")
        texts = tuple(self._match(text) for text in reply.subgoals)
        found = Decomposition(reply.thoughts, goal or " ".join(reply.goal.split()), texts)
        if tuple(sorted(texts)) in memory.failed_decompositions():
            raise RejectedReplyError("it repeats sub-goals that have failed")
        return found

    def _match(self, text: str) -> str:
        """The valid sub-goal that matches a text."""
        words = normalised(text, self.domain.agents)
        if words in self._valid:
            return self._valid[words]
        names = set(words.split())
        within = [valid for plain, valid in self._valid.items() if set(plain.split()) <= names]
        if len(within) == 1:
            return within[0]
        raise RejectedReplyError("a sub-goal is not one of the valid ones: write it as it is listed")

    # -------------------------------------------------------------------------- allocation

    def _allocate(
        self, states: Sequence[str], parts: Sequence[Decomposition], memories: Sequence[Memory]
    ) -> list[Plan]:
        calls = [
            self._allocation_call(state, part, memory)
            for state, part, memory in zip(states, parts, memories, strict=True)
        ]
        answers = self.caller.call(ALLOCATION, calls)
        plans = []
        for state, part, answer in zip(states, parts, answers, strict=True):
            order = answer.value.order
            commands = tuple(part.subgoals[place] for place in order)
            plans.append(Plan(state, part.goal, part.subgoals, order, commands))
        return plans

    def _allocation_call(self, state: str, part: Decomposition, memory: Memory) -> Call[AllocationReply, Allocation]:
        failed = memory.failed_allocations()
        return Call(
            values={
                **self._shared,
                "examples": self._allocations,
                "situation": self.domain.situation(state),
                "agents": "; ".join(self.domain.statuses(state)),
                "subgoals": numbered(part.subgoals),
                "failed": memory.describe(),
            },
            context=AskAllocation(state, part.subgoals, failed),
            check=lambda reply: self._read_allocation(reply, part.subgoals, memory),
            fallback=lambda: self.domain.allocate(state, part.subgoals, failed),
        )

    def _read_allocation(self, reply: AllocationReply, subgoals: SubgoalTexts, memory: Memory) -> Allocation:
        if sorted(reply.numbers) != list(range(1, len(subgoals) + 1)):
            raise RejectedReplyError(f"it must give each of the numbers 1 to {len(subgoals)} to one agent")
        order = tuple(number - 1 for number in reply.numbers)
        if tuple(subgoals[place] for place in order) in memory.failed_allocations():
            raise RejectedReplyError("it repeats an allocation that has failed")
        return Allocation(reply.thoughts, order)

    # -------------------------------------------------------------------------- reflection

    def _find_faults(
        self, plans: Sequence[Plan], reached: Sequence[Sequence[bool]], memories: Sequence[Memory]
    ) -> list[Fault]:
        calls = [
            self._fault_call(plan, done, memory) for plan, done, memory in zip(plans, reached, memories, strict=True)
        ]
        return [answer.value for answer in self.caller.call(FAULT, calls)]

    def _fault_call(self, plan: Plan, reached: Sequence[bool], memory: Memory) -> Call[FaultReply, Fault]:
        results = [
            f"{agent}: {text} - {'reached' if done else 'not reached'}"
            for agent, text, done in zip(self.domain.agents, plan.commands, reached, strict=True)
        ]
        return Call(
            values={
                **self._shared,
                "situation": self.domain.situation(plan.state),
                "agents": "; ".join(self.domain.statuses(plan.state)),
                "goal": plan.goal,
                "subgoals": numbered(plan.subgoals),
                "results": "\n".join(results),
                "failed": memory.describe(),
            },
            context=AskFault(plan.state, plan.subgoals, plan.order),
            check=lambda reply: Fault(reply.thoughts, reply.phase),
            fallback=lambda: self.domain.find_fault(plan.state, plan.subgoals, plan.order),
        )

    def _phase(self, plan: Plan, fault: Fault, memory: Memory) -> Phase:
        """The phase at fault, unless all allocations of these sub-goals have failed: then the decomposition."""
        tried = memory.failed_allocations() | {plan.allocated}
        return "decomposition" if set(itertools.permutations(plan.subgoals)) <= tried else fault.phase

    def _note_reflection(self, plan: Plan, fault: Fault, memory: Memory) -> None:
        failure = memory.failures[-1]
        lines = [f"failed: {'; '.join(plan.commands)}", f"at fault: {failure.phase}", f"thoughts: {fault.thoughts}"]
        self.caller.transcript.add_note("Reflection", lines)
