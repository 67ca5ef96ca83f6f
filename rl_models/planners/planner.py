"""Goal generation with decomposition, allocation and reflection (SAMA, sections 3.2 and 3.4, appendix F.6).

All methods take many worlds at once, and every answer is either a model's that passed its check or the rules'.
"""

import itertools
from collections.abc import Callable, Sequence

from rl_models.chat.client import Answer, RejectedReplyError
from rl_models.planners.briefing import Briefing, allocation_examples, decomposition_examples, numbered
from rl_models.planners.calling import Call, Caller, Stage
from rl_models.planners.domain import Allocation, Decomposition, Domain, SubgoalTexts
from rl_models.planners.offline_reading import normalised
from rl_models.planners.plans import Failure, Memory, Plan, Round
from rl_models.planners.replies import AllocationReply, DecompositionReply, Fault, Phase

DECOMPOSITION = Stage("decomposition", DecompositionReply)
ALLOCATION = Stage("allocation", AllocationReply)
FAULT = Stage("fault", Fault)


class Planner:
    """Makes plans for worlds of one domain; the caller holds counts and transcript."""

    def __init__(
        self,
        caller: Caller,
        domain: Domain,
        briefing: Briefing | None = None,
        translate: Callable[[Sequence[str]], list[str]] | None = None,
    ) -> None:
        """Bind a backend and a domain, whose own manual, objects and translation of state texts are the defaults."""
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
        """A plan for each state text, for the given goals or its own, in view of the latest failures of each world."""
        goals = goals or [None] * len(states)
        memories = memories or [Memory() for _ in states]
        parts = self._decompose(states, goals, memories)
        return self._allocate(states, [answer.value for answer in parts], memories)

    def revise(self, failed: Sequence[Round]) -> list[Plan]:
        """Another plan for each round that failed, from its start: find the fault, remember it, and plan again."""
        calls = [self._fault_call(one.plan, one.reached, one.memory) for one in failed]
        for one, answer in zip(failed, self.caller.call(FAULT, calls), strict=True):
            self._remember(one, self._phase(one, answer.value), answer.value.thoughts)
        again = [one for one in failed if one.memory.failures[-1].phase == "decomposition"]
        others = [one for one in failed if one.memory.failures[-1].phase == "allocation"]
        replanned = iter(
            self.plan([one.plan.state for one in again], [one.goal for one in again], [one.memory for one in again])
        )
        kept = [Decomposition("", one.plan.goal, one.plan.subgoals) for one in others]
        changed = iter(self._allocate([one.plan.state for one in others], kept, [one.memory for one in others]))
        return [next(replanned if one.memory.failures[-1].phase == "decomposition" else changed) for one in failed]

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

        def rule() -> DecompositionReply:
            found = self.domain.decompose(state, goal, failed)
            return DecompositionReply(thoughts=found.thoughts, goal=found.goal, subgoals=list(found.subgoals))

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
            rule=rule,
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

        def rule() -> AllocationReply:
            found = self.domain.allocate(state, part.subgoals, failed)
            return AllocationReply(thoughts=found.thoughts, numbers=[place + 1 for place in found.order])

        return Call(
            values={
                **self._shared,
                "examples": self._allocations,
                "situation": self.domain.situation(state),
                "agents": "; ".join(self.domain.statuses(state)),
                "subgoals": numbered(part.subgoals),
                "failed": memory.describe(),
            },
            rule=rule,
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

    def _fault_call(self, plan: Plan, reached: Sequence[bool], memory: Memory) -> Call[Fault, Fault]:
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
            rule=lambda: self.domain.find_fault(plan.state, plan.subgoals, plan.order),
            check=lambda fault: fault,
        )

    def _phase(self, failed: Round, fault: Fault) -> Phase:
        """The phase at fault, unless all allocations of these sub-goals have failed: then the decomposition."""
        tried = failed.memory.failed_allocations() | {failed.plan.allocated}
        return "decomposition" if set(itertools.permutations(failed.plan.subgoals)) <= tried else fault.phase

    def _remember(self, failed: Round, phase: Phase, thoughts: str) -> None:
        failed.memory.failures.append(Failure(failed.plan, phase))
        lines = [f"failed: {'; '.join(failed.plan.commands)}", f"at fault: {phase}", f"thoughts: {thoughts}"]
        self.caller.transcript.add_note("Reflection", lines)
