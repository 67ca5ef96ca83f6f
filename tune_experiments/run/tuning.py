"""Running an experiment's trials with Ray Tune; one whose process dies is restarted from its own checkpoint.

A trial reports to Tune rarer and rarer. Of each report, Tune keeps a reference and the row as long as the trial's
process lives: some 4 to 20 kB of the driver's memory, gigabytes in a long run, for a live line that people look at. So
a report follows the one before after ten seconds at first, and later after a hundredth of the time that the trial has
taken: some 540 in a day. The trial's own log has every row.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from rl_envs.core.errors import ForeignEnvError
from rl_models.device import refusing_gpu
from rl_models.rllib.workers import Workers
from tune_experiments.core.errors import StoreUnavailableError, UserError
from tune_experiments.experiment.finding import find_experiment, read_configuration
from tune_experiments.results.trial_log import REFUSED, WAITS
from tune_experiments.run.placement import NO_GPUS, Gpus, gpus_of_trial
from tune_experiments.run.progress import Progress
from tune_experiments.run.remote_sync import RemoteSync, synced_folder
from tune_experiments.run.request import Request, SearchScheduler, as_searcher, plan_of
from tune_experiments.run.stage_training import Report
from tune_experiments.run.trial import CHECKPOINTS, Trial
from tune_experiments.run.trial_storage import patient_storage
from tune_experiments.run.trial_watch import TrialWatch
from tune_experiments.run.wandb_log import WandbLogger

_RESTARTS = 3
STOPPED = "stopped; the same command continues from the newest checkpoints"
_STOP_SECONDS = 20.0
"""Slurm kills what has not ended 30 s after SIGTERM."""


def places_of(workers: Workers, gpus: Gpus) -> list[dict[str, float]]:
    """What is reserved for a trial: its own process first, then runners, then learners."""
    # RLlib wants aggregators on the node of their learner.
    learner = {"CPU": 1.0 + workers.aggregators, "GPU": gpus.learner}
    own = {"CPU": 1.0 + (0 if workers.learners else workers.aggregators), "GPU": gpus.own}
    runner = {"CPU": 1.0, "GPU": gpus.runner}
    return [own, *[runner] * workers.runners, *[learner] * workers.learners]


def train_trial(parameters: dict[str, Any], gpus: Gpus = NO_GPUS) -> None:
    """Tune's function trainable: everything it needs is names, JSON, a folder, and what GPUs it was given."""
    from ray import tune

    try:
        train_request(parameters["request"], gpus, tune.report)
    except StoreUnavailableError:
        raise  # Tune starts the trial again
    except (UserError, ForeignEnvError) as error:
        tune.report({REFUSED: str(error)})  # an error would let Tune start it again, and again come to this sentence


def train_request(request: Request, gpus: Gpus, tell: Report) -> None:
    """Train one trial in this process.

    Args:
        request: what to train, and the folder that it continues from and writes to.
        gpus: of the trial's processes.
        tell: gets a row now and then.

    Raises:
        UserError: something that the trial refuses, in a sentence.
    """
    experiment = find_experiment(request["experiment"])
    config = read_configuration(experiment, request["config"])
    folder = Path(request["folder"])
    with contextlib.ExitStack() as stack:
        report: Report = stack.enter_context(PacedReport(tell))
        if request.get("uri"):
            folder, sync = stack.enter_context(synced_folder(request["uri"]))
            report = _reports_and_sends(report, folder / CHECKPOINTS, sync)
        identity = {name: request[name] for name in ("experiment", "method", "seed", "config")}
        report = stack.enter_context(WandbLogger(report, identity, request["name"], request["run_id"]))
        stack.enter_context(patient_storage(folder, lambda sentence: tell({"notice": sentence, WAITS: True})))
        stack.enter_context(refusing_gpu(not gpus.own))  # Ray hides no GPU from a process that was given none
        Trial(experiment, config, request["method"], request["seed"], folder, request["is_tested"], gpus).run(
            report, request.get("until")
        )


def _reports_and_sends(report: Report, checkpoints: Path, sync: RemoteSync) -> Report:
    """Report, and bring the copy up to date if there is a checkpoint that was not there the last time."""
    seen: set[Path] = set()

    def both(row: dict[str, Any]) -> None:
        report(row)
        there = set(checkpoints.glob("checkpoint_*"))
        if there - seen and sync.push():
            seen.update(there)

    return both


def run_trials(
    requests: Sequence[Request],
    budgets: Mapping[str, int],
    concurrent: int,
    out: Path,
    columns: Mapping[str, str],
    uri: str | None = None,
    has_gpus: float = 0.0,
    scheduler: SearchScheduler | None = None,
    watch: TrialWatch | None = None,
) -> dict[str, str]:
    """Run trials until each has finished or failed for good.

    Args:
        requests: what to run.
        budgets: trial name -> env steps, for the progress display.
        concurrent: how many trials run at once.
        out: the run folder; Tune's own bookkeeping goes to a new folder in `out/tune`.
        columns: what a trial's live line shows, heading -> key of its log.
        uri: of the run, where an object store keeps it; trials then work in temporary folders.
        has_gpus: GPUs of the cluster that trials may use.
        scheduler: hands out the requests instead, one at a time, as it sees fit.
        watch: tells callbacks what trials write.

    Returns:
        trial name -> what went wrong, for those that failed.
    """
    _keep_tune_quiet()
    from ray import tune

    from tune_experiments.run.tune_display import display, stop_on_failure

    if uri is not None:
        requests = [request | {"uri": f"{uri}/trials/{request['name']}"} for request in requests]

    def gpus_for(parameters: dict[str, Any]) -> tuple[Workers, Gpus]:
        request: Request = parameters["request"]
        workers = plan_of(find_experiment(request["experiment"]), request).workers
        return workers, gpus_of_trial(workers, has_gpus, concurrent)

    def train(parameters: dict[str, Any]) -> None:
        train_trial(parameters, gpus_for(parameters)[1])

    def places(parameters: dict[str, Any]) -> Any:
        return tune.PlacementGroupFactory(places_of(*gpus_for(parameters)))

    searcher = None if scheduler is None else as_searcher(scheduler)
    with Progress(budgets, columns) as progress:
        results = tune.Tuner(
            tune.with_resources(train, places),
            param_space={"request": tune.grid_search(list(requests))} if scheduler is None else {},
            tune_config=tune.TuneConfig(
                max_concurrent_trials=concurrent,
                trial_dirname_creator=_folder_name,
                search_alg=searcher,
                num_samples=1 if scheduler is None else -1,
            ),
            run_config=tune.RunConfig(
                name=f"session_{time.strftime('%Y%m%d_%H%M%S')}_{os.getpid()}",
                storage_path=str((out / "tune").resolve()),
                callbacks=[display(progress, watch)],
                stop=None if watch is None else stop_on_failure(watch),
                failure_config=tune.FailureConfig(max_failures=_RESTARTS),
                verbose=0,
            ),
        ).fit()
    if searcher is not None and searcher.failure is not None:
        raise searcher.failure
    return _failures(results)


@contextlib.contextmanager
def ends_gently(say: Callable[[str], None]) -> Iterator[None]:
    """Within it the first Control-C lets Tune end its trials, which takes seconds, and the second one ends at once.

    SIGTERM, which Slurm and containers send, does the same. On that Ray would abort; it claims it as it connects. Where
    it ends Ray's processes, too, Tune waits for them in vain, so after 20 s the process ends with status 130.

    Args:
        say: gets a sentence at the first one, and where Tune does not end.

    Raises:
        KeyboardInterrupt: at the second one, or at the first while Tune does not run.
    """
    asked: list[int] = []
    in_vain = threading.Timer(_STOP_SECONDS, _end_at_once, (say,))
    in_vain.daemon = True

    def stop(number: int, frame: Any) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)
        say("stopping; the newest checkpoints are kept")
        if number == signal.SIGTERM:
            in_vain.start()
        signal.raise_signal(signal.SIGUSR1)  # on which Tune ends its trials, from when it starts

    if threading.current_thread() is not threading.main_thread():  # which alone hears signals
        yield
        return
    handlers = {signal.SIGUSR1: signal.default_int_handler, signal.SIGTERM: stop}
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # as a shell starts what runs in the background
        handlers[signal.SIGINT] = stop
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        in_vain.cancel()
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)


def _end_at_once(say: Callable[[str], None]) -> None:
    say(STOPPED)
    sys.stdout.flush()
    os._exit(130)


def _keep_tune_quiet() -> None:
    """Before Tune is imported: it says nothing of its own, leaves Control-C to us, and works where it was started."""
    # Our own progress lines replace Tune's tables; its files (JSON, CSV, events) would repeat ours.
    os.environ["RAY_AIR_NEW_OUTPUT"] = "0"
    os.environ["TUNE_DISABLE_AUTO_CALLBACK_LOGGERS"] = "1"
    os.environ["TUNE_DISABLE_SIGINT_HANDLER"] = "1"
    os.environ["RAY_CHDIR_TO_TRIAL_DIR"] = "0"  # a folder that the user names means the same in a trial
    # A death that is mended is a sentence of ours, not a traceback; the last one is printed at the end.
    logging.getLogger("ray.tune").setLevel(logging.CRITICAL)


def _folder_name(trial: Any) -> str:
    request: Request = trial.config["request"]
    until = request.get("until")
    name: str = request["name"]
    return name if until is None else f"{name}_until_{until}"


def _failures(results: Iterable[Any]) -> dict[str, str]:
    """Trial name -> why it failed; a trial that never reported has no configuration, and its folder has its name."""
    names = [result.config["request"]["name"] if result.config else Path(result.path).name for result in results]
    reasons = map(_reason, results)
    return {name: reason for name, reason in zip(names, reasons, strict=True) if reason is not None}


def _reason(result: Any) -> str | None:
    """Why a trial failed: what it refused, or the last line of a remote traceback; None if it did not."""
    if result.error is None:
        return (result.metrics or {}).get(REFUSED)
    lines = [line.strip() for line in str(result.error).splitlines() if line.strip()]
    return lines[-1] if lines else type(result.error).__name__


_SHARE = 0.01
"""Shortest pause between two reports, as a share of the time since the start."""


class PacedReport:
    """Passes on a row now and then, with all that came meanwhile; a context manager.

    Args:
        report: gets the rows.
        seconds: between two of them at least. A row with a `notice` goes at once, the last one at the end.
        clock: seconds.
    """

    def __init__(
        self,
        report: Callable[[dict[str, Any]], None],
        seconds: float = 10.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._report, self._seconds, self._clock = report, seconds, clock
        self._waiting: dict[str, Any] = {}
        self._began_at, self._sent_at = clock(), -seconds

    def __call__(self, row: dict[str, Any]) -> None:
        """Take a row."""
        self._waiting |= row
        now = self._clock()
        pause = max(self._seconds, _SHARE * (now - self._began_at))
        if "notice" in row or now - self._sent_at >= pause:
            self._sent_at = now
            self._send()

    def __enter__(self) -> PacedReport:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._send()

    def _send(self) -> None:
        waiting, self._waiting = self._waiting, {}
        if waiting:
            self._report(waiting)
