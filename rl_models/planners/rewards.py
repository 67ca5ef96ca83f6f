"""Reward design: for each sub-goal a test that returns 0 or 1 (SAMA, section 3.3), from one of two sources.

| source | who writes it | how it runs |
|---|---|---|
| `builtin` | we, with the domain | a function of batched states |
| `code` | the model, in Python | in the sandbox's process, on the states as JSON |

Model-written code is used only after it has agreed with the built-in test on transitions of rollouts; a failed check is
reported to the model for another attempt, and finally the built-in test is used.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, TypeAlias

import numpy as np

from rl_models.chat.client import RejectedReplyError
from rl_models.planners.calling import Call, Caller, Stage
from rl_models.planners.code_index import CodeIndex, format_documents
from rl_models.planners.domain import RewardDomain
from rl_models.planners.replies import CodeReply
from rl_models.planners.sandbox.qualification import KnownPairs, qualify
from rl_models.planners.sandbox.rules import UnsafeCodeError, check_source

RewardSource: TypeAlias = Literal["builtin", "code"]
CODE = Stage("code", CodeReply, max_tokens=1_200)
_MAX_PAIRS = 200
"""Largest number of pairs of each kind on which code is tried."""


@dataclass(frozen=True)
class Transitions:
    """States before and after env steps of rollouts, for trials.

    Attributes:
        previous: states of B worlds, in the form that built-in tests take.
        current: after one env step.
        texts: both states of each world as text.
    """

    previous: Any
    current: Any
    texts: tuple[tuple[str, str], ...]

    @classmethod
    def join(cls, previous: Sequence[Any], current: Sequence[Any], texts: Sequence[tuple[str, str]]) -> Self:
        """Those of several steps, from their states, name -> [B, ...], before and after."""
        before, after = (
            {name: np.concatenate([moment[name] for moment in moments]) for name in moments[0]}
            for moments in (previous, current)
        )
        return cls(before, after, tuple(texts))


@dataclass(frozen=True)
class DesignedReward:
    """A model's test of one sub-goal.

    Attributes:
        subgoal: text of the sub-goal.
        code: Python; empty if none passed, so that the built-in test is used instead.
        rejections: why earlier ones were not used.
    """

    subgoal: str
    code: str = ""
    rejections: tuple[str, ...] = ()


class RewardDesigner:
    """Makes tests for the sub-goals of one domain."""

    def __init__(
        self,
        caller: Caller,
        domain: RewardDomain,
        transitions: Transitions,
        manual: str | None = None,
        index: CodeIndex | None = None,
    ) -> None:
        """Bind a backend, a domain, and play to try rewards on."""
        self._caller, self._domain, self._transitions = caller, domain, transitions
        self._manual, self._index = manual or domain.manual, index or CodeIndex(())

    def design(self, subgoals: Sequence[str]) -> list[DesignedReward]:
        """The model's test for each sub-goal, in their order; the built-in one where none of the model's passes."""
        previous, current = self._transitions.texts[0]
        example = json.dumps([self._domain.as_json(previous, 0), self._domain.as_json(current, 0)])
        calls = [self._code_call(text, example) for text in subgoals]
        answers = self._caller.call(CODE, calls)
        designed = [replace(answer.value, rejections=answer.rejections) for answer in answers]
        self._note(designed)
        return designed

    def _code_call(self, subgoal: str, example: str) -> Call[CodeReply, DesignedReward]:
        source = format_documents(self._index.search(subgoal))
        return Call(
            {
                "manual": self._manual,
                "earlier": self._domain.earlier,
                "example": example,
                "code": source,
                "subgoal": subgoal,
            },
            lambda: CodeReply(code=self._domain.code(subgoal)),
            lambda reply: DesignedReward(subgoal, self._qualified(subgoal, reply.code)),
            lambda: DesignedReward(subgoal),
        )

    def _qualified(self, subgoal: str, source: str) -> str:
        """Code that has passed its trial in the sandbox."""
        try:
            check_source(source)
        except UnsafeCodeError as refusal:  # before a process starts
            raise RejectedReplyError(f"the code is refused: {refusal}") from None
        if reason := qualify(source, self.known_pairs(subgoal)):
            raise RejectedReplyError(reason)
        return source

    def known_pairs(self, subgoal: str) -> KnownPairs:
        """Transitions as JSON, split by the built-in test."""
        truth = self._domain.tests[subgoal](self._transitions.previous, self._transitions.current)
        kinds: dict[bool, list[tuple[Any, Any]]] = {True: [], False: []}
        for (world, agent), is_reached in np.ndenumerate(truth):
            found = kinds[bool(is_reached)]
            if len(found) < _MAX_PAIRS:
                previous, current = self._transitions.texts[world]
                found.append((self._domain.as_json(previous, agent), self._domain.as_json(current, agent)))
        return KnownPairs(tuple(kinds[True]), tuple(kinds[False]))

    def _note(self, designed: Sequence[DesignedReward]) -> None:
        lines = [
            f"{one.subgoal}: {'code' if one.code else 'builtin'}; rejected before: {len(one.rejections)}"
            for one in designed
        ]
        lines.append(f"{sum(not one.code for one in designed)} of {len(designed)} fell back on built-in rewards")
        self._caller.transcript.add_note("Rewards", lines)
