"""Tables, figures and videos of a run folder, at the end of a run and by the command `table`."""

import shlex
from collections.abc import Sequence

from rich.console import Console

from tune_experiments.core.drawing import attempt, describe_drawings, with_older
from tune_experiments.core.errors import UserError
from tune_experiments.core.storage_uri import join_path
from tune_experiments.experiment.finding import trusting
from tune_experiments.launch.saved_results import SavedRun, make_record
from tune_experiments.results.rows import Result, read_results
from tune_experiments.results.tables import TABLE_FILE, PaperTable, write_tables
from tune_experiments.run.run_folder import read_sessions
from tune_experiments.run.stored_run import StoredRun
from tune_experiments.search.folder import REPORT_FILE, SEARCH_FILE

_PLOTS_OF_OTHERS = ("comparison", "profiles", "search")
"""Plots in a run folder that `compare` and searches draw."""


def show_results(
    run: StoredRun, console: Console, uri: str | None = None
) -> tuple[Sequence[Result], Sequence[PaperTable]]:
    """Write and print tables and figures of a run folder; rows and tables."""
    return show_record(run, record(run), console, uri)


def show_record(
    run: StoredRun, saved: SavedRun, console: Console, uri: str | None = None
) -> tuple[Sequence[Result], Sequence[PaperTable]]:
    """The same, of what `record` has read."""
    out, experiment = run.path, run.experiment
    if not saved.results:
        return [], []
    tables, trials = saved.tables(experiment), run.tested
    write_tables(out / TABLE_FILE, tables)
    for table in tables:
        console.print(table.for_terminal(console.width), crop=False)
    with trusting(experiment, run.config):
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
    return list(saved.results), tables


def record(run: StoredRun, needs_provenance: bool = False) -> SavedRun:
    """What is known of a run, from its folder; UserError for a search, or for sessions without provenance if needed."""
    if (run.path / SEARCH_FILE).exists():
        raise UserError(f"{run.path} holds a search, which has no tables: read its {REPORT_FILE}")
    results, sessions = read_results(run.path), read_sessions(run.path, may_be_missing=not needs_provenance)
    return make_record(run.experiment, run.config, results, sessions, run.untested(results))
