"""Methods beside each other, from `results.jsonl` alone: mean, interquartile mean, probability of improvement.

    python -m tune_experiments compare RUN [RUN ...]

Any number of runs or searches; the first method of a table is what the others are compared with. This file must not
know an experiment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tune_experiments.experiment.errors import UserError
from tune_experiments.results import rows as result_file
from tune_experiments.results.intervals import Interval, interval_over_seeds
from tune_experiments.results.rows import Result
from tune_experiments.results.statistics import interquartile_mean, probability_of_improvement

__all__ = ["Comparison", "Row", "compare", "read_runs"]


@dataclass(frozen=True)
class Row:
    """One method.

    Attributes:
        method: its name.
        values: one number a seed.
        mean: over seeds, with its bootstrap interval.
        iqm: interquartile mean, the same.
        improvement: probability that it beats the first row; None for the first row.
    """

    method: str
    values: tuple[float, ...]
    mean: Interval
    iqm: Interval
    improvement: Interval | None


@dataclass(frozen=True)
class Comparison:
    """All methods in one metric of one world.

    Attributes:
        title: table, world and split.
        metric: what is compared.
        rows: methods, in order of appearance.
    """

    title: str
    metric: str
    rows: tuple[Row, ...]

    def markdown(self) -> str:
        """The comparison in Markdown."""
        lines = [
            f"### {self.title}: {self.metric}",
            "",
            f"| method | seeds | mean | IQM | P(above {self.rows[0].method}) |",
            "|---|---:|---:|---:|---:|",
        ]
        for row in self.rows:
            improvement = _cell(row.improvement) if row.improvement else ""
            lines.append(f"| {row.method} | {len(row.values)} | {_cell(row.mean)} | {_cell(row.iqm)} | {improvement} |")
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
    read = [(path, result_file.read(path / "results.jsonl")) for path in paths]
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
    """Every metric of every world in which two methods or more were measured.

    Raises:
        UserError: there is no such metric.
    """
    groups: dict[tuple[str, str], dict[str, list[float]]] = {}
    for result in results:
        if result.seed is not None:
            title = " · ".join(dict.fromkeys([result.experiment, result.world, result.split]))
            groups.setdefault((title, result.metric), {}).setdefault(result.method, []).append(result.value)
    found = [Comparison(*key, _rows(methods)) for key, methods in groups.items() if len(methods) > 1]
    if not found:
        raise UserError("there are no two methods with results in the same world; name more runs")
    return found


def _rows(methods: Mapping[str, Sequence[float]]) -> tuple[Row, ...]:
    baseline = next(iter(methods))
    return tuple(
        Row(
            method,
            tuple(values),
            interval_over_seeds(values),
            interquartile_mean(values),
            None if method == baseline else probability_of_improvement(values, methods[baseline]),
        )
        for method, values in methods.items()
    )


def _cell(number: Interval) -> str:
    value, low, high = number
    return f"{value:.3f}" if low is None or high is None else f"{value:.3f} [{low:.3f}, {high:.3f}]"
