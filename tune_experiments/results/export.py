"""Results for other programs: a row for each test of a trial as CSV or Parquet, and tables for LaTeX."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tune_experiments.results.rows import Result
from tune_experiments.results.tables import PaperTable

_ESCAPED = {character: f"\\{character}" for character in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "·": r"\textperiodcentered{}",
    "π": r"$\pi$",
    "−": "$-$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
}


def trial_columns(runs: Mapping[str, Sequence[Result]], metrics: Sequence[str] = ()) -> dict[str, list[Any]]:
    """One row for each test of a trial, as columns: metrics by name, None where a row has none; by default all metrics.

    `episodes` are those of the metric with the most. A metric with the name of another column is `metric.NAME`.
    """
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for run, results in runs.items():
        for line in results:
            identity = {"run": run} | _identity(line)
            row = rows.setdefault((run, line.trial), identity)
            row["episodes"] = max(row["episodes"] or 0, line.n_episodes or 0) or None
            if not metrics or line.metric in metrics:
                row[f"metric.{line.metric}" if line.metric in identity else line.metric] = line.value
    columns = dict.fromkeys(column for row in rows.values() for column in row)
    return {column: [row.get(column) for row in rows.values()] for column in columns}


def _identity(line: Result) -> dict[str, Any]:
    return {
        "experiment": line.experiment,
        "method": line.method,
        "task": line.world,
        "condition": line.condition,
        "split": line.split,
        "seed": line.seed,
        "env_steps": line.env_steps,
        "episodes": line.n_episodes,
        "cpu_seconds": line.cpu_seconds,
    }


def to_csv(columns: Mapping[str, Sequence[Any]]) -> str:
    """CSV with a header; None is an empty field."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([list(columns), *zip(*columns.values(), strict=True)])
    return text.getvalue()


def to_parquet(columns: Mapping[str, Sequence[Any]]) -> bytes:
    """The content of a Parquet file; None is null."""
    import pyarrow
    from pyarrow import parquet

    content = io.BytesIO()
    parquet.write_table(pyarrow.table(dict(columns)), content)
    return content.getvalue()


def to_latex(runs: Mapping[str, Sequence[PaperTable]], metrics: Sequence[str] = ()) -> str:
    r"""Tables for LaTeX's package booktabs, one `table` environment for each title, with captions of runs as comments.

    Args:
        runs: Name of a run -> its tables; the tables of several runs have a column that names the run.
        metrics: Columns to include; by default all. A table without any of them is left out.
    """
    by_title: dict[str, list[tuple[str, PaperTable]]] = {}
    for run, tables in runs.items():
        for table in tables:
            if not metrics or set(metrics) & set(table.metrics):
                by_title.setdefault(table.title, []).append((run, table))
    return "\n".join(_environment(title, parts, metrics, len(runs) > 1) for title, parts in by_title.items())


def _environment(title: str, parts: Sequence[tuple[str, PaperTable]], metrics: Sequence[str], names_run: bool) -> str:
    there = list(dict.fromkeys(metric for _, table in parts for metric in table.metrics))
    shown = [metric for metric in there if not metrics or metric in metrics]
    lines = [_line([*["run"] * names_run, "method", *shown]), r"\midrule"]
    for run, table in parts:
        for label, cells in table.texts():
            numbers = dict(zip(table.metrics, cells, strict=True))
            lines.append(_line([*[run] * names_run, label, *(numbers.get(metric, "") for metric in shown)]))
    has_range = any(cell and cell.seeds for _, table in parts for _, cells in table.rows for cell in cells)
    ranges = ", or with the lowest and highest seed in parentheses" * has_range
    return "\n".join(
        [
            *(f"% {' '.join(f'{run}: {table.caption}'.split())}" for run, table in parts),
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{escape(title)}. Means with intervals of 95 \%{ranges}.}}",
            rf"\begin{{tabular}}{{{'l' * (1 + names_run)}{'r' * len(shown)}}}",
            r"\toprule",
            *lines,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def _line(cells: Iterable[str]) -> str:
    row = " & ".join(re.sub(r"(?<![\w.])-(?=[\d.])", "$-$", escape(cell)) for cell in cells) + r" \\"
    return "{}" + row if row.startswith(("[", "*")) else row  # LaTeX would take it for an option of the line before


def escape(text: str) -> str:
    """A text with LaTeX's special characters escaped."""
    return "".join(_ESCAPED.get(character, character) for character in text)
