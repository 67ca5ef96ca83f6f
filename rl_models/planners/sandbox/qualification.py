"""The trial of a reward function on pairs of states whose reward is known (the reference is the built-in test)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rl_models.planners.sandbox.process import RewardFailedError, SandboxedReward
from rl_models.planners.sandbox.rules import UnsafeCodeError

Pair = tuple[Any, Any]


@dataclass(frozen=True)
class KnownPairs:
    """Pairs (previous, current) that fulfil a sub-goal, and pairs that do not."""

    positive: tuple[Pair, ...]
    negative: tuple[Pair, ...]


@dataclass(frozen=True, kw_only=True)
class Bar:
    """How well a function must do."""

    precision: float = 1.0
    """Least share of the rewarded pairs that deserve it: a policy learns to collect undeserved rewards."""
    recall: float = 0.9
    """Least share of the deserving pairs that are rewarded."""


@dataclass(frozen=True)
class Qualification:
    """How a trial went. `reason` is empty if it was passed."""

    reason: str
    precision: float = 0.0
    recall: float = 0.0

    @property
    def is_passed(self) -> bool:
        """Whether the function may be used."""
        return not self.reason


def qualify(source: str, pairs: KnownPairs, bar: Bar | None = None) -> Qualification:
    """Try a function in a process of its own: safe, 0 or 1, the same twice, states left alone, right often enough.

    Raises:
        ValueError: there are no pairs of one kind, so that a constant would pass.
    """
    if not pairs.positive or not pairs.negative:
        raise ValueError("a trial needs pairs that fulfil the sub-goal and pairs that do not: hand in both")
    try:
        positive, negative = _run_twice(source, pairs)
    except UnsafeCodeError as refusal:
        return Qualification(f"the code is refused: {refusal}")
    except RewardFailedError as failure:
        return Qualification(f"the code failed: {failure}")
    return _judge(positive, negative, bar or Bar())


def _run_twice(source: str, pairs: KnownPairs) -> tuple[list[int], list[int]]:
    every = [*pairs.positive, *pairs.negative]
    with SandboxedReward(source) as reward:
        first = reward.evaluate(every, checks_arguments=True)
        if reward.evaluate(every) != first:
            raise RewardFailedError("it answers differently when asked again")
    return first[: len(pairs.positive)], first[len(pairs.positive) :]


def _judge(positive: Sequence[int], negative: Sequence[int], bar: Bar) -> Qualification:
    right, wrong = sum(positive), sum(negative)
    if right + wrong in (0, len(positive) + len(negative)):
        return Qualification(f"the code returns {int(right > 0)} for every pair of states")
    precision, recall = right / (right + wrong), right / len(positive)
    if precision < bar.precision:
        reason = f"it returns 1 for {wrong} of {len(negative)} pairs that do not fulfil the sub-goal"
        return Qualification(reason, precision, recall)
    if recall < bar.recall:
        reason = f"it returns 0 for {len(positive) - right} of {len(positive)} pairs that fulfil the sub-goal"
        return Qualification(reason, precision, recall)
    return Qualification("", precision, recall)
