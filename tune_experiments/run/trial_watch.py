"""Polls the folders of trials and calls callbacks in the driver.

An error in a callback ends the run. For a run in an object store all calls come at its end.
"""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rl_models.training.checkpoint import numbered_checkpoints
from tune_experiments.results.trial_log import METRICS_FILE, read_metrics
from tune_experiments.run.trial import CHECKPOINTS

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
    """Calls callbacks for new rows and checkpoints of trials, once each, until one raises an error, `failure`."""

    def __init__(self, trials: Mapping[str, Path], callbacks: Sequence[Callback]) -> None:
        """Record the rows and checkpoints that exist already."""
        self.failure: Exception | None = None
        self._trials = {name: _Trial(folder) for name, folder in trials.items()}
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
            for name, trial in self._trials.items():
                for row in trial.new_rows():
                    for callback in self._callbacks:
                        callback.on_validation(name, row)
                for checkpoint in trial.new_checkpoints():
                    for callback in self._callbacks:
                        callback.on_checkpoint(name, checkpoint)
        except Exception as error:  # a user's code; Tune ends, and the main process raises it
            self.failure = error
        now = time.monotonic()
        self._next_at = now + max(_MIN_POLL_SECONDS, (now - began) / _MAX_POLL_SHARE)

    def finish(self) -> None:
        """Call the callbacks for the last time; raise the error that one has raised."""
        self.poll(is_due=True)
        if self.failure is not None:
            raise self.failure


class _Trial:
    """Reported rows and checkpoints of one trial; a restarted trial may write a row again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stamp = (0, 0)
        self._reported_row = self._reported_checkpoint = -1

    def new_rows(self) -> list[dict[str, float]]:
        """Rows with a validation that have not been reported, in order."""
        path = self._folder / METRICS_FILE
        if not path.is_file():
            return []
        found = path.stat()
        if self._stamp == (found.st_size, found.st_mtime_ns):
            return []
        self._stamp = found.st_size, found.st_mtime_ns
        validated = [row for row in read_metrics(path) if any(key.startswith("valid/") for key in row)]
        new = [row for row in validated if row["env_steps"] > self._reported_row]
        self._reported_row = int(max([self._reported_row, *(row["env_steps"] for row in new)]))
        return new

    def new_checkpoints(self) -> list[Path]:
        """Complete checkpoints that have not been reported and still exist, in order."""
        found = dict(numbered_checkpoints(self._folder / CHECKPOINTS))
        new = [path for number, path in sorted(found.items()) if number > self._reported_checkpoint]
        self._reported_checkpoint = max([self._reported_checkpoint, *found])
        return new
