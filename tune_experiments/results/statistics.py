"""Statistics for few seeds (Agarwal et al. 2021): interquartile means, and how probably one method beats another.

Everything is computed from one number a seed and carries a bootstrap interval over seeds (scipy); None where a single
seed gives none. This file must not know what is measured.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tune_experiments.results.intervals import Interval, bootstrap

__all__ = ["interquartile_mean", "probability_of_improvement"]


def interquartile_mean(values: Sequence[float] | np.ndarray) -> Interval:
    """Mean of the middle half of `[n]` seeds; a quarter is cut at either end, rounded down to whole seeds."""
    from scipy import stats

    sample = np.asarray(values, dtype=np.float64)
    value = float(stats.trim_mean(sample, 0.25))
    if len(sample) < 2:
        return Interval(value, None, None)
    if np.ptp(sample) == 0:
        return Interval(value, value, value)
    low, high = bootstrap((sample,), lambda a, axis: stats.trim_mean(a, 0.25, axis=axis))
    return Interval(value, low, high)


def probability_of_improvement(a: Sequence[float] | np.ndarray, b: Sequence[float] | np.ndarray) -> Interval:
    """How often a seed of `a` lies above a seed of `b`, ties counted as half: Mann and Whitney's U over n m."""
    from scipy import stats

    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    value = float(stats.mannwhitneyu(first, second).statistic) / (len(first) * len(second))
    if min(len(first), len(second)) < 2:
        return Interval(value, None, None)
    if np.ptp(first) == 0 and np.ptp(second) == 0:
        return Interval(value, value, value)
    low, high = bootstrap((first, second), _share_above)
    return Interval(value, low, high)


def _share_above(first: np.ndarray, second: np.ndarray, axis: int) -> np.ndarray:
    """The same for many resamples at once, [..., n] and [..., m]; scipy's U would loop over them."""
    assert axis in (-1, first.ndim - 1)
    above = first[..., :, None] > second[..., None, :]
    ties = first[..., :, None] == second[..., None, :]
    return np.asarray((above + 0.5 * ties).mean((-2, -1)))
