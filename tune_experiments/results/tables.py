"""The paper's table from `results.jsonl` alone: methods as rows, metrics as columns, the paper's numbers below ours.

Several seeds: the mean over seeds with a bootstrap interval. One seed: its value with the interval over its episodes.
The caption says which. This file must not know an experiment; the paper's numbers are handed in.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import rich.box
import rich.table

from tune_experiments.experiment.errors import UserError
from tune_experiments.results.intervals import Interval, interval_over_seeds
from tune_experiments.results.rows import Result
from tune_experiments.run.files import write_atomically

__all__ = ["FURNITURE_METRICS", "PaperTable", "make_table", "write_tables"]

FURNITURE_METRICS = ("md_spl", "success", "episode_length", "final_distance", "invalid_probability", "tvd")

_LABEL_WIDTH = 11

# method -> metric -> the number that the paper prints; every cell is optional.
PaperNumbers = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class PaperTable:
    """A finished table.

    Attributes:
        title: The table's name in results.jsonl.
        metrics: The columns.
        rows: (label, one number a metric or None); the paper's rows have labels that end in ", paper".
        caption: What the intervals are over, and how long the methods trained.
    """

    title: str
    metrics: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Interval | None, ...]], ...]
    caption: str

    def markdown(self) -> str:
        """The table in Markdown."""
        lines = [
            f"### {self.title}",
            "",
            f"| method | {' | '.join(self.metrics)} |",
            f"|---|{'---:|' * len(self.metrics)}",
        ]
        lines += [f"| {label} | {' | '.join(_cell(number, ' ') for number in cells)} |" for label, cells in self.rows]
        return "\n".join([*lines, "", self.caption, ""])

    def for_terminal(self) -> rich.table.Table:
        """The table for a terminal; print it with `rich.print`."""
        table = rich.table.Table(
            title=self.title,
            caption=self.caption,
            box=rich.box.SIMPLE_HEAD,
            pad_edge=False,
            padding=(0, 1, 0, 0),
            caption_justify="left",
            title_justify="left",
        )
        table.add_column("method", no_wrap=True)
        # Rich shrinks all columns alike and cuts a long word then, unless its column may not wrap; such a column
        # breaks its intervals by itself, to leave the others room.
        is_long = [max(map(len, metric.split("_"))) > len("distance") for metric in self.metrics]
        for metric, keeps_whole in zip(self.metrics, is_long, strict=True):
            heading = metric.replace("_", "\n" if keeps_whole else " ")
            table.add_column(heading, justify="right", no_wrap=keeps_whole)
        comma = [",\n" if keeps_whole else ", " for keeps_whole in is_long]
        for label, numbers in self.rows:
            style = "dim" if label.endswith(", paper") else None
            cells = [_cell(number, "\n", between) for number, between in zip(numbers, comma, strict=True)]
            table.add_row(_in_lines(label), *cells, style=style)
        return table


def make_table(
    results: Sequence[Result],
    table: str,
    metrics: Sequence[str] = FURNITURE_METRICS,
    paper: PaperNumbers | None = None,
) -> PaperTable:
    """Build one table.

    Args:
        results: What `results.read` gave.
        table: Which lines belong to it.
        metrics: The columns, in order.
        paper: The paper's numbers.

    Raises:
        UserError: no line belongs to the table.
    """
    mine = [result for result in results if result.table == table]
    if not mine:
        known = ", ".join(sorted({result.table for result in results})) or "none"
        raise UserError(
            f"no results belong to the table {table!r} (tables there are: {known}); run the experiment first"
        )
    rows: list[tuple[str, tuple[Interval | None, ...]]] = []
    for label, lines in _by_row(mine).items():
        rows.append((label, tuple(_number([line for line in lines if line.metric == metric]) for metric in metrics)))
        printed = (paper or {}).get(lines[0].method, {})
        if any(metric in printed for metric in metrics):
            cells = tuple(Interval(printed[metric], None, None) if metric in printed else None for metric in metrics)
            rows.append((f"{label}, paper", cells))
    return PaperTable(table, tuple(metrics), tuple(rows), _caption(_by_row(mine)))


def write_tables(path: Path, tables: Sequence[PaperTable]) -> None:
    """Write `table.md`."""
    write_atomically(path, "\n".join(table.markdown() for table in tables))


def _by_row(results: Sequence[Result]) -> dict[str, list[Result]]:
    """Lines by row, in order of appearance; world and split join the label only where they tell rows apart."""
    worlds, splits = {result.world for result in results}, {result.split for result in results}
    rows: dict[str, list[Result]] = {}
    for result in results:
        parts = [result.method, *([result.world] * (len(worlds) > 1)), *([result.split] * (len(splits) > 1))]
        rows.setdefault(" · ".join(parts), []).append(result)
    return rows


def _number(lines: Sequence[Result]) -> Interval | None:
    """One cell from the lines of one method and metric."""
    of_seeds = [line for line in lines if line.seed is not None]
    if len(of_seeds) > 1:
        return interval_over_seeds([line.value for line in of_seeds])
    if not lines:
        return None
    line = (of_seeds or list(lines))[0]
    return Interval(line.value, line.ci_low, line.ci_high)


def _caption(rows: Mapping[str, Sequence[Result]]) -> str:
    kinds: dict[str, list[str]] = {}
    for label, lines in rows.items():
        kinds.setdefault(_kind(lines), []).append(label)
    if len(kinds) == 1:
        said = next(iter(kinds))
    else:
        said = "; ".join(f"{', '.join(labels)}: {kind}" for kind, labels in kinds.items())
    steps = sorted({line.env_steps for lines in rows.values() for line in lines if line.env_steps is not None})
    trained = (
        f" Trained for {' to '.join(f'{step:,}' for step in dict.fromkeys((steps[0], steps[-1])))} env steps."
        if steps
        else ""
    )
    return f"Intervals of 95 %: {said}.{trained}"


def _kind(lines: Sequence[Result]) -> str:
    """What the interval of a row is over."""
    seeds = {line.seed for line in lines if line.seed is not None}
    episodes = max((line.n_episodes or 0 for line in lines), default=0)
    if len(seeds) == 1 and all(line.ci_low is None for line in lines):
        return "one seed, none"
    if len(seeds) == 1:
        return f"over {episodes:,} episodes of one seed (1.96 sd / sqrt n, shares by Wilson)"
    many = f"{len(seeds)} seeds" if seeds else "seeds"
    return f"over {many} (bootstrap)" + (f", {episodes:,} episodes a seed" if episodes else "")


def _in_lines(label: str) -> str:
    """A method's name in short lines, so that in 80 columns the numbers beside it stay whole."""
    return "\n".join(textwrap.wrap(label.replace("_", "_ "), _LABEL_WIDTH, break_long_words=False)).replace("_ ", "_")


def _cell(number: Interval | None, separator: str, comma: str = ", ") -> str:
    if number is None:
        return ""
    value, low, high = number
    digits = 1 if abs(value) >= 10 else 3
    text = f"{value:.{digits}f}"
    return text if low is None or high is None else f"{text}{separator}[{low:.{digits}f}{comma}{high:.{digits}f}]"
