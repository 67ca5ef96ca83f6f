"""Reward design: for each sub-goal a test that says 0 or 1 (SAMA, section 3.3), by one of three sources.

| source | who writes it | how it runs |
|---|---|---|
| `builtin` | we, with the domain | a predicate on batched states |
| `predicate` | the model, in the predicate language | the same |
| `code` | the model, in Python | in the sandbox's process, on the states as JSON |

What a model writes is used only after it has agreed with the built-in predicate on transitions from play; it is asked
again with what was wrong, and at last the built-in predicate stands in. This file must not know the world.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from rl_models.chat.client import RejectedReplyError
from rl_models.planners.calling import Call, Caller, Stage
from rl_models.planners.code_index import CodeIndex, shown
from rl_models.planners.domain import Domain, ValidSubgoal
from rl_models.planners.predicates.grammar import PredicateError
from rl_models.planners.predicates.table import FeatureTable, Predicate, Values, compile_predicate, describe_table
from rl_models.planners.replies import AskReward, CodeReply, PredicateReply
from rl_models.planners.sandbox.qualification import Bar, KnownPairs, qualify
from rl_models.planners.sandbox.rules import UnsafeCodeError, check_source

RewardSource: TypeAlias = Literal["builtin", "predicate", "code"]
PREDICATE = Stage("predicate", PredicateReply, max_tokens=200)
CODE = Stage("code", CodeReply, max_tokens=1_200)
_MOST_PAIRS = 200
"""Largest number of pairs of each kind on which code is tried."""


@dataclass(frozen=True)
class Transitions:
    """States before and after env steps of play, for trials.

    Attributes:
        previous: as the feature table takes states, of B worlds.
        current: after one env step.
        texts: for each world both states as text.
    """

    previous: Any
    current: Any
    texts: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class DesignedReward:
    """The test of one sub-goal.

    Attributes:
        subgoal: in words.
        source: writer of the test that is used; `builtin` where a model's did not pass.
        text: predicate or Python.
        rejections: why earlier ones were not used.
        fell_back: a model was asked, and the built-in test stands in for what it wrote.
    """

    subgoal: str
    source: RewardSource
    text: str
    rejections: tuple[str, ...] = ()
    fell_back: bool = False

    @property
    def was_asked_for(self) -> bool:
        """Whether a model was asked for it."""
        return self.fell_back or self.source != "builtin"


class RewardDesigner:
    """Makes tests for the sub-goals of one domain."""

    def __init__(
        self,
        caller: Caller,
        domain: Domain,
        table: FeatureTable,
        transitions: Transitions,
        manual: str | None = None,
        index: CodeIndex | None = None,
    ) -> None:
        """Bind a backend, a world's features and play to try rewards on.

        Args:
            caller: carries the calls.
            domain: sub-goals, and states as JSON.
            table: the world's features.
            transitions: play in which sub-goals are reached and not reached.
            manual: manual of the game for prompts; the domain's own if there is none.
            index: the world's source.
        """
        self._caller, self._domain, self._table, self._transitions = caller, domain, table, transitions
        self._manual, self._index = manual or domain.manual, index or CodeIndex(())
        self._bar = Bar()

    def design(self, source: RewardSource, subgoals: Sequence[str]) -> list[DesignedReward]:
        """A test for each sub-goal, in their order.

        Raises:
            PredicateError: a built-in predicate does not fit the world's features.
        """
        valid = {one.text: one for one in self._domain.subgoals}
        chosen = [valid[text] for text in subgoals]
        for one in chosen:
            compile_predicate(one.predicate, self._table)
        if source == "builtin":
            return [_builtin(one) for one in chosen]
        designed = self._predicates(chosen) if source == "predicate" else self._codes(chosen)
        self._note(designed)
        return designed

    def _predicates(self, chosen: Sequence[ValidSubgoal]) -> list[DesignedReward]:
        features = describe_table(self._table)
        calls = [self._predicate_call(one, features) for one in chosen]
        return [replace(answer.value, rejections=answer.rejections) for answer in self._caller.call(PREDICATE, calls)]

    def _predicate_call(self, one: ValidSubgoal, features: str) -> Call[PredicateReply, DesignedReward]:
        return Call(
            {
                "manual": self._manual,
                "features": features,
                "example": self._domain.predicate_example,
                "earlier": self._domain.earlier,
                "subgoal": one.text,
            },
            AskReward(one.text),
            lambda reply: DesignedReward(one.text, "predicate", self._tried(one, reply.predicate)),
            lambda: _fallback(one),
        )

    def _tried(self, one: ValidSubgoal, text: str) -> str:
        """A predicate that says the same as the built-in one wherever it matters."""
        try:
            says = compile_predicate(text, self._table)(self._transitions.previous, self._transitions.current)
        except PredicateError as error:
            raise RejectedReplyError(str(error)) from None
        truth = self._truth(one)
        if not truth.any() or truth.all():
            raise RejectedReplyError("play holds no example to try the predicate on")
        says = np.broadcast_to(says, truth.shape)
        wrong, missed = int((says & ~truth).sum()), int((truth & ~says).sum())
        if wrong:
            raise RejectedReplyError(f"it holds in {wrong} transitions in which the sub-goal is not reached")
        if missed > (1 - self._bar.recall) * int(truth.sum()):
            raise RejectedReplyError(f"it misses {missed} of {int(truth.sum())} transitions that reach the sub-goal")
        return text

    def _codes(self, chosen: Sequence[ValidSubgoal]) -> list[DesignedReward]:
        previous, current = self._transitions.texts[0]
        example = json.dumps([self._domain.as_json(previous, 0), self._domain.as_json(current, 0)])
        calls = [self._code_call(one, example) for one in chosen]
        return [replace(answer.value, rejections=answer.rejections) for answer in self._caller.call(CODE, calls)]

    def _code_call(self, one: ValidSubgoal, example: str) -> Call[CodeReply, DesignedReward]:
        source = shown(self._index.search(one.text))
        return Call(
            {
                "manual": self._manual,
                "earlier": self._domain.earlier,
                "example": example,
                "code": source,
                "subgoal": one.text,
            },
            AskReward(one.text),
            lambda reply: DesignedReward(one.text, "code", self._qualified(one, reply.code)),
            lambda: _fallback(one),
        )

    def _qualified(self, one: ValidSubgoal, source: str) -> str:
        """Code that has passed its trial in the sandbox."""
        try:
            check_source(source)
        except UnsafeCodeError as refusal:
            raise RejectedReplyError(f"the code is refused: {refusal}") from None
        pairs = self.known_pairs(one)
        if not pairs.positive or not pairs.negative:
            raise RejectedReplyError("play holds no example to try the code on")
        result = qualify(source, pairs, self._bar)
        if not result.is_passed:
            raise RejectedReplyError(result.reason)
        return source

    def known_pairs(self, one: ValidSubgoal) -> KnownPairs:
        """Transitions of play as JSON, parted by the built-in predicate."""
        truth = self._truth(one)
        kinds: dict[bool, list[tuple[Any, Any]]] = {True: [], False: []}
        for (world, agent), is_reached in np.ndenumerate(truth):
            found = kinds[bool(is_reached)]
            if len(found) < _MOST_PAIRS:
                previous, current = self._transitions.texts[world]
                found.append((self._domain.as_json(previous, agent), self._domain.as_json(current, agent)))
        return KnownPairs(tuple(kinds[True]), tuple(kinds[False]))

    def _truth(self, one: ValidSubgoal) -> Values:
        predicate: Predicate = compile_predicate(one.predicate, self._table)
        return predicate(self._transitions.previous, self._transitions.current)

    def _note(self, designed: Sequence[DesignedReward]) -> None:
        lines = [f"{one.subgoal}: {one.source}; rejected before: {len(one.rejections)}" for one in designed]
        lines.append(f"{sum(one.fell_back for one in designed)} of {len(designed)} fell back on built-in rewards")
        self._caller.transcript.add_note("Rewards", lines)


def _builtin(one: ValidSubgoal) -> DesignedReward:
    return DesignedReward(one.text, "builtin", one.predicate)


def _fallback(one: ValidSubgoal) -> DesignedReward:
    return replace(_builtin(one), fell_back=True)
