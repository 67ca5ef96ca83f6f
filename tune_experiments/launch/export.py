"""`concord export`: results of runs as CSV, Parquet or LaTeX."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import tyro
from rich.console import Console

from rl_envs.core.errors import did_you_mean
from tune_experiments.core.errors import UserError
from tune_experiments.core.files import write_atomically
from tune_experiments.experiment.finding import find_stored
from tune_experiments.launch import saved_results
from tune_experiments.results.rows import Result, read_results
from tune_experiments.results.tables import PaperTable

Format: TypeAlias = Literal["csv", "latex", "parquet"]
_BY_SUFFIX: Mapping[str, Format] = {".tex": "latex", ".parquet": "parquet"}


@dataclass(frozen=True)
class Export:
    """Export results: a row for each test of a trial (csv, parquet), or the tables of the runs (latex)."""

    paths: tyro.conf.Positional[tuple[Path, ...]]
    """Run folders, or files that `table --save` has written; a column names the run."""
    format: Format | None = None
    """csv; latex, tables with means and intervals for the package booktabs; or parquet, which needs --out (None: by the
    suffix of --out, .tex or .parquet, otherwise csv)."""
    out: Path | None = None
    """File to write, which is replaced (None: standard output)."""
    metrics: tuple[str, ...] = ()
    """Metrics to include, for latex columns of the tables (default: all)."""
    allow: tuple[str, ...] = ()
    """Modules outside Concord that may be imported if a run folder names them, for latex."""


def export(command: Export, console: Console) -> None:
    """Print or write the results of runs."""
    from tune_experiments.results.export import to_csv, to_latex, to_parquet, trial_columns

    if not command.paths:
        raise UserError("write concord export RUN [RUN ...]")
    chosen = command.format or _BY_SUFFIX.get(command.out.suffix if command.out else "", "csv")
    if chosen == "parquet" and command.out is None:
        raise UserError("--format parquet is binary: name a file with --out")
    names = _names(command.paths)
    results = {name: _read(path) for name, path in names.items()}
    content: str | bytes
    if chosen == "latex":
        tables = {name: _tables(path, results[name], command.allow) for name, path in names.items()}
        check_metrics(command.metrics, [metric for some in tables.values() for one in some for metric in one.metrics])
        content = to_latex(tables, command.metrics)
    else:
        check_metrics(command.metrics, [line.metric for lines in results.values() for line in lines])
        columns = trial_columns(results, command.metrics)
        content = to_csv(columns) if chosen == "csv" else to_parquet(columns)
    if command.out is None:
        sys.stdout.write(str(content))
        return
    write_atomically(command.out, content)
    console.print(f"wrote {command.out}")


def _names(paths: Sequence[Path]) -> dict[str, Path]:
    """A name for each run: that of its folder or file, or its path where two have the same."""
    short = [path.resolve().name.removesuffix(saved_results.SUFFIX) for path in paths]
    return {name if short.count(name) == 1 else str(path): path for name, path in zip(short, paths, strict=True)}


def _read(path: Path) -> Sequence[Result]:
    if path.name.endswith(saved_results.SUFFIX):
        return saved_results.read_saved(path).results
    if not (results := read_results(path)):
        raise UserError(f"{path} has no results; name the folder of a run that has finished a trial")
    return results


def _tables(path: Path, results: Sequence[Result], allow: Sequence[str]) -> Sequence[PaperTable]:
    from tune_experiments.launch.report import make_tables
    from tune_experiments.run.run_folder import CONFIG_FILE, read_config, read_sessions

    if path.name.endswith(saved_results.SUFFIX):
        return saved_results.read_saved(path).tables()
    experiment, config = find_stored(*read_config(path), allow, path / CONFIG_FILE)
    return make_tables(experiment, config, results, read_sessions(path, may_be_missing=True))


def check_metrics(metrics: Sequence[str], known: Sequence[str]) -> None:
    """Refuse metrics that no run has.

    Raises:
        UserError: the first of them.
    """
    for metric in metrics:
        if metric not in known:
            hint = did_you_mean(metric, known, f"there are {', '.join(dict.fromkeys(known))}")
            raise UserError(f"--metrics: no result has the metric {metric!r}; {hint}")
