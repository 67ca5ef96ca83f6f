"""What every experiment script does from its command line to its table."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from tune_experiments.experiment.command_line import RunOptions, config_to_json, parse
from tune_experiments.experiment.curriculum import Curriculum, stages_of
from tune_experiments.experiment.errors import UserError, exits_with_one_sentence
from tune_experiments.experiment.experiment import Experiment, trial_folders, trial_name
from tune_experiments.results import rows as result_file
from tune_experiments.results.tables import write_tables
from tune_experiments.run.cost import cost
from tune_experiments.run.final_evaluation import outcome_of
from tune_experiments.run.ray_cluster import check_capacity, check_this_machine, ray_cluster
from tune_experiments.run.remote_sync import Mirror, open_run
from tune_experiments.run.run_folder import RunFolder
from tune_experiments.run.tuning import Request, plan_of, request_for, run_trials
from tune_experiments.run.weight_transfer import check_handovers
from tune_experiments.search.folder import refuse_search_folder
from tune_experiments.search.run_search import (
    Search,
    agenda_of,
    check_processes,
    draw_search,
    search_requests,
    show_ranking,
)
from tune_experiments.search.scheduler import Agendas

DEFAULT_OUT = "runs"


@exits_with_one_sentence
def main(experiment: Experiment, arguments: Sequence[str] | None = None) -> int:
    """Train every method with every seed, test it, and leave table, plots and videos in the run folder.

    With `--search` instead: try settings of every method and leave their ranking.
    """
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s")
    config, options = parse(
        experiment.presets, sys.argv[1:] if arguments is None else arguments, experiment.caption, experiment.seeds
    )
    # Before the folder is claimed: a mistake must not leave one that refuses the corrected command.
    _check(experiment, config, options)
    search = draw_search(experiment, config, options) if options.searches else None
    if search is not None:
        check_processes(experiment, search, options)
    out = options.out or Path(DEFAULT_OUT) / f"{experiment.name}_{options.preset}{'_search' if search else ''}"
    with open_run(out, config_to_json(config), experiment.name, options.seeds) as (folder, mirror):
        console = Console(soft_wrap=True)
        if search is not None:
            return _search(experiment, config, options, search, folder, mirror, console)
        return _run(experiment, config, options, folder, mirror, console)


def _check(experiment: Experiment, config: Any, options: RunOptions) -> None:
    """Build the worlds that the run will build, and count this machine's CPUs where it will run here.

    Raises:
        UserError: a room, name or number that a world refuses, or too many processes.
    """
    try:
        experiment.check(config)
        for method in experiment.methods(config):
            plan = experiment.plan(config, method, options.seeds[0])
            check_this_machine(plan.workers.cpus)
            for stage in stages_of(plan):
                stage.plan.make_world(num_worlds=1, first_world=0).reset(options.seeds[0])
            if isinstance(plan, Curriculum):
                _check_curriculum(method, plan, options)
        if experiment.make_valid_world:
            experiment.make_valid_world(config, 1).reset(0)
        if not options.searches:
            experiment.make_test_world(config, 1).reset(0)
    except ValueError as error:
        raise UserError(" ".join(str(error).split())) from error


def _check_curriculum(method: str, curriculum: Curriculum, options: RunOptions) -> None:
    """Refuse what would come to light days later.

    Raises:
        UserError: a search.
        ValueError: a hand-over that cannot be.
    """
    if options.searches:
        raise UserError(
            f"--search cannot rank {method}, which trains in stages: "
            f"a setting that is stuck in an easy stage would win; vary its flags yourself"
        )
    check_handovers(curriculum)


def _run(
    experiment: Experiment, config: Any, options: RunOptions, folder: RunFolder, mirror: Mirror | None, console: Console
) -> int:
    refuse_search_folder(folder.path)
    requests = [
        request_for(experiment.name, config, method, seed, folder, trial_name(method, seed))
        for seed in options.seeds
        for method in experiment.methods(config)
    ]
    failures = _train_unfinished(experiment, config, options, requests, folder, mirror, console)
    for request in requests:
        rows = outcome_of(Path(request["folder"]))
        if rows is not None:
            result_file.replace_rows(folder.results, rows)
    show_results(experiment, config, folder.path, console, mirror.uri if mirror else None)
    return _tell(failures, console)


def _search(
    experiment: Experiment,
    config: Any,
    options: RunOptions,
    search: Search,
    folder: RunFolder,
    mirror: Mirror | None,
    console: Console,
) -> int:
    if mirror is not None and search.by in ("asha", "pbt"):
        raise UserError(f"--search-by {search.by} compares trials on their way: give --out a folder, not {mirror.uri}")
    requests = search_requests(experiment, search, options, folder)
    agenda = agenda_of(experiment, search, options, folder)
    failures = _train_unfinished(experiment, config, options, requests, folder, mirror, console, agenda)
    show_ranking(experiment, search, options, folder, console, agenda)
    return _tell(failures, console)


def _train_unfinished(
    experiment: Experiment,
    config: Any,
    options: RunOptions,
    requests: list[Request],
    folder: RunFolder,
    mirror: Mirror | None,
    console: Console,
    agenda: Agendas | None = None,
) -> dict[str, str]:
    """Say what is done, and do what is left of it; trial name -> what went wrong."""
    console.print(
        f"[bold]{experiment.caption}[/]\npreset {options.preset}, results in {mirror.uri if mirror else folder.path}"
    )
    for departure in experiment.departures(config):
        console.print(f"  differs from the paper: {departure}", highlight=False)
    unfinished = [request for request in requests if _is_unfinished(request)]
    if not unfinished or (agenda is not None and agenda.is_over):
        return {}
    return _train(experiment, config, unfinished, folder, mirror, console, agenda)


def _tell(failures: dict[str, str], console: Console) -> int:
    """The exit code."""
    for name, reason in failures.items():
        console.print(f"[red]{name} failed:[/] {reason}; the same command continues it", highlight=False)
    return 1 if failures else 0


def _train(
    experiment: Experiment,
    config: Any,
    requests: list[Request],
    folder: RunFolder,
    mirror: Mirror | None,
    console: Console,
    agenda: Agendas | None = None,
) -> dict[str, str]:
    plans = {request["name"]: plan_of(experiment, request) for request in requests}
    workers = [plan.workers for plan in plans.values()]
    stage = {"stage": "stage"} if any(isinstance(plan, Curriculum) for plan in plans.values()) else {}
    columns = stage | dict(experiment.columns)
    budgets = {name: plan.budget_env_steps for name, plan in plans.items()}
    with ray_cluster() as ray, experiment.shared(config):
        concurrent = min(
            check_capacity(ray, max(one.cpus for one in workers), max(one.gpus for one in workers)), len(requests)
        )
        console.print(cost(list(plans.values()), concurrent), highlight=False)
        uri = mirror.uri if mirror else None
        failures = run_trials(requests, budgets, concurrent, folder.path, columns, uri, agenda)
    if mirror is not None:
        mirror.pull()  # what trials have left there
    # Tune takes Control-C for itself and comes back with whatever there is.
    left = any(_is_unfinished(request) and request["name"] not in failures for request in requests)
    if left if agenda is None else not agenda.is_over:
        console.print("stopped; the same command continues from the newest checkpoints")
        raise KeyboardInterrupt
    return failures


def _is_unfinished(request: Request) -> bool:
    return outcome_of(Path(request["folder"])) is None


def show_results(experiment: Experiment, config: Any, out: Path, console: Console, uri: str | None = None) -> None:
    """Tables and pictures from what lies in a run folder, which may be a passing copy of what a store holds."""
    results = result_file.read(out / "results.jsonl") if (out / "results.jsonl").exists() else []
    if not results:
        return
    tables = experiment.tables(results)
    write_tables(out / "table.md", tables)
    for table in tables:
        console.print(table.for_terminal())
    for path in experiment.draw(out, trial_folders(experiment, config, out)):
        console.print(f"wrote {uri}/{path.relative_to(out)}" if uri else f"wrote {path}", highlight=False)
    where = f"fetch {uri}/trials and name that folder, " if uri else ""
    console.print(f"curves: {where}tensorboard --logdir {'FOLDER' if uri else out / 'trials'}", highlight=False)
