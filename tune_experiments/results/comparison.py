"""Comparison of methods from `results.jsonl` alone: means and differences, and the measures of rliable.

All methods are compared with the first of a table; such comparisons are exploratory. In one task a mean has Student's t
interval over seeds, a difference Welch's. Interquartile mean, probability of improvement, and mean and median over
several tasks are those of Agarwal et al. (2021), with their stratified bootstrap over seeds.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from tune_experiments.core.errors import UserError
from tune_experiments.results.intervals import EQUAL, STRATIFIED, Interval, interval_over_seeds, welch_interval
from tune_experiments.results.rows import Result
from tune_experiments.results.tables import PaperTable, describe_range

Runs: TypeAlias = Mapping[str, Sequence[Result]]
Scores: TypeAlias = Sequence[Sequence[float]]
"""For each of M tasks one score per seed."""
RESAMPLES = 10_000
_NEARLY_EQUAL = 1.05
"""Largest ratio of env steps that are called equal, because a budget ends with a whole batch."""


@dataclass(frozen=True)
class Row:
    """One method: for each task its `scores`, one number per seed, or one number of a baseline without seeds.

    `seeds` is the smallest number of seeds of a task, `mean` that over tasks and seeds, `median` that over tasks of the
    means over seeds, `iqm` the interquartile mean. One task has no median over tasks, and several have no difference.
    The difference (with Welch's interval) and the probability of improvement are over the first row, which has none.
    """

    method: str
    scores: tuple[tuple[float, ...], ...]
    seeds: int
    mean: Interval
    median: Interval | None
    difference: Interval | None
    iqm: Interval
    improvement: Interval | None

    @property
    def label(self) -> str:
        """Method and number of seeds."""
        most = max(map(len, self.scores))
        if not self.seeds:
            return self.method
        seeds = f"{self.seeds} to {most}" if most > self.seeds else f"{self.seeds}"
        return f"{self.method} ({seeds} seed{'s' * (most != 1)})"


@dataclass(frozen=True)
class Comparison:
    """All methods, in order of appearance, in one metric of one or several tasks.

    `bounds` are the smallest and largest value that the metric can have, None for no limit; `budgets` is a sentence if
    the env steps of the methods' tested weights differ by more than 5 %.
    """

    title: str
    metric: str
    rows: tuple[Row, ...]
    bounds: tuple[float | None, float | None] = (None, None)
    budgets: str = ""

    def table(self) -> PaperTable:
        """The comparison as a table; a column without a number is left out."""
        first = self.rows[0].method
        columns: dict[str, Callable[[Row], Interval | None]] = {
            "mean": lambda row: row.mean,
            f"minus {first}": lambda row: row.difference,
            "median": lambda row: row.median,
            "IQM": lambda row: row.iqm,
            f"P(> {first})": lambda row: row.improvement,
        }
        shown = {name: cell for name, cell in columns.items() if any(cell(row) for row in self.rows)}
        cells = tuple((row.label, tuple(cell(row) for cell in shown.values())) for row in self.rows)
        return PaperTable(f"{self.title}: {self.metric}", tuple(shown), cells, self.budgets)


def compare(runs: Runs, metrics: Collection[str] = ()) -> list[Comparison]:
    """Every metric (or those named) of every environment and condition with at least two methods, then across tasks.

    Baselines without seeds, such as random play, come last: the others are compared with a trained method. Raises
    UserError for an unknown metric.
    """
    runs = _with_run_names(runs)
    groups: dict[tuple[str, str], dict[str, list[Result]]] = {}
    wanted = [line for lines in runs.values() for line in lines if not metrics or line.metric in metrics]
    for result in sorted(wanted, key=lambda line: line.seed is None):
        lines = groups.setdefault((_title(result), result.metric), {}).setdefault(result.method, [])
        if result.seed is not None or not lines or lines[0].seed is None:
            lines.append(result)
    with_seeds = {key for key, methods in groups.items() if next(iter(methods.values()))[0].seed is not None}
    found = [_compare_in_task(*key, groups[key]) for key in groups if key in with_seeds and len(groups[key]) > 1]
    if not found:
        raise UserError("there are no two methods with results in the same environment; name more runs")
    return found + _compare_across_tasks(runs, metrics)


def _with_run_names(runs: Runs) -> Runs:
    """The results, with the run's name behind a method that several runs tested in the same environment."""
    tested: dict[tuple[str, str], set[str]] = {}
    for name, results in runs.items():
        for line in results:
            tested.setdefault((line.method, _title(line)), set()).add(name)
    shared = {method for (method, _), names in tested.items() if len(names) > 1}
    return {
        name: [replace(line, method=f"{line.method} ({name})") if line.method in shared else line for line in results]
        for name, results in runs.items()
    }


def _title(result: Result) -> str:
    return " · ".join(dict.fromkeys([result.experiment, result.place, result.split]))


def _compare_in_task(title: str, metric: str, methods: Mapping[str, Sequence[Result]]) -> Comparison:
    values = {method: tuple(line.value for line in lines) for method, lines in methods.items()}
    baseline = next(iter(methods))
    rows = tuple(
        Row(
            method,
            (values[method],),
            sum(line.seed is not None for line in lines),
            interval_over_seeds([line.number for line in lines], lines[0].bounds),
            None,
            None if method == baseline else welch_interval(values[method], values[baseline]),
            with_bootstrap(interquartile_mean, [values[method]]),
            None if method == baseline else improvement([values[method]], [values[baseline]]),
        )
        for method, lines in methods.items()
    )
    return Comparison(title, metric, rows, methods[baseline][0].bounds, _budgets(methods))


def _budgets(methods: Mapping[str, Sequence[Result]]) -> str:
    steps = {method: [line.env_steps for line in lines if line.env_steps] for method, lines in methods.items()}
    trained = {method: own for method, own in steps.items() if own}
    every = [number for own in trained.values() for number in own]
    if len(trained) < 2 or max(every) <= _NEARLY_EQUAL * min(every):
        return ""
    said = ", ".join(f"{method} {describe_range(own)}" for method, own in trained.items())
    return f"Env steps of the tested weights differ: {said}."


def _compare_across_tasks(runs: Runs, metrics: Collection[str]) -> list[Comparison]:
    """Comparisons over the environments of several runs, in metrics with the same smallest and largest value.

    Only runs that tested in one environment count: tests of one trained team in several are not independent.
    """
    groups: dict[Any, dict[str, dict[str, list[float]]]] = {}
    for results in runs.values():
        plain = [line for line in results if not line.condition and line.seed is not None]
        for line in plain:
            has_one_task = {one.world for one in plain if one.split == line.split} == {line.world}
            if has_one_task and None not in line.bounds and (not metrics or line.metric in metrics):
                tasks = groups.setdefault((line.split, line.metric, line.bounds), {})
                tasks.setdefault(_title(line), {}).setdefault(line.method, []).append(line.value)
    found = []
    for (split, metric, bounds), tasks in groups.items():
        methods = [method for method in next(iter(tasks.values())) if all(method in task for task in tasks.values())]
        if len(tasks) > 1 and len(methods) > 1:
            scores = {method: [tuple(task[method]) for task in tasks.values()] for method in methods}
            left_out = dict.fromkeys(method for task in tasks.values() for method in task if method not in methods)
            title = f"{len(tasks)} tasks · {split}" + f", without {', '.join(left_out)}" * bool(left_out)
            found.append(Comparison(title, metric, _rows_across(scores), bounds))
    return found


def _rows_across(scores: Mapping[str, Sequence[tuple[float, ...]]]) -> tuple[Row, ...]:
    baseline = next(iter(scores))
    return tuple(
        Row(
            method,
            tuple(own),
            min(map(len, own)),
            with_bootstrap(mean_over_tasks, own),
            with_bootstrap(median_over_tasks, own),
            None,
            with_bootstrap(interquartile_mean, own),
            None if method == baseline else improvement(own, scores[baseline]),
        )
        for method, own in scores.items()
    )


# ---- measures of Agarwal et al. (2021), section 4; each takes an array [..., seeds] for every task ----------


def mean_over_tasks(*tasks: np.ndarray, axis: int = -1) -> Any:
    """Mean over tasks of the means over seeds."""
    return np.mean([task.mean(axis) for task in tasks], axis=0)


def median_over_tasks(*tasks: np.ndarray, axis: int = -1) -> Any:
    """Median over tasks of the means over seeds."""
    return np.median([task.mean(axis) for task in tasks], axis=0)


def interquartile_mean(*tasks: np.ndarray, axis: int = -1) -> Any:
    """Mean of the middle half of the scores of all tasks; a quarter is cut at either end, rounded down.

    Tasks weigh equally: where they have different numbers of seeds, scores are repeated until all have as many.
    """
    from scipy import stats

    most = math.lcm(*(task.shape[axis] for task in tasks))
    even = [np.repeat(task, most // task.shape[axis], axis) for task in tasks]
    return stats.trim_mean(np.concatenate(even, axis), 0.25, axis)


def share_above(*tasks: np.ndarray, axis: int = -1) -> Any:
    """Share of pairs of seeds in which the first method is above, ties as half, averaged over tasks.

    The first half of the arrays are the tasks of one method, the second half those of the other.
    """
    half = len(tasks) // 2
    shares = [
        np.heaviside(own[..., :, None] - other[..., None, :], 0.5).mean((-2, -1))
        for own, other in zip(tasks[:half], tasks[half:], strict=True)
    ]
    return np.mean(shares, axis=0)


def improvement(scores: Scores, others: Scores) -> Interval | None:
    """Probability that a seed of a method is above one of another, in a random task; None where no task has two."""
    if max(map(len, [*scores, *others])) < 2:
        return None
    return with_bootstrap(share_above, [*scores, *others])


def with_bootstrap(measure: Callable[..., Any], scores: Scores, resamples: int = RESAMPLES) -> Interval:
    """A measure with the 95 % percentile interval of a bootstrap of seeds within each task; none if it is a point."""
    samples = [np.asarray(task, dtype=np.float64) for task in scores]
    value = float(measure(*samples))
    if min(map(len, samples)) < 2:
        return Interval(value)
    low, high = map(float, bootstrap(measure, samples, resamples, batch=1000))
    return Interval(value) if high - low <= EQUAL else Interval(value, low, high, STRATIFIED)


def bootstrap(measure: Callable[..., Any], samples: Sequence[np.ndarray], resamples: int, batch: int) -> Any:
    """Ends of the percentile interval of 95 % of a measure of samples [..., seeds], drawn within each of them."""
    from scipy import stats

    drawn = stats.bootstrap(
        samples, measure, n_resamples=resamples, batch=batch, axis=-1, method="percentile", rng=np.random.default_rng(0)
    )
    return drawn.confidence_interval
