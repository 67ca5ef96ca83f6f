"""Trials with Ray Tune, where a trial whose process dies is restarted from its own checkpoint, or in this process."""

import contextlib
import functools
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rl_envs.wrappers import hangs
from rl_models.errors import first_line
from rl_models.rllib.workers import Workers
from rl_models.runtime.device import chosen_device, refusing_gpu, release_memory
from tune_experiments.core.config_path import grown_values
from tune_experiments.core.errors import close_broken_pipes
from tune_experiments.experiment.finding import find_experiment, read_configuration
from tune_experiments.results.trial_log import DIVERGED, DONE, FINISHED, HANGS, REFUSED, WAITS, has_diverged
from tune_experiments.run.final_evaluation import is_tested_with
from tune_experiments.run.population import member_request, train_member
from tune_experiments.run.progress import PAUSED, Progress
from tune_experiments.run.ray_cluster import NO_GPUS, Gpus, assign_gpus
from tune_experiments.run.remote_sync import synced_folder
from tune_experiments.run.reports import (
    PacedReport,
    TrialWatch,
    WandbLogger,
    report_and_upload,
    reporting_warnings,
    with_scores,
)
from tune_experiments.run.request import Request, is_past, make_plan, slice_searcher
from tune_experiments.run.stage_training import Report
from tune_experiments.run.trial import CHECKPOINTS, Trial
from tune_experiments.run.trial_errors import PermanentFailure, find_permanent_failure, waiting_for_storage

_RESTARTS = 3
_KEPT_FOR_TUNE = 3
"""Copies of a member's checkpoints that Tune keeps: with fewer it may delete one that another member needs."""


def placement_bundles(workers: Workers, gpus: Gpus) -> list[dict[str, float]]:
    """Resources to reserve for a trial: its own process first, then runners, then learners."""
    # RLlib needs aggregators on the node of their learner.
    learner = {"CPU": 1.0 + workers.aggregators, "GPU": gpus.learner}
    own = {"CPU": 1.0 + (0 if workers.learners else workers.aggregators), "GPU": gpus.own}
    runner = {"CPU": 1.0, "GPU": gpus.runner}
    return [own, *[runner] * workers.runners, *[learner] * workers.learners]


def train_trial(parameters: dict[str, Any], gpus: Gpus = NO_GPUS) -> None:
    """Tune's function trainable; its arguments are names, JSON, a folder, and the GPUs of its processes."""
    from ray import tune

    request: Request = parameters["request"]
    hangs.watch(lambda message: tune.report({HANGS: message}))
    try:
        if "ends" in request:
            request = member_request(request, tune.get_context().get_trial_name())
            tune_checkpoint = tune.get_checkpoint()
            train_member(
                request,
                None if tune_checkpoint is None else Path(tune_checkpoint.path),
                lambda part: train_request(part, gpus, tune.report),
                lambda row, folder: tune.report(row, checkpoint=tune.Checkpoint.from_directory(folder)),
            )
        else:
            train_request(request, gpus, tune.report)
    except Exception as error:
        reason = find_permanent_failure(error, Path(request["folder"]), request.get("uri"))
        if reason is None:
            raise  # Tune starts the trial again
        tune.report({REFUSED: reason})


def train_request(request: Request, gpus: Gpus, report_row: Report) -> None:
    """Train one trial in this process; UserError for an invalid input."""
    experiment = find_experiment(request["experiment"])
    config = read_configuration(experiment, request["config"])
    folder = Path(request["folder"])
    with contextlib.ExitStack() as stack:
        report: Report = stack.enter_context(PacedReport(report_row))
        stack.enter_context(reporting_warnings(report))
        if request.get("uri"):
            folder, sync = stack.enter_context(synced_folder(request["uri"]))
            report = report_and_upload(report, folder / CHECKPOINTS, sync)
        identity = {name: request[name] for name in ("experiment", "method", "seed", "config")}
        if "objective" in request and "ends" not in request:
            report = with_scores(report, request["objective"])
        report = stack.enter_context(WandbLogger(report, identity, request["name"], request["run_id"], folder))
        stack.enter_context(waiting_for_storage(folder, lambda sentence: report_row({"notice": sentence, WAITS: True})))
        stack.enter_context(refusing_gpu(not gpus.own))  # Ray shows GPUs also to a process that was assigned none
        seed, is_tested, is_local = request["seed"], request["is_tested"], bool(request.get("is_local"))
        trial = Trial(experiment, config, request["method"], seed, folder, is_tested, gpus, is_local)
        trial.run(report, request.get("until"), functools.partial(is_past, request.get("ends_at")))
        if is_tested_with(folder, grown_values(config)):
            report({FINISHED: DIVERGED if has_diverged(folder) else DONE})


def run_trials(
    requests: Sequence[Request],
    budgets: Mapping[str, int],
    *,
    concurrent: int,
    out: Path,
    columns: Mapping[str, str],
    has_gpus: float = 0.0,
    searcher: Any = None,
    tune_scheduler: Any = None,
    watch: TrialWatch | None = None,
    signals: list[int] | None = None,
) -> dict[str, str]:
    """Run trials until each has finished or failed permanently; trial name -> cause, for those that failed.

    `budgets` (env steps by trial) and `columns` (heading -> key of the log) are those of the progress display. Tune's
    own bookkeeping goes to a new folder in `out/tune`. A `searcher` provides the requests one at a time, and a
    `tune_scheduler` stops trials or lets them exploit others. Requests of a slice (`ends_at`) begin in order until its
    end. SIGUSR1, on which Tune ends its trials, is added to `signals`.
    """
    _keep_tune_quiet()
    from ray import tune

    is_population = any("ends" in request for request in requests)
    if any("ends_at" in request for request in requests):
        searcher = slice_searcher(requests)
    with Progress(budgets, columns) as progress:
        results = tune.Tuner(
            _trainable(has_gpus, concurrent),
            param_space={"request": tune.grid_search(list(requests))} if searcher is None else {},
            tune_config=tune.TuneConfig(
                # A population is judged as a whole, so Tune must have all members; they alternate on the CPUs.
                max_concurrent_trials=None if is_population else concurrent,
                reuse_actors=is_population,
                trial_name_creator=_trial_name,
                trial_dirname_creator=_trial_name,
                search_alg=searcher,
                scheduler=tune_scheduler,
                num_samples=1 if searcher is None else -1,
            ),
            run_config=_run_config(out, progress, watch, is_population),
        ).fit()
    if searcher is not None and searcher.failure is not None:
        raise searcher.failure
    if signals is not None and results.num_terminated + results.num_errors < len(results):
        signals.append(signal.SIGUSR1)
    return find_failures(results)


def _trainable(has_gpus: float, concurrent: int) -> Any:
    from ray import tune

    def gpus_for(parameters: dict[str, Any]) -> tuple[Workers, Gpus]:
        request: Request = parameters["request"]
        workers = make_plan(find_experiment(request["experiment"]), request).workers
        return workers, assign_gpus(workers, has_gpus, concurrent)

    def train(parameters: dict[str, Any]) -> None:
        train_trial(parameters, gpus_for(parameters)[1])

    def bundles(parameters: dict[str, Any]) -> Any:
        return tune.PlacementGroupFactory(placement_bundles(*gpus_for(parameters)))

    return tune.with_resources(train, bundles)


def _run_config(out: Path, progress: Progress, watch: TrialWatch | None, is_population: bool) -> Any:
    from ray import tune

    from tune_experiments.run.tune_display import TrialDisplay

    display = TrialDisplay(progress, watch, is_population)
    return tune.RunConfig(
        name=f"session_{time.strftime('%Y%m%d_%H%M%S')}_{os.getpid()}",
        storage_path=str((out / "tune").resolve()),
        callbacks=[display],
        stop=display,
        checkpoint_config=tune.CheckpointConfig(num_to_keep=_KEPT_FOR_TUNE) if is_population else None,
        failure_config=tune.FailureConfig(max_failures=_RESTARTS),
        verbose=0,
    )


def _keep_tune_quiet() -> None:
    """Before Tune is imported: turn off its output, its handling of Control-C, and its working folders."""
    # Our own progress lines replace Tune's tables; its files (JSON, CSV, events) would repeat ours.
    os.environ["RAY_AIR_NEW_OUTPUT"] = "0"
    os.environ["TUNE_DISABLE_AUTO_CALLBACK_LOGGERS"] = "1"
    os.environ["TUNE_DISABLE_SIGINT_HANDLER"] = "1"
    os.environ["TUNE_DISABLE_STRICT_METRIC_CHECKING"] = "1"  # not every row of a trial is a validation
    os.environ["RAY_CHDIR_TO_TRIAL_DIR"] = "0"  # relative paths of the user must be valid in a trial
    # A restart prints one sentence and no traceback; the last error is printed at the end.
    logging.getLogger("ray.tune").setLevel(logging.CRITICAL)


def _trial_name(trial: Any) -> str:
    """Name of a trial and its folder, which it keeps when it exploits another one."""
    name: str = trial.config["request"]["name"]
    return name


def find_failures(results: Iterable[Any]) -> dict[str, str]:
    """Trial name, the name of its folder, -> cause of its failure."""
    reasons = {Path(result.path).name: _reason(result) for result in results}
    return {name: reason for name, reason in reasons.items() if reason is not None}


def _reason(result: Any) -> str | None:
    """Cause of a failure: a refusal, the call that hung, or a traceback's last line; None if the trial did not fail."""
    last = result.metrics or {}
    if result.error is None:
        reason = last.get(REFUSED)
        return None if reason is None else PermanentFailure(reason)
    if HANGS in last:
        return str(last[HANGS])
    lines = [line.strip() for line in str(result.error).splitlines() if line.strip()]
    return lines[-1] if lines else type(result.error).__name__


def describe_ignored_processes(workers: Workers) -> str | None:
    """Sentence on configured processes that a local trial ignores, or None."""
    if workers.cpus == 1:
        return None
    return (
        f"--local: one process steps all {workers.worlds} environments and learns; --workers.runners "
        f"{workers.runners}, --workers.learners {workers.learners} and --workers.aggregators {workers.aggregators} "
        f"are ignored"
    )


def run_local_trials(
    requests: Sequence[Request],
    budgets: Mapping[str, int],
    *,
    columns: Mapping[str, str],
    watch: TrialWatch | None = None,
) -> dict[str, str]:
    """Run trials one after another in this process; trial name -> cause, for those that failed."""
    gpus = NO_GPUS if chosen_device().type == "cpu" else Gpus(own=1.0)
    failures: dict[str, str] = {}
    with Progress(budgets, columns) as progress:
        for request in requests:
            if is_past(request.get("ends_at")):
                break
            name = request["name"]
            try:
                how = _run_here(request, gpus, progress, watch)
            except Exception as error:
                if watch is not None and watch.failure is not None:
                    raise
                reason = find_permanent_failure(error, Path(request["folder"]), request.get("uri"))
                failures[name] = first_line(error) if reason is None else PermanentFailure(reason)
                progress.finish(name, "failed")
            else:
                progress.finish(name, how)
            release_memory()
    return failures


def _run_here(request: Request, gpus: Gpus, progress: Progress, watch: TrialWatch | None) -> str:
    last: dict[str, Any] = {}

    def report_row(row: dict[str, Any]) -> None:
        last.update(row)
        progress.update(request["name"], row)
        if watch is not None:
            watch.poll()
            if watch.failure is not None:
                raise watch.failure

    hangs.watch(lambda message: None)  # prints the stack, and ends this process
    train_request(request, gpus, report_row)
    return str(last.get(FINISHED, PAUSED))


# ---- stop by Control-C, by SIGTERM (of Slurm and containers) or by a closed terminal ---------------------------------

STOPPED = "stopped; the same command continues from the newest checkpoints"
_STOP_SECONDS = 20.0
"""Less than the 30 s after which Slurm kills the job."""


@contextlib.contextmanager
def graceful_stop(print_fn: Callable[[str], None]) -> Iterator[list[int]]:
    """Context in which the first Control-C lets Tune end its trials, which takes seconds, and the second one exits.

    It gets the list of signals so far. SIGTERM, which Slurm and containers send, does the same (Ray would abort on it,
    and sets its own handler when it connects), and so does SIGHUP, unless it is ignored, as by `nohup`. If either has
    also ended Ray's processes, Tune would wait forever, so after 20 s the process exits with status 130.
    """
    asked: list[int] = []

    def exit_now() -> None:
        print_fn(STOPPED)
        sys.stdout.flush()
        os._exit(130)

    watchdog = threading.Timer(_STOP_SECONDS, exit_now)
    watchdog.daemon = True

    def stop(number: int, frame: Any) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)
        if number == signal.SIGHUP:
            close_broken_pipes()
        print_fn("stopping; the newest checkpoints are kept")
        if number in (signal.SIGTERM, signal.SIGHUP):
            watchdog.start()
        signal.raise_signal(signal.SIGUSR1)  # the signal on which Tune ends its trials

    if threading.current_thread() is not threading.main_thread():  # only the main thread receives signals
        yield asked
        return
    handlers = {signal.SIGUSR1: signal.default_int_handler, signal.SIGTERM: stop}
    for number in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as for background jobs of a shell
            handlers[number] = stop
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield asked
    finally:
        watchdog.cancel()
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)
