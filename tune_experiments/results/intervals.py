"""Intervals of 95 %, each with the name of its rule.

| what varies | rule |
|---|---|
| seeds, of one method | Student's t; none for one seed |
| seeds, of a difference of two methods | Welch's t |
| seeds, of a difference of two conditions of one method | Student's t of each seed's difference |
| episodes of one seed, each 0 or 1 | Wilson's for a share |
| episodes of one seed, any numbers | Student's t |
| episodes of one seed, a number that is no mean | percentiles of a bootstrap over hundreds of episodes |
| seeds, of rliable's measures in `comparison.py` | percentiles of a bootstrap stratified by task |

With three seeds of one task, a percentile bootstrap is the range of the seeds and covers the mean in only 75 % of
cases, so means of one task use Student's t. Episodes of several seeds are never pooled: they are not independent.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

STUDENT, WELCH = "t over seeds", "welch over seeds"
WILSON, STUDENT_EPISODES, NONE = "wilson over episodes", "t over episodes", "none"
BOOTSTRAP, STRATIFIED = "bootstrap over episodes", "stratified bootstrap over seeds"
EQUAL = 1e-12
"""Largest difference of numbers that count as equal."""


@dataclass(frozen=True)
class Interval:
    """A value with its 95 % interval, `low` to `high`, by one of this file's rules (`kind`); `NONE` without one.

    If seeds give no interval, `seeds` has each seed with its interval over episodes.
    """

    value: float
    low: float | None = None
    high: float | None = None
    kind: str = NONE
    seeds: tuple[Interval, ...] = ()

    def text(self) -> str:
        """The number with its interval in one line; without one `mean (lowest to highest)` of the seeds, or `each`."""
        digits = 1 if abs(self.value) >= 10 else 3
        number = f"{self.value:.{digits}f}"
        if self.seeds:
            values = [seed.value for seed in self.seeds]
            are_equal = max(values) - min(values) <= EQUAL
            if are_equal and len(same := {seed.text() for seed in self.seeds}) == 1:
                return f"each {same.pop()}"
            while not are_equal and f"{min(values):.{digits}f}" == f"{max(values):.{digits}f}":
                digits += 1
            return f"{self.value:.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"
        if self.low is None or self.high is None:
            return number
        return f"{number} [{self.low:.{digits}f}, {self.high:.{digits}f}]"


def interval_over_episodes(values: Sequence[float] | np.ndarray, is_share: bool = False) -> Interval:
    """Mean of `[n]` episodes of one seed.

    Wilson's interval for a share, whose episodes are 0 or 1, else Student's t interval; none for one number or equal
    numbers.
    """
    sample = _sample(values)
    mean = float(sample.mean())
    if len(sample) < 2:
        return Interval(mean)
    if is_share and np.isin(sample, (0.0, 1.0)).all():
        from scipy import stats

        found = stats.binomtest(int(sample.sum()), len(sample)).proportion_ci(0.95, method="wilson")
        return Interval(mean, float(found.low), float(found.high), WILSON)
    if np.ptp(sample) <= EQUAL:
        return Interval(mean)
    half = float(student_half_width(sample))
    return Interval(mean, mean - half, mean + half, STUDENT_EPISODES)


def interval_over_seeds(
    values: Sequence[float | Interval], bounds: tuple[float | None, float | None] = (None, None)
) -> Interval:
    """Mean of `[n]` seeds, each perhaps with its interval over episodes, with Student's t interval.

    One seed has its own interval if that is within the bounds, the smallest and largest value that the metric can have.
    If all seeds are equal, or if only the t interval leaves the bounds, the result is the mean and the seeds, each with
    its interval over episodes if that is within the bounds.
    """
    seeds = tuple(value if isinstance(value, Interval) else Interval(float(value)) for value in values)
    sample = _sample([seed.value for seed in seeds])
    low, high = bounds
    limits = lowest, highest = -math.inf if low is None else low, math.inf if high is None else high
    if len(seeds) == 1:
        return _within(seeds[0], limits)
    mean, half = float(sample.mean()), float(student_half_width(sample))
    leaves = sample.min() >= lowest > mean - half or sample.max() <= highest < mean + half
    if leaves or np.ptp(sample) <= EQUAL:
        return Interval(mean, seeds=tuple(_within(seed, limits) for seed in seeds))
    return Interval(mean, mean - half, mean + half, STUDENT)


def _within(one: Interval, limits: tuple[float, float]) -> Interval:
    """A seed with its interval over episodes, without it if it leaves the range of the metric."""
    lowest, highest = limits
    leaves = (one.low is not None and one.value >= lowest > one.low) or (
        one.high is not None and one.value <= highest < one.high
    )
    return Interval(one.value) if leaves else one


def welch_interval(a: Sequence[float] | np.ndarray, b: Sequence[float] | np.ndarray) -> Interval:
    """Mean of `a` [n] minus mean of `b` [m], one number per seed, with Welch's t interval.

    There is none where a method has one seed, or where neither method's seeds differ among themselves.
    """
    from scipy import stats

    first, second = _sample(a), _sample(b)
    value = float(first.mean() - second.mean())
    if min(len(first), len(second)) < 2 or max(np.ptp(first), np.ptp(second)) <= EQUAL:
        return Interval(value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # one method's seeds may be equal; the other's spread counts
        found = stats.ttest_ind(first, second, equal_var=False).confidence_interval(0.95)
    return Interval(value, float(found.low), float(found.high), WELCH)


def student_half_width(samples: np.ndarray) -> np.ndarray:
    """Half the width of Student's t interval of the mean of `[n, ...]` seeds or episodes, n at least 2; `[...]`."""
    from scipy import stats

    count = len(samples)
    half: np.ndarray = stats.t.ppf(0.975, count - 1) * samples.std(axis=0, ddof=1) / count**0.5
    return half


def _sample(values: Sequence[float] | np.ndarray) -> np.ndarray:
    sample = np.asarray(values, dtype=np.float64)
    if sample.ndim != 1 or len(sample) == 0:
        raise ValueError(f"an interval needs a list of at least one number, not one of shape {sample.shape}")
    return sample
