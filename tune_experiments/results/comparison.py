"""Comparison of methods from `results.jsonl` alone: mean, difference, interquartile mean, share of pairs above.

    python -m tune_experiments compare RUN [RUN ...]

All methods are compared with the first of a table; such comparisons are exploratory. Means have Student's t interval
over seeds, differences Welch's. The last two columns (Agarwal et al. 2021) have none: a bootstrap of a few seeds covers
too little.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tune_experiments.core.errors import UserError
from tune_experiments.results import rows as result_file
from tune_experiments.results.intervals import Interval, interval_over_seeds, welch_interval
from tune_experiments.results.rows import Result


@dataclass(frozen=True)
class Row:
    """One method.

    Attributes:
        method: its name.
        values: one number a seed; one number of a player that has no seeds, such as random play.
        seeds: how many.
        mean: over seeds, with its interval.
        difference: difference of its mean and that of the first row, with Welch's interval; None for the first row.
        iqm: interquartile mean.
        share_above: share of pairs of seeds in which it lies above the first row; None for the first row.
    """

    method: str
    values: tuple[float, ...]
    seeds: int
    mean: Interval
    difference: Interval | None
    iqm: float
    share_above: float | None


@dataclass(frozen=True)
class Comparison:
    """All methods, in order of appearance, in one metric of one environment and split."""

    title: str
    metric: str
    rows: tuple[Row, ...]

    def markdown(self) -> str:
        """The comparison in Markdown."""
        lines = [
            f"### {self.title}: {self.metric}",
            "",
            f"| method | seeds | mean | minus {self.rows[0].method} | IQM | share of pairs above |",
            "|---|---:|---:|---:|---:|---:|",
        ]
        for row in self.rows:
            difference = row.difference.text() if row.difference else ""
            above = "" if row.share_above is None else f"{row.share_above:.3f}"
            cells = (row.method, str(row.seeds), row.mean.text(), difference, f"{row.iqm:.3f}", above)
            lines.append(f"| {' | '.join(cells)} |")
        return "\n".join([*lines, ""])


def read_runs(paths: Sequence[Path]) -> list[Result]:
    """The results of several folders; a method that occurs in several bears its folder's name.

    Raises:
        UserError: a folder without results, or one that is named twice.
    """
    folders = [path.resolve() for path in paths]
    twice = next((path for path, folder in zip(paths, folders, strict=True) if folders.count(folder) > 1), None)
    if twice is not None:
        raise UserError(f"{twice} is named twice, and its seeds would count twice; name each folder once")
    read = [(path, result_file.read(path / result_file.RESULTS_FILE)) for path in paths]
    names = [folder.name for folder in folders]
    found = []
    for number, (path, results) in enumerate(read):
        others = {result.method for other, those in read if other != path for result in those}
        name = names[number] if names.count(names[number]) == 1 else str(path)
        for result in results:
            method = f"{result.method} ({name})" if result.method in others else result.method
            found.append(Result(**vars(result) | {"method": method}))
    return found


def compare(results: Sequence[Result]) -> list[Comparison]:
    """Every metric of every world and condition in which two methods or more were measured.

    Players without seeds, such as random play, come last: the others are compared with a trained method.

    Raises:
        UserError: there is no such metric.
    """
    groups: dict[tuple[str, str], dict[str, list[Result]]] = {}
    for result in sorted(results, key=lambda line: line.seed is None):
        title = " · ".join(dict.fromkeys([result.experiment, result.place, result.split]))
        lines = groups.setdefault((title, result.metric), {}).setdefault(result.method, [])
        if result.seed is not None or not lines or lines[0].seed is None:
            lines.append(result)
    with_seeds = {key for key, methods in groups.items() if next(iter(methods.values()))[0].seed is not None}
    found = [Comparison(*key, _rows(groups[key])) for key in groups if key in with_seeds and len(groups[key]) > 1]
    if not found:
        raise UserError("there are no two methods with results in the same environment; name more runs")
    return found


def interquartile_mean(values: Sequence[float]) -> float:
    """Mean of the middle half of `[n]` seeds; a quarter is cut at either end, rounded down to whole seeds."""
    from scipy import stats

    return float(stats.trim_mean(np.asarray(values, dtype=np.float64), 0.25))


def share_above(a: Sequence[float], b: Sequence[float]) -> float:
    """Share of the n m pairs of a seed of `a` and one of `b` in which `a` is larger, ties counted as half."""
    difference = np.asarray(a, dtype=np.float64)[:, None] - np.asarray(b, dtype=np.float64)
    return float(np.heaviside(difference, 0.5).mean())


def _rows(methods: Mapping[str, Sequence[Result]]) -> tuple[Row, ...]:
    values = {method: tuple(line.value for line in lines) for method, lines in methods.items()}
    baseline = next(iter(methods))
    return tuple(
        Row(
            method,
            values[method],
            sum(line.seed is not None for line in lines),
            interval_over_seeds([line.number for line in lines], lines[0].bounds),
            None if method == baseline else welch_interval(values[method], values[baseline]),
            interquartile_mean(values[method]),
            None if method == baseline else share_above(values[method], values[baseline]),
        )
        for method, lines in methods.items()
    )
