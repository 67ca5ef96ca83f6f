"""Reports of a trial's rows beside its log: to Tune, to Weights & Biases, and uploads to a store.

Tune keeps 4 to 20 kB of the driver's memory per report, so reports come at growing intervals. Weights & Biases gets the
rows if WANDB_PROJECT names a project; its first error disables it with one sentence and never stops training.
"""

import hashlib
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

from tune_experiments.core.errors import first_line
from tune_experiments.results.trial_log import SCORE, finite
from tune_experiments.run.remote_sync import RemoteSync
from tune_experiments.run.stage_training import Report

PROJECT = "WANDB_PROJECT"
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


class WandbLogger:
    """Sends rows to Weights & Biases and to `report`; a context manager.

    Its files go to `folder`, or where WANDB_DIR says; WANDB_MODE=offline keeps them there for `wandb sync`.
    """

    def __init__(self, report: Report, identity: Mapping[str, Any], name: str, run_id: str, folder: Path) -> None:
        self._report, self._identity, self._name, self._folder = report, identity, name, folder
        # The id is the same when a trial continues elsewhere, and different for other runs.
        self._id = hashlib.sha256(f"{run_id}/{name}".encode()).hexdigest()[:16]
        self._run: Any = None

    def __enter__(self) -> Self:
        if os.environ.get(PROJECT):
            self._disable_on_error(self._begin)
        return self

    def __call__(self, row: dict[str, Any]) -> None:
        """Report a row."""
        self._report(row)
        if self._run is not None and "env_steps" in row:
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
    """Report rows, with the objective as the score for Tune's schedulers."""
    return lambda row: report(row | {SCORE: finite(row[objective])} if objective in row else row)
