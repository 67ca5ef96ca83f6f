"""One run of an experiment from its configuration to its tables: what the command line and `Experiment.run` both do."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic

from rich.console import Console
from rich.markup import escape

from rl_envs.core.errors import ForeignEnvError
from rl_models.device import refusing_gpu
from rl_models.errors import InputError
from rl_models.training.checkpoint import load_state
from tune_experiments.core.config_path import with_flags
from tune_experiments.core.continued import grown_values, rules_of
from tune_experiments.core.drawing import attempt, lines_of
from tune_experiments.core.errors import UserError, one_line
from tune_experiments.core.storage_uri import below
from tune_experiments.core.terminal import Terminal
from tune_experiments.experiment.base_experiment import BaseExperiment, Config
from tune_experiments.experiment.command_line import RunOptions, config_to_json
from tune_experiments.experiment.curriculum import Curriculum
from tune_experiments.experiment.finding import trial_folders, trial_name, trusting
from tune_experiments.experiment.plan import Stage, TrialPlan
from tune_experiments.launch.finished_run import Callback, Run
from tune_experiments.play.loading import newest_checkpoint
from tune_experiments.results import rows as result_file
from tune_experiments.results.main_comparison import announcements, with_verdicts
from tune_experiments.results.rows import Result
from tune_experiments.results.tables import TABLE_FILE, PaperTable, write_tables
from tune_experiments.run.continuation import finished_otherwise, trained_otherwise, with_parts
from tune_experiments.run.cost import cost
from tune_experiments.run.final_evaluation import is_tested_with, read_test_results
from tune_experiments.run.placement import least_gpus, trials_that_fit
from tune_experiments.run.ray_cluster import check_capacity, check_this_machine, gpus_of_cluster, ray_cluster
from tune_experiments.run.remote_sync import RemoteSync, open_run
from tune_experiments.run.request import Request, plan_of, request_for
from tune_experiments.run.run_folder import RunFolder, read_sessions, with_announcement_times
from tune_experiments.run.stopping import STOPPED, graceful_stop
from tune_experiments.run.trial_errors import with_advice
from tune_experiments.run.trial_watch import TrialWatch
from tune_experiments.run.tuning import run_trials
from tune_experiments.run.weight_transfer import check_transfers
from tune_experiments.search.folder import refuse_search_folder
from tune_experiments.search.run_search import (
    Search,
    check_processes,
    draw_search,
    scheduler_of,
    search_requests,
    show_ranking,
)
from tune_experiments.search.scheduler import SearchSchedulers

DEFAULT_OUT = "runs"


def launch(
    experiment: BaseExperiment[Config], config: Config, options: RunOptions, callbacks: Sequence[Callback] = ()
) -> Run[Config]:
    """Train every method with every seed, evaluate it, and leave tables, figures and videos; or search.

    Args:
        experiment: what.
        config: its configuration.
        options: where to, seeds, and a search if there is to be one.
        callbacks: called when something happens.

    Raises:
        UserError: before anything is trained, what is wrong.
        KeyboardInterrupt: it was stopped; the same call continues it.
    """
    # Before the folder is claimed: a mistake must not leave one that refuses the corrected command.
    _check(experiment, config, options)
    search = draw_search(experiment, config, options) if options.searches else None
    if search is not None:
        check_processes(experiment, search, options)
    out = options.out or Path(DEFAULT_OUT) / f"{experiment.name}_{options.preset}{'_search' if search else ''}"
    # Settings of a search are compared, so all must have the same budget.
    rules = rules_of(config) if search is None else rules_of(config, may=("changes",))
    with (
        refusing_gpu(options.device == "cpu"),
        open_run(out, config_to_json(config), experiment.entry_point, options.seeds, rules) as (folder, sync),
    ):
        console = Terminal()
        session = _Session(experiment, config, options, folder, sync, console, callbacks)
        try:
            run = session.train_and_evaluate() if search is None else session.search(search)
        except (ForeignEnvError, InputError) as error:
            raise UserError(with_flags(one_line(error), config)) from error
        except KeyboardInterrupt:
            console.print(STOPPED)
            raise KeyboardInterrupt(STOPPED) from None
    for callback in callbacks:
        callback.on_end(run)
    return run


def _check(experiment: BaseExperiment[Config], config: Config, options: RunOptions) -> None:
    """Build the worlds that the run will build, and count this machine's CPUs where it will run here.

    Raises:
        UserError: a room, name or number that a world refuses, a seed of the test, or too many processes.
    """
    if taken := sorted(set(options.seeds) & set(experiment.evaluation_seeds(config))):
        raise UserError(f"--seeds {taken[0]}: validation or tests play the games of this seed; train with another one")
    try:
        experiment.check(config)
        for method in experiment.methods(config):
            plan = experiment.plan(config, method, options.seeds[0], None)
            check_this_machine(plan.workers.cpus, options.device)
            for stage in plan.stages:
                with contextlib.closing(stage.plan.make_world(num_worlds=1, first_world=0)) as world:
                    world.reset(options.seeds[0])
            if plan.is_staged:
                _check_curriculum(method, plan.stages, options)
        if (valid_world := experiment.valid_world(config, 1)) is not None:
            with contextlib.closing(valid_world):
                valid_world.reset(0)
        if not options.searches:
            with contextlib.closing(experiment.test_world(config, 1)) as test_world:
                test_world.reset(0)
    except ValueError as error:
        raise UserError(with_flags(one_line(error), config)) from error


def _check_curriculum(method: str, stages: Sequence[Stage], options: RunOptions) -> None:
    """Refuse what would come to light days later.

    Raises:
        UserError: a search.
        ValueError: a weight transfer that is impossible.
    """
    if options.searches:
        raise UserError(
            f"--search cannot rank {method}, which trains in stages: "
            f"a setting that is stuck in an easy stage would win; vary its flags yourself"
        )
    check_transfers(stages)


@dataclass(frozen=True)
class _Session(Generic[Config]):
    """A run in its open folder."""

    experiment: BaseExperiment[Config]
    config: Config
    options: RunOptions
    folder: RunFolder
    sync: RemoteSync | None
    console: Console
    callbacks: Sequence[Callback]

    @property
    def out(self) -> str:
        """Folder or URI of the results, as the user named it."""
        return self.sync.uri if self.sync is not None else str(self.folder.path)

    def train_and_evaluate(self) -> Run[Config]:
        """Every method with every seed."""
        refuse_search_folder(self.folder.path)
        self._remove_outdated_rows()
        requests = trial_requests(self.experiment, self.config, self.options.seeds, self.folder)
        failures = self._train_unfinished(requests)
        for request in requests:
            rows = read_test_results(Path(request["folder"]))
            if rows is not None and not self._is_unfinished(request):
                result_file.replace_rows(self.folder.results, rows)
        uri = self.sync.uri if self.sync else None
        results, tables = show_results(self.experiment, self.config, self.folder.path, self.console, uri)
        return self._ended(results, tables, failures)

    def _remove_outdated_rows(self) -> None:
        """Take rows of other budgets out of the results, which must not be mixed; their trials are tested again."""
        for method, by_seed in trial_folders(self.experiment, self.config, self.folder.path).items():
            for seed, folder in by_seed.items():
                rows = read_test_results(folder)
                if rows and not is_tested_with(folder, grown_values(self.config)):
                    result_file.remove_rows(self.folder.results, rows)
                    if seed not in self.options.seeds:
                        self.console.print(
                            f"{trial_name(method, seed)} has another budget and leaves the table until "
                            f"--seeds names {seed}, too"
                        )

    def _is_unfinished(self, request: Request) -> bool:
        """Whether there is training or a test left; trials of a search cannot get another budget."""
        folder = Path(request["folder"])
        if self.options.searches:
            return read_test_results(folder) is None
        return not is_tested_with(folder, grown_values(self.config))

    def search(self, search: Search) -> Run[Config]:
        """Settings of every method, without the final evaluation."""
        if self.sync is not None and search.by in ("asha", "pbt"):
            raise UserError(
                f"--search-by {search.by} compares trials on their way: give --out a folder, not {self.sync.uri}"
            )
        requests = search_requests(self.experiment, search, self.options, self.folder)
        scheduler = scheduler_of(self.experiment, search, self.options, self.folder)
        failures = self._train_unfinished(requests, scheduler)
        show_ranking(self.experiment, search, self.options, self.folder, self.console, scheduler)
        return self._ended(_read_results(self.folder.path), [], failures)

    def _ended(self, results: Sequence[Result], tables: Sequence[PaperTable], failures: dict[str, str]) -> Run[Config]:
        for name, reason in failures.items():
            said = f"[red]{name} failed:[/] {escape(with_advice(reason, self.config))}"
            self.console.print(said, markup=True)
        return Run(self.experiment, self.config, self.out, results, tables, failures)

    def _train_unfinished(self, requests: list[Request], scheduler: SearchSchedulers | None = None) -> dict[str, str]:
        """Say what is done, and do what is left of it; trial name -> what went wrong."""
        self.console.print(f"[bold]{self.experiment.caption}[/]", markup=True)
        self.console.print(f"preset {self.options.preset}, results in {self.out}", markup=False)
        for deviation in self.experiment.deviations(self.config):
            self.console.print(f"  differs from the paper: {deviation}")
        if steps := self.experiment.optimiser_steps(self.config):
            self.console.print(f"  {steps}")
        comparisons = self.experiment.main_comparisons(self.config)
        said = announcements(comparisons, self.experiment.methods(self.config))
        for announcement in said:
            self.console.print(announcement)
        self.folder.announce(said)
        for change in self.folder.changed:
            self.console.print(f"continues with {change}")
        unfinished = [request for request in requests if self._is_unfinished(request)]
        if not unfinished or (scheduler is not None and scheduler.is_over):
            self.console.print("all trials are trained; making the report again")
            return {}
        return self._train(unfinished, scheduler)

    def _train(self, requests: list[Request], scheduler: SearchSchedulers | None) -> dict[str, str]:
        plans = {request["name"]: plan_of(self.experiment, request) for request in requests}
        folders = {request["name"]: Path(request["folder"]) for request in requests}
        parts: list[str] = []
        for request in requests:
            name, plan = request["name"], plans[request["name"]]
            if (newest := newest_checkpoint(folders[name])) is not None:
                env_steps = int(newest.name.rpartition("_")[2])
                self.console.print(f"{name} continues from {env_steps:,} of {plan.budget_env_steps:,} env steps")
                parts += trained_otherwise(self.experiment, request, plan, load_state(newest))
        if not self.options.searches:
            parts += self._finished_otherwise({request["name"] for request in requests})
        for part in dict.fromkeys(parts):
            self.console.print(f"  {part}")
        if parts:
            self.folder.note_parts(list(dict.fromkeys(parts)))
        watch = TrialWatch(folders, self.callbacks) if self.callbacks else None
        self.console.print("connecting to Ray")
        with ray_cluster() as ray, graceful_stop(self.console.print), self.experiment.shared(self.config):
            try:
                failures = self._run_trials(ray, requests, plans, scheduler, watch)
            except Exception as error:
                if watch is not None and watch.failure is not None:
                    raise watch.failure from error  # what Tune says of a session that it had to end is not the cause
                raise
        if self.sync is not None:
            self.sync.pull()  # what trials have left there
        if watch is not None:
            watch.look(is_due=True)
            if watch.failure is not None:
                raise watch.failure
        # After Control-C Tune comes back with whatever there is.
        left = any(self._is_unfinished(request) and request["name"] not in failures for request in requests)
        if left if scheduler is None else not scheduler.is_over:
            raise KeyboardInterrupt
        return failures

    def _finished_otherwise(self, unfinished: Collection[str]) -> list[str]:
        """In what the trials that are trained now differ from those that have finished, also with other seeds."""
        parts: list[str] = []
        for method, by_seed in trial_folders(self.experiment, self.config, self.folder.path).items():
            for seed, folder in by_seed.items():
                if folder.name not in unfinished and (newest := newest_checkpoint(folder)) is not None:
                    entry = self.experiment.entry_point
                    request = request_for(entry, self.config, method, seed, self.folder, folder.name)
                    plan = plan_of(self.experiment, request)
                    parts += finished_otherwise(self.experiment, request, plan, load_state(newest))
        return parts

    def _run_trials(
        self,
        ray: Any,
        requests: list[Request],
        plans: Mapping[str, TrialPlan | Curriculum],
        scheduler: SearchSchedulers | None,
        watch: TrialWatch | None,
    ) -> dict[str, str]:
        """Run trials on the cluster that this process has joined, as many at once as it holds."""
        workers, device = [plan.workers for plan in plans.values()], self.options.device
        has_gpus = gpus_of_cluster(ray, device)
        gpus = max(least_gpus(one, has_gpus) for one in workers)
        at_once = check_capacity(ray, max(one.cpus for one in workers), gpus, device)
        at_once = min(trials_that_fit(one, has_gpus, at_once) for one in workers)
        if not at_once:
            raise UserError("the env runners of a trial leave no GPU to learn on: lower --workers.gpus-per-runner")
        concurrent = min(at_once, len(requests), self.options.max_concurrent_trials or at_once)
        self.console.print(cost(list(plans.values()), concurrent, self.console.print))
        self.console.print("starting trials")
        stage = {"stage": "stage"} if any(plan.is_staged for plan in plans.values()) else {}
        return run_trials(
            requests,
            {name: plan.budget_env_steps for name, plan in plans.items()},
            concurrent=concurrent,
            out=self.folder.path,
            columns=stage | dict(self.experiment.columns),
            uri=self.sync.uri if self.sync else None,
            has_gpus=has_gpus,
            scheduler=scheduler,
            watch=watch,
        )


def trial_requests(
    experiment: BaseExperiment[Config], config: Config, seeds: Sequence[int], folder: RunFolder
) -> list[Request]:
    """Every method with every seed; a row that does not depend on seeds once, with its seed in the folder or the first.

    Sessions with other seeds must not run such a row again: its trials would count as several seeds.
    """
    there = trial_folders(experiment, config, folder.path)
    trials = [
        (method, seed if experiment.depends_on_seed(method) else min(there.get(method, seeds[:1])))
        for seed in seeds
        for method in experiment.methods(config)
    ]
    return [
        request_for(experiment.entry_point, config, method, seed, folder, trial_name(method, seed))
        for method, seed in dict.fromkeys(trials)
    ]


def _read_results(out: Path) -> list[Result]:
    path = out / result_file.RESULTS_FILE
    return result_file.read(path) if path.exists() else []


def show_results(
    experiment: BaseExperiment[Config], config: Config, out: Path, console: Console, uri: str | None = None
) -> tuple[Sequence[Result], Sequence[PaperTable]]:
    """Tables and figures from what lies in a run folder, which may be a passing copy of what a store holds.

    Returns:
        the rows, and the tables made of them.
    """
    results = _read_results(out)
    if not results:
        return [], []
    sessions = read_sessions(out, may_be_missing=True)
    comparisons = with_announcement_times(experiment.main_comparisons(config), sessions)
    tables = with_parts(with_verdicts(experiment.tables(results), comparisons, results), sessions)
    write_tables(out / TABLE_FILE, tables)
    for table in tables:
        console.print(table.for_terminal(console.width), crop=False)
    trials = trial_folders(experiment, config, out)
    with trusting(experiment, config):
        drawn = [
            *attempt("figures", lambda: experiment.figures(out, trials)),
            *attempt("page", lambda: experiment.page(out, trials)),
        ]
    for line in lines_of(drawn, lambda path: below(uri, str(path.relative_to(out))) if uri else path):
        console.print(line)
    where = f"fetch {below(uri, 'trials')} and name that folder, " if uri else ""
    folder = "FOLDER" if uri else out / "trials"
    console.print(f"curves: {where}tensorboard --logdir {folder}")
    return results, tables
