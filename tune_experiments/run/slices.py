"""Training in time slices: a run stops at checkpoints after a number of seconds, and the same command continues it.

Training in slices equals training at once: a slice ends between two rows of a log, without an extra validation.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from rl_models.training.checkpoint import newest_complete_checkpoint
from tune_experiments.core.errors import UserError
from tune_experiments.run.request import Request
from tune_experiments.run.trial import CHECKPOINTS


def is_past(ends_at: float | None) -> bool:
    """Whether a slice with this end time is over; None never is."""
    return ends_at is not None and time.time() >= ends_at


class Slice:
    """A slice of a number of seconds from now; `ends_at` is its end as `time.time`, for all processes."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.ends_at = seconds, time.time() + seconds

    @property
    def is_over(self) -> bool:
        """Whether trials must stop."""
        return is_past(self.ends_at)

    def check_progress(self, left: Sequence[Request], begun: Mapping[str, int], trials: int) -> None:
        """Check that a slice is long enough for progress.

        Raises:
            UserError: No trial has learned anything or has finished.
        """
        if len(left) == trials and all(trained_env_steps(one) <= begun.get(one["name"], 0) for one in left):
            raise UserError(f"no trial made an update in --slice-seconds {self.seconds:g}; increase it")


class SliceScheduler:
    """Provides trials in order until the slice is over: a `SearchScheduler`."""

    def __init__(self, requests: Sequence[Request], one: Slice) -> None:
        self._left, self._slice = list(requests), one

    def next_request(self) -> Request | None:
        """The next trial."""
        return self._left.pop(0) if self._left and not self._slice.is_over else None

    def on_request_end(self, request: Request, failed: bool) -> None:
        """No-op."""


def trained_env_steps(request: Request) -> int:
    """Env steps to the newest complete checkpoint of a trial, 0 without one."""
    newest = newest_complete_checkpoint(Path(request["folder"]) / CHECKPOINTS)
    return 0 if newest is None else get_checkpoint_step(newest)


def get_checkpoint_step(checkpoint: Path) -> int:
    """Env steps at which a checkpoint was written, by its name."""
    return int(checkpoint.name.rpartition("_")[2])
