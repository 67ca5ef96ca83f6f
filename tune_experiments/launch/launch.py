"""One run of an experiment from its configuration to its tables: called by the command line and by `Experiment.run`."""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, cast

from rich.console import Console
from rich.markup import escape

from rl_envs.core.errors import CustomEnvError
from rl_envs.wrappers import hangs
from rl_models.errors import InputError
from rl_models.rllib.workers import Workers
from rl_models.runtime.device import refusing_gpu
from tune_experiments.core.config_json import config_to_json
from tune_experiments.core.config_path import continuation_rules, grown_values, with_flags
from tune_experiments.core.errors import UserError, one_line
from tune_experiments.core.files import check_folder
from tune_experiments.core.storage_uri import parse_uri
from tune_experiments.core.terminal import Terminal
from tune_experiments.experiment.base_experiment import BaseExperiment, Config
from tune_experiments.experiment.command_line import RunOptions
from tune_experiments.experiment.config_file import CONFIG_YAML, check_for_secrets, write_config_file
from tune_experiments.experiment.curriculum import Plan
from tune_experiments.experiment.finding import trial_name
from tune_experiments.experiment.unread_flags import check_flags
from tune_experiments.launch.finished_run import Callback, Run
from tune_experiments.launch.report import show_results
from tune_experiments.results.main_comparison import announcements
from tune_experiments.results.rows import Result, read_results, remove_rows, replace_rows
from tune_experiments.results.tables import PaperTable
from tune_experiments.run.curriculum_state import check_transfers
from tune_experiments.run.final_evaluation import is_tested_with, read_test_results
from tune_experiments.run.ray_cluster import (
    check_device,
    check_this_machine,
    ray_cluster,
    trials_at_once,
    usable_gpus,
)
from tune_experiments.run.remote_sync import RemoteSync, open_run
from tune_experiments.run.reports import TrialWatch
from tune_experiments.run.request import Request, is_past, make_plan, make_request, slice_end, trained_env_steps
from tune_experiments.run.run_folder import ANNOUNCED, CONFIG_FILE, MODELS, RunFolder, read_config, read_sessions
from tune_experiments.run.speed import cost
from tune_experiments.run.stored_run import StoredRun
from tune_experiments.run.trial_errors import with_advice
from tune_experiments.run.tuning import STOPPED, describe_ignored_processes, graceful_stop, run_local_trials, run_trials
from tune_experiments.search.folder import check_not_search_folder
from tune_experiments.search.run_search import Search, TuneSession

DEFAULT_OUT = "runs"


def launch(
    experiment: BaseExperiment[Config], config: Config, options: RunOptions, callbacks: Sequence[Callback] = ()
) -> Run[Config]:
    """Train every method with every seed, evaluate it, and write tables, figures and videos; or search.

    Raises UserError, mostly before training, and KeyboardInterrupt where the run was stopped; the same call continues
    it.
    """
    # Before the folder is claimed: otherwise the folder of a mistaken command would refuse the corrected one.
    ends_at = slice_end(options.slice_seconds)
    kind = "_search" if options.is_search else ""
    out = options.out or Path(DEFAULT_OUT) / f"{experiment.run_name(config)}_{options.preset}{kind}"
    config = check_run(experiment, config, options, out)
    search = Search(experiment, config, options) if options.is_search else None
    # Settings of a search are compared, so all must be trained alike: other workers mean other batches.
    rules = continuation_rules(config) if search is None else {}
    with (
        refusing_gpu(options.device == "cpu"),
        open_run(out, config_to_json(config), experiment.entry_point, options.seeds, rules) as (folder, sync),
    ):
        sessions = read_sessions(folder.path, may_be_missing=True)
        seeds = [seed for session in sessions for seed in session.get("seeds", ())]
        whole = replace(options, seeds=tuple(dict.fromkeys([*seeds, *options.seeds])))
        write_config_file(folder.path / CONFIG_YAML, experiment.entry_point, config, options if search else whole)
        console = Terminal()
        session = Session(experiment, config, options, folder, sync, console, callbacks, ends_at)
        try:
            run = session.train_and_evaluate() if search is None else session.search(search)
        except (CustomEnvError, InputError) as error:
            raise UserError(with_flags(one_line(error), config)) from error
        except KeyboardInterrupt:
            console.print(STOPPED)
            raise KeyboardInterrupt(STOPPED) from None
    for callback in callbacks if run.is_complete else ():
        callback.on_end(run)
    return run


@dataclass(frozen=True)
class Session(Generic[Config]):
    """One session of a run."""

    experiment: BaseExperiment[Config]
    config: Config
    options: RunOptions
    folder: RunFolder
    sync: RemoteSync | None
    console: Console
    callbacks: Sequence[Callback]
    ends_at: float | None = None

    @property
    def out(self) -> str:
        """Folder or URI of the results, as the user named it."""
        return self.folder.uri or str(self.folder.path)

    @property
    def stored(self) -> StoredRun[Config]:
        """The run folder, to read."""
        return StoredRun(self.folder.path, self.experiment, self.config)

    def train_and_evaluate(self) -> Run[Config]:
        """Every method with every seed."""
        check_not_search_folder(self.folder.path)
        self._remove_outdated_rows()
        requests = trial_requests(self.experiment, self.config, self.options.seeds, self.folder)
        form: Request = {"is_local": True} if self.options.local else {}
        form |= {} if self.ends_at is None else {"ends_at": self.ends_at}
        requests = [request | form for request in requests]
        failures = self._train_unfinished([TuneSession(requests)])
        for by_seed in self.stored.tested.values():
            for folder in by_seed.values():  # also of seeds of earlier sessions, whose lines may have been deleted
                replace_rows(self.folder.results, read_test_results(folder) or [])
        if any(self._is_unfinished(request) and request["name"] not in failures for request in requests):
            if self.ends_at is None:  # somebody has sent Tune its own signal, SIGUSR1
                raise KeyboardInterrupt
            self.console.print(self._describe_progress(requests))
            return replace(self._ended(read_results(self.folder.path), [], failures), is_complete=False)
        results, tables = show_results(self.stored, self.console, self.folder.uri)
        return self._ended(results, tables, failures)

    def _remove_outdated_rows(self) -> None:
        """Remove results of trials with another budget; those trials are tested again."""
        for method, by_seed in self.stored.trials.items():
            for seed, folder in by_seed.items():
                rows = read_test_results(folder)
                if rows and not is_tested_with(folder, grown_values(self.config)):
                    remove_rows(self.folder.results, rows)
                    if seed not in self.options.seeds:
                        self.console.print(
                            f"{trial_name(method, seed)} was trained with another budget: its results are left out "
                            f"until --seeds includes {seed}"
                        )

    def _describe_progress(self, requests: Sequence[Request]) -> str:
        done = budget = 0
        for request in requests:
            whole = make_plan(self.experiment, request).budget_env_steps
            trained = trained_env_steps(request)
            budget += whole
            done += min(trained, whole) if self._is_unfinished(request) else whole
        return f"slice ended: {done:,} of {budget:,} env steps; the same command continues"

    def _is_unfinished(self, request: Request) -> bool:
        folder = Path(request["folder"])
        if self.options.is_search:
            return read_test_results(folder) is None
        return not is_tested_with(folder, grown_values(self.config))

    def search(self, search: Search) -> Run[Config]:
        """Settings of every method, without the final evaluation."""
        if self.sync is not None and search.by not in ("random", "grid"):
            raise UserError(
                f"--search-by {search.by} compares trials during training: give --out a folder, not {self.sync.uri}"
            )
        search.claim(self.folder.path)
        failures = self._train_unfinished(search.sessions(self.folder))
        search.show(self.folder, self.console)
        return self._ended(read_results(self.folder.path), [], failures)

    def _ended(self, results: Sequence[Result], tables: Sequence[PaperTable], failures: dict[str, str]) -> Run[Config]:
        for name, reason in failures.items():
            message = f"[red]{name} failed:[/] {escape(with_advice(reason, self.config))}"
            self.console.print(message, markup=True)
        return Run(self.experiment, self.config, self.out, results, tables, failures)

    def _train_unfinished(self, sessions: Sequence[TuneSession]) -> dict[str, str]:
        """Print the run's header and train unfinished trials; failures by trial name."""
        self.console.print(f"[bold]{self.experiment.caption}[/]", markup=True)
        self.console.print(f"preset {self.options.preset}, results in {self.out}", markup=False)
        has_paper = self.experiment.reference_preset in self.experiment.presets
        for deviation in self.experiment.deviations(self.config):
            self.console.print(f"  {'differs from the paper' if has_paper else 'note'}: {deviation}")
        config, workers = self.config, getattr(self.config, "workers", None)
        if self.options.local and isinstance(workers, Workers):
            config = cast(Config, replace(cast(Any, config), workers=workers.in_one_process()))
        if steps := self.experiment.optimiser_steps(config):
            self.console.print(f"  {steps}")
        comparisons = self.experiment.main_comparisons(self.config)
        announced = announcements(comparisons, self.experiment.methods(self.config))
        for announcement in announced:
            self.console.print(announcement)
        self.folder.record(ANNOUNCED, announced)
        for change in self.folder.changed:
            self.console.print(f"continues with {change}")
        left = [replace(one, requests=[*filter(self._is_unfinished, one.requests)]) for one in sessions]
        if not any(session.requests for session in left):
            self.console.print("all trials are trained; making the report")
            return {}
        return self._train(left)

    def _train(self, sessions: Sequence[TuneSession]) -> dict[str, str]:
        requests = [request for session in sessions for request in session.requests]
        plans = {request["name"]: make_plan(self.experiment, request) for request in requests}
        folders = {request["name"]: Path(request["folder"]) for request in requests}
        begun = {request["name"]: steps for request in requests if (steps := trained_env_steps(request))}
        for name, steps in begun.items():
            self.console.print(f"{name} continues from {steps:,} of {plans[name].budget_env_steps:,} env steps")
        knows_models = self._note_models()
        if self.sync is not None:
            self.sync.push()  # recorded before training, so that comparisons are declared in advance
        watch = TrialWatch(folders, self.callbacks) if self.callbacks else None
        with contextlib.ExitStack() as stack:
            ray = None
            if not self.options.local:
                self.console.print("connecting to Ray")
                ray = stack.enter_context(ray_cluster())
            signals = stack.enter_context(graceful_stop(self.console.print))
            stack.enter_context(self.experiment.shared(self.config))
            try:
                if ray is None:
                    failures = self._run_local_trials(requests, begun, plans, watch)
                else:
                    failures = self._run_sessions(ray, sessions, begun, plans, watch, signals)
            except Exception as error:
                if watch is not None and watch.failure is not None:
                    raise watch.failure from error  # Tune's final error is not the cause
                raise
        if not knows_models:
            self._note_models()
        if self.sync is not None:
            self.sync.pull("trials/")
        if watch is not None:
            watch.finish()
        if signals:  # Tune has returned the results so far
            raise KeyboardInterrupt
        if is_past(self.ends_at) and not failures and not any(self._has_progress(one, begun) for one in requests):
            seconds = self.options.slice_seconds
            raise UserError(f"no trial made an update in --slice-seconds {seconds:g}; increase it")
        return failures

    def _has_progress(self, request: Request, begun: Mapping[str, int]) -> bool:
        return not self._is_unfinished(request) or trained_env_steps(request) > begun.get(request["name"], 0)

    def _note_models(self) -> bool:
        """Print and record the pretrained weights of this session; whether all are on this machine."""
        from rl_models.text.weights_identity import model_identities  # torch is slow to import

        if models := model_identities(self.config):
            self.folder.record(MODELS, models)
        for model in models:
            known = ", ".join(f"{key} {model[key]}" for key in ("revision", "weights_sha256") if model[key])
            self.console.print(f"pretrained model: {model['name']} ({known or 'downloaded by the first trial'})")
        return all(model["weights_sha256"] for model in models)

    def _run_local_trials(
        self, requests: list[Request], begun: Mapping[str, int], plans: Mapping[str, Plan], watch: TrialWatch | None
    ) -> dict[str, str]:
        asked = (self.experiment.plan(self.config, one["method"], one["seed"], None).workers for one in requests)
        for sentence in dict.fromkeys(filter(None, map(describe_ignored_processes, asked))):
            self.console.print(sentence)
        self._print_cost(plans, begun, 1)
        return run_local_trials(requests, watch=watch, **self._display(plans))

    def _print_cost(self, plans: Mapping[str, Plan], begun: Mapping[str, int], concurrent: int) -> None:
        """Print the cost of the training that is left, except for slices."""
        if self.ends_at is None:
            trained = [begun.get(name, 0) for name in plans]
            self.console.print(cost(list(plans.values()), concurrent, self.console.print, trained))
        self.console.print("starting trials")

    def _display(self, plans: Mapping[str, Plan]) -> dict[str, Any]:
        stage = {"stage": "stage"} if any(plan.is_staged for plan in plans.values()) else {}
        return {
            "budgets": {name: plan.budget_env_steps for name, plan in plans.items()},
            "columns": stage | dict(self.experiment.columns),
        }

    def _run_sessions(
        self,
        ray: Any,
        sessions: Sequence[TuneSession],
        begun: Mapping[str, int],
        plans: Mapping[str, Plan],
        watch: TrialWatch | None,
        signals: list[int],
    ) -> dict[str, str]:
        """Run sessions of Ray Tune on the cluster, each with as many trials as fit; started trials come first."""
        workers, device = [plan.workers for plan in plans.values()], self.options.device
        has_gpus, at_once = usable_gpus(ray, device), trials_at_once(ray, workers, device)
        concurrent = min(at_once, len(plans), self.options.max_concurrent_trials or at_once)
        self._print_cost(plans, begun, concurrent)
        failures: dict[str, str] = {}
        for session in sessions:
            requests = sorted(session.requests, key=lambda request: request["name"] not in begun)
            if not requests:
                continue
            failures |= run_trials(
                requests,
                concurrent=min(concurrent, len(requests)),
                out=self.folder.path,
                **self._display({request["name"]: plans[request["name"]] for request in requests}),
                has_gpus=has_gpus,
                searcher=session.searcher,
                tune_scheduler=session.tune_scheduler,
                watch=watch,
                signals=signals,
            )
            if signals or (watch is not None and watch.failure is not None):
                break
        return failures


def trial_requests(
    experiment: BaseExperiment[Config], config: Config, seeds: Sequence[int], folder: RunFolder
) -> list[Request]:
    """Requests for every method with every seed; a method that does not depend on seeds is run once, in any session."""
    there = StoredRun(folder.path, experiment, config).trials
    trials = [
        (method, seed if experiment.depends_on_seed(method) else min(there.get(method, seeds[:1])))
        for seed in seeds
        for method in experiment.methods(config)
    ]
    return [
        make_request(experiment.entry_point, config, method, seed, folder, trial_name(method, seed))
        for method, seed in dict.fromkeys(trials)
    ]


def check_run(experiment: BaseExperiment[Config], config: Config, options: RunOptions, out: Path) -> Config:
    """Build the environments of the run, count this machine's CPUs if it runs here, and adapt the configuration."""
    if taken := sorted(set(options.seeds) & set(experiment.evaluation_seeds(config))):
        raise UserError(f"--seeds {taken[0]}: training and a test or validation have equal episodes: name another seed")
    check_for_secrets(config)
    check_device(options.device, options.local)
    if parse_uri(out) is None:
        check_folder(out, "--out")
    presets, may_differ = experiment.presets, options.config is not None or options.preset not in experiment.presets
    not_given = list(presets.values()) if may_differ else [presets[options.preset]]
    refuses = not may_differ and not options.search_over  # a setting of the search may read what this one does not
    for note in check_flags(config, experiment.methods(config), not_given, options.local, refuses):
        Terminal().print(note)
    try:
        hangs.timeout_seconds()
        stored = read_config(out)[1] if (out / CONFIG_FILE).is_file() else None
        config = experiment.inspect(config, Terminal().print, stored)
        experiment.check(config)
        for method in experiment.methods(config):
            plan = experiment.plan(config, method, options.seeds[0], None)
            if not options.local:
                check_this_machine(plan.workers.cpus)
            for stage in plan.stages:
                with contextlib.closing(stage.plan.make_world(num_worlds=1, first_world=0)) as world:
                    world.reset(options.seeds[0])
            if plan.is_staged:
                if options.is_search:
                    raise UserError(
                        f"--search cannot rank {method}, which trains in stages: a setting that stays in an easy stage "
                        f"would win; vary its flags yourself"
                    )
                check_transfers(plan.stages)
        if (valid_world := experiment.valid_world(config, 1)) is not None:
            with contextlib.closing(valid_world):
                valid_world.reset(0)
        if not options.is_search:
            with contextlib.closing(experiment.test_world(config, 1)) as test_world:
                test_world.reset(0)
    except ValueError as error:
        raise UserError(with_flags(one_line(error), config)) from error
    return config
