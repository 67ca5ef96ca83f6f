"""Logistic regression by maximum likelihood, with intervals by a bootstrap over episodes (A Cordial Sync, A.5).

The paper fits its three models by R's `glm`, without regularisation, as Newton's method does here. Steps of an episode
depend on each other, so whole episodes are resampled. Separable data have no finite slopes: this raises an error
instead of returning huge numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Array = np.ndarray
_ROUNDS, _TOLERANCE = 40, 1e-8
_MAX_SLOPE, _MAX_STEP = 40.0, 4.0
"""Largest slope of an uncorrelated column of deviation 1, and largest change of a weight in one round. Beyond that
slope all but a few rows have a probability of 0 or 1."""
_MIN_DEVIATION = 1e-9
_MIN_CURVATURE = 1e-12
_FITTED_SHARE = 0.95
"""Smallest share of draws with slopes; below it, data are nearly separable and an interval is meaningless."""


class NotIdentified(ValueError):
    """There are no finite slopes; the message says why."""


@dataclass(frozen=True)
class Fit:
    """A model.

    Attributes:
        slopes: [F] float64, one a column, for a change of 1.
        low: [F] float64, lower ends of the 95 % intervals.
        high: [F] float64, upper ends.
        mcfadden: 1 - log-likelihood / log-likelihood of a constant, in [0, 1].
    """

    slopes: Array
    low: Array
    high: Array
    mcfadden: float


def fit(columns: Array, outcome: Array, episode: Array, draws: int, seed: int = 0) -> Fit:
    """Slopes with bootstrap intervals (2.5 to 97.5 %).

    Args:
        columns: [R, F] float, regressors; a constant is added.
        outcome: [R] bool, outcome to explain.
        episode: [R] int, episode of each row.
        draws: number of bootstrap draws of episodes.
        seed: seed of the draws.

    Raises:
        NotIdentified: the outcome or a column is constant, columns are equal, or the outcomes are separable.
    """
    scaled, back = _whitened(np.asarray(columns, float))
    outcome = np.asarray(outcome, float)
    _check_varies(outcome)
    weights = maximum_likelihood(scaled, outcome, np.ones(len(outcome)))
    _, number = np.unique(episode, return_inverse=True)
    episodes = int(number.max()) + 1
    random, found = np.random.Generator(np.random.PCG64(seed)), []
    for _ in range(draws):
        counts = random.multinomial(episodes, np.full(episodes, 1 / episodes))[number].astype(float)
        try:
            found.append(back @ maximum_likelihood(scaled, outcome, counts, weights)[1:])
        except NotIdentified:
            continue
    if len(found) < _FITTED_SHARE * draws:
        raise NotIdentified(f"of {draws:,} draws of episodes {draws - len(found):,} have no finite slopes")
    low, high = np.quantile(found, (0.025, 0.975), axis=0)
    likelihood = log_likelihood(scaled, outcome, weights) / log_likelihood(scaled, outcome, _constant(outcome, weights))
    return Fit(back @ weights[1:], low, high, 1 - likelihood)


def maximum_likelihood(columns: Array, outcome: Array, counts: Array, start: Array | None = None) -> Array:
    """Constant and slopes, [1 + F] float64, by Newton's method.

    Args:
        columns: [R, F] float64, of mean 0 and deviation 1.
        outcome: [R] float64, 0 or 1.
        counts: [R] float64, weight of each row.
        start: [1 + F], initial values.

    Raises:
        NotIdentified: no finite maximum.
    """
    design = np.concatenate([np.ones((len(columns), 1)), columns], axis=1)
    weights = np.zeros(design.shape[1]) if start is None else start.copy()
    for _ in range(_ROUNDS):
        probability = _logistic(design @ weights)
        curvature = design.T @ (design * (counts * probability * (1 - probability))[:, None]) / counts.sum()
        if np.linalg.eigvalsh(curvature)[0] < _MIN_CURVATURE:
            raise NotIdentified("the outcomes are separable")
        step = np.linalg.solve(curvature, design.T @ (counts * (outcome - probability)) / counts.sum())
        weights = weights + step * min(1.0, _MAX_STEP / abs(step).max())
        if abs(weights[1:]).max() > _MAX_SLOPE:
            raise NotIdentified("the outcomes are separable: the slopes grow without bound")
        if abs(step).max() < _TOLERANCE:
            return weights
    raise NotIdentified("the outcomes are separable: the slopes grow without bound")


def log_likelihood(columns: Array, outcome: Array, weights: Array) -> float:
    """Log-likelihood of all rows, in nats."""
    line = weights[0] + columns @ weights[1:]
    return float((outcome * line - np.logaddexp(0, line)).sum())


def _constant(outcome: Array, weights: Array) -> Array:
    """The model without slopes."""
    share = outcome.mean()
    return np.concatenate([[np.log(share / (1 - share))], np.zeros(len(weights) - 1)])


def _whitened(columns: Array) -> tuple[Array, Array]:
    """Uncorrelated columns [R, F] of deviation 1, and the matrix [F, F] that transforms their slopes back."""
    centred = columns - columns.mean(axis=0)
    deviation = centred.std(axis=0)
    if (deviation < _MIN_DEVIATION).any():
        raise NotIdentified(f"column {int(deviation.argmin()) + 1} is constant")
    uncorrelated, triangle = np.linalg.qr(centred / deviation)
    if abs(np.diag(triangle)).min() < _MIN_DEVIATION * len(columns) ** 0.5:
        raise NotIdentified("two columns are equal")
    scale = len(columns) ** 0.5
    return uncorrelated * scale, np.linalg.inv(triangle) * scale / deviation[:, None]


def _check_varies(outcome: Array) -> None:
    if outcome.min() == outcome.max():
        raise NotIdentified(f"the outcome is {'always' if outcome[0] else 'never'} true")


def _logistic(line: Array) -> Array:
    return np.asarray(0.5 * (1 + np.tanh(line / 2)))
