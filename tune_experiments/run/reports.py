"""Reports of a trial's rows beside its log: to Tune, to Weights & Biases, and uploads to a store.

Tune keeps 4 to 20 kB of the driver's memory per report, so reports come at growing intervals. Weights & Biases gets the
rows if WANDB_PROJECT names a project; its first error disables it with one sentence and never stops training.
"""

import hashlib
import logging
import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from rl_models.errors import first_line
from rl_models.training.checkpoint import numbered_checkpoints
from tune_experiments.core.errors import UserError, one_line
from tune_experiments.results.trial_log import METRICS_FILE, SCORE, finite, read_metrics
from tune_experiments.run.remote_sync import RemoteSync, Stamp, file_stamp
from tune_experiments.run.stage_training import Report
from tune_experiments.run.trial import CHECKPOINTS

PROJECT = "WANDB_PROJECT"
_PACKAGES = ("rl_envs", "rl_models", "tune_experiments")
_MAX_REPORT_SHARE = 0.01
"""Shortest pause between two reports, as a share of the time since the start."""


class PacedReport:
    """Reports rows at intervals of at least `seconds`, with merged metrics; a context manager.

    A row with a `notice` or a score is reported at once, the last one at the end.
    """

    def __init__(self, report: Report, seconds: float = 10.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._report, self._seconds, self._clock = report, seconds, clock
        self._waiting: dict[str, Any] = {}
        self._began_at, self._sent_at = clock(), -seconds

    def __call__(self, row: dict[str, Any]) -> None:
        """Take a row."""
        self._waiting |= row
        now = self._clock()
        pause = max(self._seconds, _MAX_REPORT_SHARE * (now - self._began_at))
        if "notice" in row or SCORE in row or now - self._sent_at >= pause:
            self._sent_at = now
            self._send()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if kind is None:
            self._send()

    def _send(self) -> None:
        waiting, self._waiting = self._waiting, {}
        if waiting:
            self._report(waiting)


@contextmanager
def reporting_warnings(report: Report) -> Iterator[None]:
    """Context in which each warning of this project in this process is reported once, as a notice.

    Ray keeps what a trial's processes print in files of its own; those of runners and learners stay there.
    """
    said: set[str] = set()
    ours = Path(__file__).parents[2]

    def notice(message: str) -> None:
        if message not in said:
            said.add(message)
            report({"notice": one_line(message)})

    def show_warning(message: Any, category: Any, filename: str, *place: Any) -> None:
        if any(ours / name in Path(filename).parents for name in _PACKAGES):
            notice(str(message))
        else:
            show(message, category, filename, *place)

    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: notice(record.getMessage())  # type: ignore[method-assign]
    loggers = [logging.getLogger(name) for name in _PACKAGES]
    for logger in loggers:
        logger.addHandler(handler)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)  # an earlier trial of this process may have warned of the same
            show, warnings.showwarning = warnings.showwarning, show_warning  # type: ignore[assignment]
            yield
    finally:
        for logger in loggers:
            logger.removeHandler(handler)


class WandbLogger:
    """Sends rows to Weights & Biases and to `report`; a context manager.

    Rows that a continued trial repeats, between its checkpoint and its end, are not sent again.
    Its files go to `folder`, or where WANDB_DIR says; WANDB_MODE=offline keeps them there for `wandb sync`.
    """

    def __init__(self, report: Report, identity: Mapping[str, Any], name: str, run_id: str, folder: Path) -> None:
        self._report, self._identity, self._name, self._folder = report, identity, name, folder
        # The id is the same when a trial continues elsewhere, and different for other runs.
        self._id = hashlib.sha256(f"{run_id}/{name}".encode()).hexdigest()[:16]
        self._run: Any = None
        self._sent_until = -1

    def __enter__(self) -> Self:
        if os.environ.get(PROJECT):
            self._disable_on_error(self._begin)
        return self

    def __call__(self, row: dict[str, Any]) -> None:
        """Report a row."""
        self._report(row)
        if self._run is not None and row.get("env_steps", -1) > self._sent_until:
            numbers = {key: value for key, value in row.items() if isinstance(value, int | float)}
            self._disable_on_error(lambda: self._run.log(numbers))

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if self._run is not None:
            self._disable_on_error(lambda: self._run.finish(exit_code=0 if error is None else 1))

    def _begin(self) -> None:
        import wandb  # an extra: pip install -e '.[wandb]'

        run = wandb.init(
            project=os.environ[PROJECT],
            id=self._id,
            name=self._name,
            group=str(self._identity["experiment"]),
            config=dict(self._identity),
            resume="allow",
            dir=os.environ.get("WANDB_DIR") or str(self._folder),
        )
        run.define_metric("env_steps")
        run.define_metric("*", step_metric="env_steps")
        self._sent_until = run.summary.get("env_steps", -1)  # of a run that is resumed; empty offline
        self._run = run

    def _disable_on_error(self, act: Callable[[], None]) -> None:
        try:
            act()
        except (Exception, SystemExit) as error:
            self._run = None
            self._report({"notice": f"Weights & Biases is disabled for this trial ({first_line(error)})"})


def report_and_upload(report: Report, checkpoints: Path, sync: RemoteSync) -> Report:
    """Report rows, and upload the folder when there is a new checkpoint."""
    seen: set[Path] = set()

    def both(row: dict[str, Any]) -> None:
        report(row)
        there = set(checkpoints.glob("checkpoint_*"))
        if there - seen and sync.push():
            seen.update(there)

    return both


def with_scores(report: Report, objective: str) -> Report:
    """Report rows, with the objective as the score for Tune's schedulers.

    Raises UserError for a row of a validation without an objective that is one of validation.
    """

    def scored(row: dict[str, Any]) -> None:
        validated = [key for key in row if key.startswith("valid/")]
        if validated and objective.startswith("valid/") and objective not in row:
            raise UserError(f"--search-objective {objective} is not logged: name one of {', '.join(validated)}")
        report(row | {SCORE: finite(row[objective])} if objective in row else row)

    return scored


# ---- callbacks in the driver, from the folders of trials; for a run in an object store all calls come at its end -----

_MAX_POLL_SHARE = 0.02
_MIN_POLL_SECONDS = 1.0


class Callback:
    """Callbacks of a run; all hooks are no-ops."""

    def on_validation(self, trial: str, row: Mapping[str, float]) -> None:
        """Called after a validation of a trial with its row of the log: `env_steps`, `valid/NAME` and other metrics."""

    def on_checkpoint(self, trial: str, checkpoint: Path) -> None:
        """Called with the folder of a new checkpoint, which `load_policy` opens until newer ones replace it."""

    def on_end(self, run: Any) -> None:
        """Called with the finished `Run`, also if trials have failed, but not if the user or a slice stopped it."""


class TrialWatch:
    """Calls callbacks for new rows and checkpoints of trials, once each, until one raises an error, `failure`.

    A restarted trial may write a row again.
    """

    def __init__(self, trials: Mapping[str, Path], callbacks: Sequence[Callback]) -> None:
        """Record the rows and checkpoints that exist already."""
        self.failure: Exception | None = None
        self._trials = trials
        self._stamps: dict[str, Stamp] = {}
        self._newest: dict[tuple[str, str], int] = {}
        self._callbacks: Sequence[Callback] = ()
        self._next_at = 0.0
        self.poll(is_due=True)
        self._callbacks = callbacks

    def poll(self, is_due: bool = False) -> None:
        """Call the callbacks for new rows and checkpoints, if the last poll is long enough ago or `is_due`."""
        began = time.monotonic()
        if self.failure is not None or (began < self._next_at and not is_due):
            return
        try:
            for trial, folder in self._trials.items():
                self._call("on_validation", trial, self._validations(trial, folder / METRICS_FILE))
                self._call("on_checkpoint", trial, dict(numbered_checkpoints(folder / CHECKPOINTS)))
        except Exception as error:  # a user's code; Tune ends, and the main process raises it
            self.failure = error
        now = time.monotonic()
        self._next_at = now + max(_MIN_POLL_SECONDS, (now - began) / _MAX_POLL_SHARE)

    def finish(self) -> None:
        """Call the callbacks for the last time; raise the error that one has raised."""
        self.poll(is_due=True)
        if self.failure is not None:
            raise self.failure

    def _validations(self, trial: str, log: Path) -> dict[int, Any]:
        """Rows of a log with a validation, by env steps; none if it has not changed."""
        if not log.is_file() or self._stamps.get(trial) == (stamp := file_stamp(log)):
            return {}
        self._stamps[trial] = stamp
        rows = (row for row in read_metrics(log) if any(key.startswith("valid/") for key in row))
        return {int(row["env_steps"]): row for row in rows}

    def _call(self, hook: str, trial: str, found: Mapping[int, Any]) -> None:
        newest = self._newest.get((hook, trial), -1)
        self._newest[hook, trial] = max([newest, *found])
        for number in sorted(found):
            if number > newest:
                for callback in self._callbacks:
                    getattr(callback, hook)(trial, found[number])
