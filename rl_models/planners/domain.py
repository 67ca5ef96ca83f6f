"""Interface of an environment for the planner: texts, and rules for the planner without a language model.

Everything is text or small records. An experiment builds a domain for its environment and passes it to the planner.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from numpy.typing import NDArray

from rl_models.planners.replies import Fault

SubgoalTexts: TypeAlias = tuple[str, ...]
SubgoalTest: TypeAlias = Callable[[Any, Any], NDArray[Any]]
"""(previous, current), states of B worlds -> [B, N] bool, whether each agent has reached a sub-goal between them."""


class StateTextError(ValueError):
    """A text is no valid state; the message is a clause that says why and may be sent to a model."""


@dataclass(frozen=True)
class Skill:
    """A node of Plan4MC's graph: a goal, its preconditions (`needs`) and its effects (`gives`)."""

    goal: str
    needs: frozenset[str]
    gives: frozenset[str]


@dataclass(frozen=True)
class Decomposition:
    """A goal of the team and one sub-goal per agent, not yet allocated."""

    thoughts: str
    goal: str
    subgoals: SubgoalTexts


@dataclass(frozen=True)
class Allocation:
    """Allocation of sub-goals: for each agent the index of its sub-goal in the decomposition."""

    thoughts: str
    order: tuple[int, ...]


class Domain(Protocol):
    """An environment described as text, with rules."""

    name: str
    agents: tuple[str, ...]
    """Name of each agent: a word or more, and perhaps its number."""
    manual: str
    """Rules of the game and map, used where no other manual is given."""
    objects: tuple[str, ...]
    """Objects that agents can act on, in the manual's words."""
    goal_verbs: tuple[str, ...]
    """Verbs for the aim of the game, beside the usual ones (`win`)."""
    action_verbs: tuple[str, ...]
    """Verbs for actions of an agent, beside the usual ones (`move`)."""
    goals: tuple[str, ...]
    subgoals: SubgoalTexts
    """All commands that agents can be given."""
    skills: tuple[Skill, ...]
    final_facts: frozenset[str]
    """Facts that the last skills produce."""

    def situation(self, state: str) -> str:
        """The state of the world as one sentence, without the agents."""

    def statuses(self, state: str) -> tuple[str, ...]:
        """One clause about each agent."""

    def facts(self, state: str) -> frozenset[str]:
        """Facts that hold in a state, in the words of the skills."""

    def diverse_states(self, count: int, seed: int) -> list[str]:
        """Diverse legal states."""

    def goal_list(self, state: str, length: int) -> tuple[str, ...]:
        """Goals to reach one after another, from this state on."""

    def decompose(self, state: str, goal: str | None, failed: Collection[SubgoalTexts]) -> Decomposition:
        """The best or the given goal, and sub-goals that can begin now; failed (sorted) ones are excluded."""

    def possible_subgoals(self, state: str, agent: int, given: Sequence[str]) -> SubgoalTexts:
        """Sub-goals that an agent can begin now, at least one, while the others pursue theirs."""

    def allocate(self, state: str, subgoals: Sequence[str], failed: Collection[SubgoalTexts]) -> Allocation:
        """The cheapest allocation of the sub-goals; failed ones (sub-goals in the agents' order) are excluded."""

    def find_fault(self, state: str, subgoals: Sequence[str], order: Sequence[int]) -> Fault:
        """Whether a plan failed by its sub-goals or by their allocation."""


class RewardDomain(Domain, Protocol):
    """A domain for whose sub-goals a model can write rewards."""

    tests: Mapping[str, SubgoalTest]
    """The built-in test of each sub-goal, by its text."""
    earlier: str
    """Age of the previous state in a sub-goal's test, in words: `one step earlier`."""

    def as_json(self, state: str, agent: int) -> Any:
        """The state as model-written reward functions see it."""

    def code(self, subgoal: str) -> str:
        """A Python function `reward(previous, current)` over `as_json` that returns whether a sub-goal is reached."""


class TrainingDomain(RewardDomain, Protocol):
    """A domain for which a model can generate states, for training."""

    def check(self, state: str) -> str:
        """A state in the environment's own form; raises StateTextError with the reason."""
