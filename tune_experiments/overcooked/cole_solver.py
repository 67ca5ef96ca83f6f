"""COLE's solver: weights of partners, and acceptance of learners (Li et al., ICML 2023).

A population is described by its payoffs: entry (i, j) is the reward of member i as chef 0 with member j as chef 1. The
graphic Shapley value of a member is its mean contribution to coalitions of the others; members with low values become
likely partners. Constants are those of the released code; values are sums over all coalitions, where the release
samples 200 orders.
"""

import itertools
import math

import numpy as np

from rl_envs.core.spec import Array

DAMPING = 0.85
SHARPNESS = 10.0
"""Factor in both softmaxes: over centralities, and over Shapley values."""
NEWEST_SHARE, LATER_NEWEST_SHARE, LATER = 0.1, 0.2, 50
"""Share of the members that count as new in the acceptance test, up to generation 50 and later."""
MAX_REFUSALS = 2
MAX_MEMBERS = 10
"""Coalitions double with every member."""


def page_rank(payoffs: Array) -> Array:
    """PageRank, [n] float64 that sum to 1, of a weighted graph with its self-loops.

    `payoffs` [n, n], at least 0, are weights of the edges from i to j; a row of zeros leads to all with equal weight.
    """
    count, sums = len(payoffs), payoffs.sum(1, keepdims=True)
    steps = np.where(sums > 0, payoffs / np.where(sums > 0, sums, 1), 1 / count)
    return np.asarray(np.linalg.solve(np.eye(count) - DAMPING * steps.T, np.full(count, (1 - DAMPING) / count)))


def coalition_value(payoffs: Array) -> float:
    """Value, at least 0, of a coalition with payoffs [n, n]: their mean, with more weight for less central partners."""
    if not len(payoffs):
        return 0.0
    weights = softmax(-SHARPNESS * page_rank(payoffs))
    return max(0.0, float((payoffs @ weights).sum()) / len(payoffs))


def shapley_values(payoffs: Array) -> Array:
    """Graphic Shapley values, [n] float64: mean over all orders of a member's gain for those before it.

    Payoffs [n, n] are at least 0. Negative gains count as 0, so the values' sum is not the value of all.
    """
    count = len(payoffs)
    value_by_coalition = {
        chosen: coalition_value(payoffs[np.ix_(chosen, chosen)])
        for size in range(count + 1)
        for chosen in itertools.combinations(range(count), size)
    }
    values = np.zeros(count)
    for before, value in value_by_coalition.items():
        orders = math.factorial(len(before)) * math.factorial(count - len(before) - 1) if len(before) < count else 0
        for member in set(range(count)) - set(before):
            added = value_by_coalition[tuple(sorted((*before, member)))] - value
            values[member] += orders / math.factorial(count) * max(0.0, added)
    return values


def partner_weights(payoffs: Array) -> Array:
    """Probability of each member as partner before any visit, [n] float64, their sum is 1, from payoffs [n, n]."""
    values = shapley_values(payoffs)
    length = np.linalg.norm(values)
    return softmax(-SHARPNESS * values / (length if length > 0 else 1.0))


def add_visit_weights(weights: Array, visits: Array, visit_weight: float) -> Array:
    """Weights of `partner_weights` [n] after some visits [B, n]: rarely met partners become more likely.

    Returns [B, n] float64, not normalised.
    """
    bonus = np.sqrt(visits.sum(-1, keepdims=True)) / (1 + visits)
    length = np.linalg.norm(bonus, axis=-1, keepdims=True)
    return np.asarray(weights + visit_weight * bonus / np.where(length > 0, length, 1))


def preferred(payoffs: Array) -> Array:
    """Best partner of each member in the mean of both orders, perhaps itself, [n] int, from payoffs [n, n].

    Of several it is the last.
    """
    mean = (payoffs + payoffs.T) / 2
    return len(mean) - 1 - mean[:, ::-1].argmax(1)


def unpopularity(payoffs: Array) -> Array:
    """1 minus the share of the others who prefer a member, [n] float64, from payoffs [n, n].

    It is below 0 where a member prefers itself as well.
    """
    count = len(payoffs)
    return 1 - np.bincount(preferred(payoffs), minlength=count) / max(count - 1, 1)


def is_accepted(payoffs: Array, refusals: int, generation: int) -> bool:
    """Whether a learner joins the population: it, or one of the newest, is the most preferred; or a third try.

    `payoffs` [n + 1, n + 1] are of n members from old to new and the learner; `generation` is the ending one, from 1.
    """
    members = len(payoffs) - 1
    newest = int((NEWEST_SHARE if generation <= LATER else LATER_NEWEST_SHARE) * members) + 1
    return refusals >= MAX_REFUSALS or int(unpopularity(payoffs).argmin()) >= members - newest


def softmax(logits: Array) -> Array:
    """exp, divided by its sum: [n] -> [n] float64."""
    raised = np.exp(logits - logits.max())
    return np.asarray(raised / raised.sum())
