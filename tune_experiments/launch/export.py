"""`concord export`, results of runs as CSV, Parquet or LaTeX; and results of several runs, also for `compare`."""

import csv
import io
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import tyro
from rich.console import Console

from rl_envs.core.errors import did_you_mean
from tune_experiments.core.config_json import first_differences
from tune_experiments.core.errors import UserError
from tune_experiments.core.files import check_folder, write_atomically
from tune_experiments.launch import saved_results
from tune_experiments.results.rows import Result, read_results
from tune_experiments.results.tables import PaperTable
from tune_experiments.run.manifest import without_run_folder
from tune_experiments.run.run_folder import CONFIG_FILE, describe_models, read_config, read_sessions

Format: TypeAlias = Literal["csv", "latex", "parquet"]
_METHODS_AND_SEEDS = re.compile(r" --(?:methods|seeds)(?:[ =](?!--)\S+)*")
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
    if not command.paths:
        raise UserError("write concord export RUN [RUN ...]")
    chosen = command.format or _BY_SUFFIX.get(command.out.suffix.lower() if command.out else ".csv")
    if chosen is None:
        raise UserError(f"--out {command.out} does not say which format: add --format csv, latex or parquet")
    if chosen == "parquet" and command.out is None:
        raise UserError("--format parquet is binary: name a file with --out")
    if command.out is not None:
        check_folder(command.out.parent, "--out")
    names = name_runs(command.paths)
    results = {name: read_run(path) for name, path in names.items()}
    content: str | bytes
    if chosen == "latex":
        tables = {name: _tables(path, command.allow) for name, path in names.items()}
        check_metrics(command.metrics, [metric for some in tables.values() for one in some for metric in one.metrics])
        for name, some in tables.items():
            if command.metrics and not any(set(command.metrics) & set(one.metrics) for one in some):
                print(f"{name} has none of --metrics {' '.join(command.metrics)}: left out", file=sys.stderr)
        content = to_latex(tables, command.metrics)
    else:
        check_metrics(command.metrics, [line.metric for lines in results.values() for line in lines])
        columns = trial_columns(results, command.metrics)
        if chosen == "csv":
            text = io.StringIO()
            csv.writer(text, lineterminator="\n").writerows([list(columns), *zip(*columns.values(), strict=True)])
            content = text.getvalue()
        else:
            import pyarrow
            from pyarrow import parquet

            file = io.BytesIO()
            parquet.write_table(pyarrow.table(columns), file)
            content = file.getvalue()
    if command.out is None:
        sys.stdout.write(str(content))
        return
    command.out.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(command.out, content)
    console.print(f"wrote {command.out}")


def _tables(path: Path, allow: Sequence[str]) -> Sequence[PaperTable]:
    if _is_saved(path):
        return saved_results.read_saved(path).tables()
    from tune_experiments.launch.report import record
    from tune_experiments.run.stored_run import StoredRun

    run = StoredRun.open(path, allow)
    return record(run).tables(run.experiment)


def name_runs(paths: Sequence[Path]) -> dict[str, Path]:
    """Run folders and saved files by their names, or by their paths where two have the same name."""
    whole = [path.resolve() for path in paths]
    if twice := [path for path, other in zip(paths, whole, strict=True) if whole.count(other) > 1]:
        raise UserError(f"{twice[0]} is named twice, and its seeds would count twice; name each run once")
    short = [path.name.removesuffix(saved_results.SUFFIX) for path in whole]
    return {name if short.count(name) == 1 else str(path): path for name, path in zip(short, paths, strict=True)}


def read_run(path: Path) -> Sequence[Result]:
    """Results of a run folder, or of a file that `table --save` has written; UserError if there are none."""
    if _is_saved(path):
        return saved_results.read_saved(path).results
    if not (results := read_results(path)):
        raise UserError(f"{path} has no results: name the folder of a run that has finished a trial")
    return results


def describe_differences(paths: Mapping[str, Path]) -> list[str]:
    """For each run, a sentence on settings that differ from its experiment's first; not on methods and seeds."""
    first: dict[str, tuple[str, Any]] = {}
    sentences = []
    by_command = any(map(_is_saved, paths.values()))
    for name, path in paths.items():
        if _is_saved(path) or (path / CONFIG_FILE).is_file():
            experiment, settings = _settings(path, by_command)
            before, reference = first.setdefault(experiment, (name, settings))
            if changed := first_differences(reference, settings):
                sentences.append(f"Settings that differ ({before} -> {name}): {'; '.join(changed)}.")
    return sentences


def _is_saved(path: Path) -> bool:
    return path.name.endswith(saved_results.SUFFIX)


def _settings(path: Path, by_command: bool) -> tuple[str, dict[str, Any]]:
    """Experiment and settings of a run: its configuration, or the commands and models, which a saved file has alone."""
    if _is_saved(path):
        saved = saved_results.read_saved(path)
        experiment, commands, models = saved.experiment, saved.commands, saved.models
    else:
        experiment, config = read_config(path)
        if not by_command:
            return experiment, {key: value for key, value in config.items() if key not in ("methods", "seeds")}
        sessions = read_sessions(path)
        commands = tuple(without_run_folder(session["command"]) for session in sessions)
        models = describe_models(sessions)
    flags = {_METHODS_AND_SEEDS.sub("", command.partition(" ")[2]) for command in commands}
    return experiment, {"command": "; ".join(sorted(flags)), "models": ", ".join(models)}


def check_metrics(metrics: Sequence[str], known: Sequence[str]) -> None:
    """Check that every metric is in a run."""
    for metric in metrics:
        if metric not in known:
            hint = did_you_mean(metric, known, f"there are {', '.join(dict.fromkeys(known))}")
            raise UserError(f"--metrics: no result has the metric {metric!r}; {hint}")


# ---- formats ---------------------------------------------------------------------------------------------------------

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


def to_latex(runs: Mapping[str, Sequence[PaperTable]], metrics: Sequence[str] = ()) -> str:
    r"""Tables for LaTeX's package booktabs, one `table` environment for each title, with captions of runs as comments.

    The tables of several runs have a column that names the run; a table without any of the metrics is left out.
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
