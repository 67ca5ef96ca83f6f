"""Tables, figures and videos of a run folder, at the end of a run and by the command `table`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from tune_experiments.core.drawing import attempt, describe_drawings
from tune_experiments.core.storage_uri import join_path
from tune_experiments.experiment.base_experiment import BaseExperiment, Config
from tune_experiments.experiment.finding import trial_folders, trusting
from tune_experiments.results.main_comparison import with_verdicts
from tune_experiments.results.rows import Result, read_results
from tune_experiments.results.tables import TABLE_FILE, PaperTable, write_tables
from tune_experiments.run.final_evaluation import TEST_RESULTS_FILE
from tune_experiments.run.model_notes import describe_models, with_model_notes
from tune_experiments.run.run_folder import CHANGED, read_sessions, with_announcement_times


def show_results(
    experiment: BaseExperiment[Config], config: Config, out: Path, console: Console, uri: str | None = None
) -> tuple[Sequence[Result], Sequence[PaperTable]]:
    """Write and print tables and figures of a run folder, which may be a temporary copy of an object store.

    Returns:
        The rows, and the tables made of them.
    """
    results = read_results(out)
    if not results:
        return [], []
    tables = make_tables(experiment, config, results, out)
    write_tables(out / TABLE_FILE, tables)
    for table in tables:
        console.print(table.for_terminal(console.width), crop=False)
    trials = trial_folders(experiment, config, out)
    with trusting(experiment, config):
        drawn = [
            *attempt("figures", lambda: experiment.figures(out, trials)),
            *attempt("page", lambda: experiment.page(out, trials)),
        ]
    for line in describe_drawings(drawn, lambda path: join_path(uri, str(path.relative_to(out))) if uri else path):
        console.print(line)
    where = f"fetch {join_path(uri, 'trials')} and name that folder, " if uri else ""
    folder = "FOLDER" if uri else out / "trials"
    console.print(f"curves: {where}tensorboard --logdir {folder}")
    return results, tables


def make_tables(
    experiment: BaseExperiment[Config], config: Config, results: Sequence[Result], out: Path
) -> Sequence[PaperTable]:
    """The tables of a run folder, with verdicts, notes from its sessions, and trials that have no results."""
    sessions = read_sessions(out, may_be_missing=True)
    comparisons = with_announcement_times(experiment.main_comparisons(config), sessions)
    tables = with_model_notes(experiment.tables(results), describe_models(sessions))
    tables = with_changed_flags(with_verdicts(tables, comparisons, results), changed_flags(sessions))
    tested = {(line.method, line.seed) for line in results}
    lacking = [
        f"{method} seed {seed}"
        for method, seeds in trial_folders(experiment, config, out).items()
        for seed, folder in seeds.items()
        if (method, seed) not in tested and not (folder / TEST_RESULTS_FILE).exists()
    ]
    note = f" Not tested, and so left out: {', '.join(lacking)}." if lacking else ""
    return [dataclasses.replace(table, caption=table.caption + note) for table in tables]


def changed_flags(sessions: Sequence[Mapping[str, Any]]) -> list[str]:
    """Flags that changed between the sessions of a run, with their former values."""
    lists = (session.get(CHANGED) for session in sessions)
    return list(dict.fromkeys(str(flag) for one in lists if isinstance(one, list) for flag in one))


def with_changed_flags(tables: Sequence[PaperTable], changed: Sequence[str]) -> list[PaperTable]:
    """The tables; captions name the flags that changed between sessions."""
    note = f" Continued with other flags: {'; '.join(changed)}." if changed else ""
    return [dataclasses.replace(table, caption=table.caption + note) for table in tables]
