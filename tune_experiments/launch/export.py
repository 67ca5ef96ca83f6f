"""`concord export`, results of runs as CSV, Parquet or LaTeX; and results of several runs, also for `compare`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import tyro
from rich.console import Console

from rl_envs.core.errors import did_you_mean
from tune_experiments.core.config_json import first_differences
from tune_experiments.core.errors import UserError
from tune_experiments.core.files import write_atomically
from tune_experiments.experiment.finding import find_stored
from tune_experiments.launch import saved_results
from tune_experiments.results.rows import Result, read_results
from tune_experiments.results.tables import PaperTable
from tune_experiments.run.run_folder import CONFIG_FILE, read_config

Format: TypeAlias = Literal["csv", "latex", "parquet"]
_BY_SUFFIX: Mapping[str, Format] = {".csv": "csv", ".tex": "latex", ".parquet": "parquet"}


@dataclass(frozen=True)
class Export:
    """Export results: a row for each test of a trial (csv, parquet), or the tables of the runs (latex)."""

    paths: tyro.conf.Positional[tuple[Path, ...]]
    """Run folders, or files that `table --save` has written; a column names the run."""
    format: Format | None = None
    """csv; latex, tables with means and intervals for the package booktabs; or parquet, which needs --out (None: by the
    suffix of --out, .csv, .tex or .parquet; csv without --out)."""
    out: Path | None = None
    """File to write, which is replaced; its folder is made (None: standard output)."""
    metrics: tuple[str, ...] = ()
    """Metrics to include, for latex columns of the tables (default: all)."""
    allow: tuple[str, ...] = ()
    """Modules outside Concord that may be imported if a run folder names them, for latex."""


def export(command: Export, console: Console) -> None:
    """Print or write the results of runs."""
    from tune_experiments.results.export import to_csv, to_latex, to_parquet, trial_columns

    if not command.paths:
        raise UserError("write concord export RUN [RUN ...]")
    chosen = command.format or _BY_SUFFIX.get(command.out.suffix.lower() if command.out else ".csv")
    if chosen is None:
        raise UserError(f"--out {command.out} does not say which format: add --format csv, latex or parquet")
    if chosen == "parquet" and command.out is None:
        raise UserError("--format parquet is binary: name a file with --out")
    names = name_runs(command.paths)
    results = {name: read_run(path) for name, path in names.items()}
    content: str | bytes
    if chosen == "latex":
        tables = {name: _tables(path, results[name], command.allow) for name, path in names.items()}
        check_metrics(command.metrics, [metric for some in tables.values() for one in some for metric in one.metrics])
        for name, some in tables.items():
            if command.metrics and not any(set(command.metrics) & set(one.metrics) for one in some):
                print(f"{name} has none of --metrics {' '.join(command.metrics)}: left out", file=sys.stderr)
        content = to_latex(tables, command.metrics)
    else:
        check_metrics(command.metrics, [line.metric for lines in results.values() for line in lines])
        columns = trial_columns(results, command.metrics)
        content = to_csv(columns) if chosen == "csv" else to_parquet(columns)
    if command.out is None:
        sys.stdout.write(str(content))
        return
    command.out.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(command.out, content)
    console.print(f"wrote {command.out}")


def _tables(path: Path, results: Sequence[Result], allow: Sequence[str]) -> Sequence[PaperTable]:
    from tune_experiments.launch.report import make_tables

    if path.name.endswith(saved_results.SUFFIX):
        return saved_results.read_saved(path).tables()
    experiment, config = find_stored(*read_config(path), allow, path / CONFIG_FILE)
    return make_tables(experiment, config, results, path)


def name_runs(paths: Sequence[Path]) -> dict[str, Path]:
    """Run folders and saved files by their names, or by their paths where two have the same name."""
    whole = [path.resolve() for path in paths]
    if twice := [path for path, other in zip(paths, whole, strict=True) if whole.count(other) > 1]:
        raise UserError(f"{twice[0]} is named twice, and its seeds would count twice; name each run once")
    short = [path.name.removesuffix(saved_results.SUFFIX) for path in whole]
    return {name if short.count(name) == 1 else str(path): path for name, path in zip(short, paths, strict=True)}


def read_run(path: Path) -> Sequence[Result]:
    """Results of a run folder, or of a file that `table --save` has written; UserError if there are none."""
    if path.name.endswith(saved_results.SUFFIX):
        return saved_results.read_saved(path).results
    if not (results := read_results(path)):
        raise UserError(f"{path} has no results: name the folder of a run that has finished a trial")
    return results


def describe_differences(paths: Mapping[str, Path]) -> list[str]:
    """For each run folder, a sentence on settings that differ from the first folder of its experiment.

    Methods and seeds are left out.
    """
    first: dict[str, tuple[str, Any]] = {}
    sentences = []
    for name, path in paths.items():
        if (path / CONFIG_FILE).is_file():
            experiment, config = read_config(path)
            settings = {key: value for key, value in config.items() if key not in ("methods", "seeds")}
            before, reference = first.setdefault(experiment, (name, settings))
            if changed := first_differences(reference, settings):
                sentences.append(f"Settings that differ ({before} -> {name}): {'; '.join(changed)}.")
    return sentences


def check_metrics(metrics: Sequence[str], known: Sequence[str]) -> None:
    """Check that every metric is in a run."""
    for metric in metrics:
        if metric not in known:
            hint = did_you_mean(metric, known, f"there are {', '.join(dict.fromkeys(known))}")
            raise UserError(f"--metrics: no result has the metric {metric!r}; {hint}")
