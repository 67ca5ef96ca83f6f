"""The trial of a reward function on pairs of states whose reward is known (the reference is the built-in test)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rl_models.planners.sandbox.process import RewardFailedError, SandboxedReward
from rl_models.planners.sandbox.rules import UnsafeCodeError

Pair = tuple[Any, Any]
_MIN_RECALL = 0.9
"""Smallest recall: share of the positive pairs that must be rewarded."""


@dataclass(frozen=True)
class KnownPairs:
    """Pairs (previous, current) that fulfil a sub-goal, and pairs that do not."""

    positive: tuple[Pair, ...]
    negative: tuple[Pair, ...]


def qualify(source: str, pairs: KnownPairs) -> str:
    """Check a function in its own process: safe syntax, 0 or 1, deterministic, states unchanged, accurate enough.

    Returns why it may not be used, a clause; empty if it may. Without pairs of one kind a constant would pass.
    """
    if not pairs.positive or not pairs.negative:
        return "play holds no example to try the code on"
    try:
        return _judge(*_run_twice(source, pairs))
    except UnsafeCodeError as refusal:
        return f"the code is refused: {refusal}"
    except RewardFailedError as failure:
        return f"the code failed: {failure}"


def _run_twice(source: str, pairs: KnownPairs) -> tuple[list[int], list[int]]:
    every = [*pairs.positive, *pairs.negative]
    with SandboxedReward(source) as reward:
        first = reward.evaluate(every, checks_arguments=True)
        if reward.evaluate(every) != first:
            raise RewardFailedError("it answers differently when asked again")
    return first[: len(pairs.positive)], first[len(pairs.positive) :]


def _judge(positive: Sequence[int], negative: Sequence[int]) -> str:
    right, wrong = sum(positive), sum(negative)
    if right + wrong in (0, len(positive) + len(negative)):
        return f"the code returns {int(right > 0)} for every pair of states"
    if wrong:  # a policy learns to collect undeserved rewards
        return f"it returns 1 for {wrong} of {len(negative)} pairs that do not fulfil the sub-goal"
    if right / len(positive) < _MIN_RECALL:
        return f"it returns 0 for {len(positive) - right} of {len(positive)} pairs that fulfil the sub-goal"
    return ""
