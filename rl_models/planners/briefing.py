"""Description of the game in the planner's prompts: its manual, its objects, and worked examples.

Examples are states of the domain, answered by its rules.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from rl_models.planners.domain import Domain

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
    parts = []
    for state in _states(domain, shots):
        found = domain.decompose(state, None, ())
        answer = {"thoughts": found.thoughts, "goal": found.goal, "subgoals": list(found.subgoals)}
        agents = "; ".join(domain.statuses(state))
        parts.append(f"Situation: {domain.situation(state)}\nAgents: {agents}.\nAnswer: {json.dumps(answer)}")
    return "\n\n".join(parts) or "none"


def allocation_examples(domain: Domain, shots: int) -> str:
    """Sub-goals with their allocation to agents."""
    parts = []
    for state in _states(domain, shots):
        subgoals = domain.decompose(state, None, ()).subgoals
        found = domain.allocate(state, subgoals, ())
        answer = {"thoughts": found.thoughts, "numbers": [place + 1 for place in found.order]}
        agents = "; ".join(domain.statuses(state))
        parts.append(f"Agents: {agents}.\nSub-goals:\n{numbered(subgoals)}\nAnswer: {json.dumps(answer)}")
    return "\n\n".join(parts) or "none"


def command_examples(domain: Domain, shots: int) -> str:
    """Situations with what each agent should do."""
    parts = []
    for state in _states(domain, shots):
        subgoals = domain.decompose(state, None, ()).subgoals
        order = domain.allocate(state, subgoals, ()).order
        commands = " ".join(
            f"{agent} should {subgoals[place]}." for agent, place in zip(domain.agents, order, strict=True)
        )
        parts.append(f"Situation: {domain.situation(state)}\nAgents: {'; '.join(domain.statuses(state))}.\n{commands}")
    return "\n\n".join(parts) or "none"


def numbered(texts: Sequence[str]) -> str:
    """Texts as a list that is numbered from 1."""
    return "\n".join(f"{number}. {text}" for number, text in enumerate(texts, start=1))


def _states(domain: Domain, shots: int) -> list[str]:
    return domain.diverse_states(shots, _SEED) if shots else []
