"""Confidence intervals at 95 %: over episodes by the normal formula, over seeds by a bootstrap, and of differences.

Every result is `(value, low, high)`; None stands for an interval that the data cannot give. The interval over episodes
is that of "A Cordial Sync": 1.96 sd / sqrt(n), and for a share of episodes (every value 0 or 1) Wilson's, which stays
within 0 and 1 and does not call 100 successes of 100 certain. This file must not know what is measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

__all__ = [
    "Interval",
    "bootstrap",
    "difference_over_seeds",
    "interval_over_episodes",
    "interval_over_seeds",
    "welch_interval",
]

NORMAL_QUANTILE = 1.96
RESAMPLES = 9999


class Interval(NamedTuple):
    """A value with its 95 % interval; `low` and `high` are None where the data give none."""

    value: float
    low: float | None
    high: float | None


def interval_over_episodes(values: Sequence[float] | np.ndarray) -> Interval:
    """Mean of `[n]` episodes +- 1.96 sd / sqrt(n), with the sample's sd (n - 1); no interval for one episode.

    Where every value is 0 or 1 the interval is Wilson's for a share.

    Raises:
        ValueError: no episodes.
    """
    sample = _sample(values)
    mean = float(sample.mean())
    if len(sample) < 2:
        return Interval(mean, None, None)
    if np.isin(sample, (0.0, 1.0)).all():
        return Interval(mean, *_wilson(int(sample.sum()), len(sample)))
    half = NORMAL_QUANTILE * float(sample.std(ddof=1)) / len(sample) ** 0.5
    return Interval(mean, mean - half, mean + half)


def interval_over_seeds(values: Sequence[float] | np.ndarray) -> Interval:
    """Mean of `[n]` seeds with scipy's percentile bootstrap, the same on every call; no interval for one seed.

    With three seeds the bootstrap's interval is at most the span of the three means: it says little, but truly.
    """
    sample = _sample(values)
    mean = float(sample.mean())
    if len(sample) < 2:
        return Interval(mean, None, None)
    if np.ptp(sample) == 0:  # scipy warns and returns nan for what is simply no spread
        return Interval(mean, mean, mean)
    low, high = bootstrap((sample,), lambda a, axis: np.mean(a, axis=axis))
    return Interval(mean, low, high)


def difference_over_seeds(a: Sequence[float] | np.ndarray, b: Sequence[float] | np.ndarray) -> Interval:
    """Mean of `a` minus mean of `b` with a bootstrap that resamples the seeds of each method on its own."""
    first, second = _sample(a), _sample(b)
    value, certain = _difference(first, second)
    if certain is not None:
        return certain
    low, high = bootstrap((first, second), lambda x, y, axis: np.mean(x, axis=axis) - np.mean(y, axis=axis))
    return Interval(value, low, high)


def welch_interval(a: Sequence[float] | np.ndarray, b: Sequence[float] | np.ndarray) -> Interval:
    """Mean of `a` minus mean of `b` with Welch's t interval; wider and safer than a bootstrap of a few seeds."""
    from scipy import stats

    first, second = _sample(a), _sample(b)
    value, certain = _difference(first, second)
    if certain is not None:
        return certain
    found = stats.ttest_ind(first, second, equal_var=False).confidence_interval(0.95)
    return Interval(value, float(found.low), float(found.high))


def _sample(values: Sequence[float] | np.ndarray) -> np.ndarray:
    sample = np.asarray(values, dtype=np.float64)
    if sample.ndim != 1 or len(sample) == 0:
        raise ValueError(f"an interval needs a list of at least one number, not one of shape {sample.shape}")
    return sample


def _wilson(successes: int, episodes: int) -> tuple[float, float]:
    from scipy import stats

    found = stats.binomtest(successes, episodes).proportion_ci(0.95, method="wilson")
    return float(found.low), float(found.high)


def _difference(first: np.ndarray, second: np.ndarray) -> tuple[float, Interval | None]:
    """Difference of means, and the answer itself where there is one seed or no spread to make an interval from."""
    value = float(first.mean() - second.mean())
    if min(len(first), len(second)) < 2:
        return value, Interval(value, None, None)
    if np.ptp(first) == 0 and np.ptp(second) == 0:
        return value, Interval(value, value, value)
    return value, None


def bootstrap(samples: tuple[np.ndarray, ...], statistic: object) -> tuple[float, float]:
    """Ends of scipy's percentile interval of 95 %, the same on every call."""
    from scipy import stats

    # Percentile, not BCa: BCa's jackknife acceleration is meaningless for three seeds.
    found = stats.bootstrap(
        samples,
        statistic,
        n_resamples=RESAMPLES,
        confidence_level=0.95,
        method="percentile",
        rng=np.random.default_rng(0),
    ).confidence_interval
    return float(found.low), float(found.high)
