"""Tables, figures and videos of a run folder, at the end of a run and by the command `table`."""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from tune_experiments.core.config_path import grown_values
from tune_experiments.core.drawing import attempt, describe_drawings, with_older
from tune_experiments.core.storage_uri import join_path
from tune_experiments.experiment.base_experiment import BaseExperiment, Config
from tune_experiments.experiment.finding import trial_folders, trusting
from tune_experiments.results.rows import Result, read_results
from tune_experiments.results.tables import TABLE_FILE, PaperTable, write_tables
from tune_experiments.run.final_evaluation import is_tested_with
from tune_experiments.run.run_folder import (
    changed_flags,
    describe_models,
    read_sessions,
    with_announcement_times,
    with_run_notes,
)
from tune_experiments.search.folder import SEARCH_FILE

_PLOTS_OF_OTHERS = ("comparison", "profiles", "search")
"""Plots in a run folder that `compare` and searches draw."""


def show_results(
    experiment: BaseExperiment[Config], config: Config, out: Path, console: Console, uri: str | None = None
) -> tuple[Sequence[Result], Sequence[PaperTable]]:
    """Write and print tables and figures of a run folder, perhaps a temporary copy of a store; rows and tables."""
    results = read_rows(experiment, out)
    if not results:
        return [], []
    tables = make_tables(experiment, config, results, out)
    write_tables(out / TABLE_FILE, tables)
    for table in tables:
        console.print(table.for_terminal(console.width), crop=False)
    trials = tested_trials(experiment, config, out)
    with trusting(experiment, config):
        drawn = [
            *attempt("figures", lambda: experiment.figures(out, trials)),
            *attempt("page", lambda: experiment.page(out, trials)),
        ]
    plots = [path for path in out.glob("plots/*") if path.stem not in _PLOTS_OF_OTHERS]
    drawn = with_older(drawn, *plots, out / "videos", *out.glob("*.html"))
    for line in describe_drawings(drawn, lambda path: join_path(uri, str(path.relative_to(out))) if uri else path):
        console.print(line)
    where = f"fetch {join_path(uri, 'trials')} and name that folder, " if uri else ""
    folder = "FOLDER" if uri else shlex.quote(str(out / "trials"))
    console.print(f"curves: {where}tensorboard --logdir {folder}")
    return results, tables


def read_rows(experiment: BaseExperiment, out: Path) -> list[Result]:
    """Rows of a run under the present caption, whatever it was in earlier sessions; those of a search as they are."""
    results = read_results(out)
    return results if (out / SEARCH_FILE).exists() else [replace(line, table=experiment.caption) for line in results]


def make_tables(
    experiment: BaseExperiment[Config], config: Config, results: Sequence[Result], out: Path
) -> Sequence[PaperTable]:
    """The tables of a run folder, with verdicts, notes from its sessions, and trials that have no results."""
    sessions = read_sessions(out, may_be_missing=True)
    comparisons = with_announcement_times(experiment.main_comparisons(config), sessions)
    return with_run_notes(
        experiment.tables(results),
        results,
        comparisons,
        describe_models(sessions),
        changed_flags(sessions),
        untested_trials(experiment, config, results, out),
        experiment.is_other_task(config),
    )


def tested_trials(experiment: BaseExperiment[Config], config: Config, out: Path) -> dict[str, dict[int, Path]]:
    """Trial folders with test results of the present budget, as those of the tables: method -> seed -> folder."""
    budgets = grown_values(config)
    found = {
        method: {seed: folder for seed, folder in seeds.items() if is_tested_with(folder, budgets)}
        for method, seeds in trial_folders(experiment, config, out).items()
    }
    return {method: seeds for method, seeds in found.items() if seeds}


def untested_trials(
    experiment: BaseExperiment[Config], config: Config, results: Sequence[Result], out: Path
) -> list[str]:
    """Method and seed of each trial of a run folder without test results of the present budget."""
    shown, tested = {(line.method, line.seed) for line in results}, tested_trials(experiment, config, out)
    return [
        f"{method} seed {seed}"
        for method, seeds in trial_folders(experiment, config, out).items()
        for seed in seeds
        if (method, seed) not in shown and seed not in tested.get(method, {})
    ]
