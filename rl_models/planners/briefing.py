"""Description of the game in the planner's prompts: its manual, its objects, and worked examples.

Examples are states of the domain, answered by its rules.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rl_models.planners.domain import Decomposition, Domain

_SEED = 1


@dataclass(frozen=True)
class Briefing:
    """Description of the game in every prompt of the planner.

    Attributes:
        manual: the rules and the map.
        objects: objects of the game; empty if they were not extracted (SAMA's ablation), and then the valid sub-goals
            are not listed either.
        shots: examples shown with each question.
    """

    manual: str
    objects: tuple[str, ...]
    shots: int = 1

    def elements(self) -> str:
        """Objects of the game, as listed in prompts."""
        return ", ".join(self.objects) or "whatever the manual names"

    def listed(self, domain: Domain) -> str:
        """Valid sub-goals, as listed in prompts."""
        if not self.objects:
            return "- whatever the manual allows one agent to do"
        return "\n".join(f"- {text}" for text in domain.subgoals)


def decomposition_examples(domain: Domain, shots: int) -> str:
    """Situations with goals and sub-goals."""

    def write(state: str, agents: str, found: Decomposition) -> str:
        answer = {"thoughts": found.thoughts, "goal": found.goal, "subgoals": list(found.subgoals)}
        return f"Situation: {domain.situation(state)}\nAgents: {agents}.\nAnswer: {json.dumps(answer)}"

    return _examples(domain, shots, write)


def allocation_examples(domain: Domain, shots: int) -> str:
    """Sub-goals with their allocation to agents."""

    def write(state: str, agents: str, found: Decomposition) -> str:
        allocated = domain.allocate(state, found.subgoals, ())
        answer = {"thoughts": allocated.thoughts, "numbers": [place + 1 for place in allocated.order]}
        return f"Agents: {agents}.\nSub-goals:\n{numbered(found.subgoals)}\nAnswer: {json.dumps(answer)}"

    return _examples(domain, shots, write)


def command_examples(domain: Domain, shots: int) -> str:
    """Situations with what each agent should do."""

    def write(state: str, agents: str, found: Decomposition) -> str:
        pairs = zip(domain.agents, domain.allocate(state, found.subgoals, ()).order, strict=True)
        commands = " ".join(f"{agent} should {found.subgoals[place]}." for agent, place in pairs)
        return f"Situation: {domain.situation(state)}\nAgents: {agents}.\n{commands}"

    return _examples(domain, shots, write)


def numbered(texts: Sequence[str]) -> str:
    """Texts as a list that is numbered from 1."""
    return "\n".join(f"{number}. {text}" for number, text in enumerate(texts, start=1))


def _examples(domain: Domain, shots: int, write: Callable[[str, str, Decomposition], str]) -> str:
    """What `write` makes of states, their agents and decompositions by rule."""
    states = domain.diverse_states(shots, _SEED) if shots else []
    return (
        "\n\n".join(
            write(state, "; ".join(domain.statuses(state)), domain.decompose(state, None, ())) for state in states
        )
        or "none"
    )
