"""Searches that decide as they go: what to train next, and for how long, follows from what trials have logged.

A scheduler hands out one request at a time; a request may end at a number of env steps, and its trial continues from
its checkpoint when it is asked for again. All that a scheduler decides is a function of the logs and of what it has
written down, so a search that is killed anywhere takes the same turns when the same command continues it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rl_models.training.checkpoint import newest_whole_checkpoint
from tune_experiments.core.errors import UserError
from tune_experiments.results.trial_log import METRICS_FILE, read_metrics
from tune_experiments.run.final_evaluation import read_test_results
from tune_experiments.run.request import Request, SearchScheduler
from tune_experiments.search.folder import LATE_SHARE

__all__ = ["Reached", "RequestOf", "SearchSchedulers", "late_value", "value_between"]

RequestOf = Callable[[Any, str, int, int, int | None], Request]
"""`(config, method, setting, seed, until env steps) -> request`."""


class SearchSchedulers:
    """Several schedulers, those of methods and seeds, one after another as far as they have something to do."""

    def __init__(self, schedulers: Sequence[SearchScheduler]) -> None:
        self.schedulers = list(schedulers)
        self._owner: dict[int, SearchScheduler] = {}
        self._looked_at: Request | None = None

    @property
    def is_over(self) -> bool:
        """Whether nothing is under way and nothing is left to do."""
        if not self._owner:
            self._looked_at = self.next_request()
        return not self._owner

    def next_request(self) -> Request | None:
        """Next request of the first scheduler that has one."""
        if self._looked_at is not None:
            looked_at, self._looked_at = self._looked_at, None
            return looked_at
        for scheduler in self.schedulers:
            request = scheduler.next_request()
            if request is not None:
                self._owner[id(request)] = scheduler
                return request
        return None

    def ended(self, request: Request, failed: bool) -> None:
        """Tell the scheduler that it came from."""
        self._owner.pop(id(request)).ended(request, failed)

    def remarks(self) -> list[str]:
        """Remarks of all schedulers, in Markdown."""
        return [line for scheduler in self.schedulers for line in scheduler.remarks()]


class Reached:
    """Whether a request's trial has finished, or stands at a whole checkpoint of as many env steps as were asked for.

    What was reached stays reached, so files are looked at only until then.
    """

    def __init__(self) -> None:
        self._known: set[tuple[str, int | None]] = set()

    def __call__(self, request: Request) -> bool:
        """Look."""
        key = request["folder"], request["until"]
        if key not in self._known and _has_reached(Path(request["folder"]), request["until"]):
            self._known.add(key)
        return key in self._known


def _has_reached(trial: Path, until: int | None) -> bool:
    if read_test_results(trial) is not None:
        return True
    newest = newest_whole_checkpoint(trial / "checkpoints") if until is not None else None
    return newest is not None and int(newest.name.removeprefix("checkpoint_")) >= (until or 0)


def late_value(trial: Path, objective: str, until: float) -> float:
    """Mean of the validations in the last quarter of `until` env steps, its beginning included; -inf if diverged.

    Raises:
        UserError: there was no validation at all.
    """
    return _value(trial, objective, until, lambda env_steps: env_steps >= (1 - LATE_SHARE) * until)


def value_between(trial: Path, objective: str, since: float, until: float) -> float:
    """Mean of the validations after `since` and up to `until` env steps; -inf if diverged.

    The row at which the trial stopped for `since` is not among them: what it copied there came after it.

    Raises:
        UserError: there was no validation at all.
    """
    rows = read_metrics(trial / METRICS_FILE)
    begin = next((row["env_steps"] for row in rows if row["env_steps"] >= since), since) if since else 0
    return _value(trial, objective, until, lambda env_steps: env_steps > begin)


def _value(trial: Path, objective: str, until: float, counts: Callable[[float], bool]) -> float:
    """Mean of the validations up to `until` whose env steps count.

    A trial stops at the first row beyond where it was to stop, so that row counts; and where nothing was validated
    between, the last validation before does.
    """
    rows = read_metrics(trial / METRICS_FILE)
    end = next((row["env_steps"] for row in rows if row["env_steps"] >= until), until)
    validated = [row for row in rows if objective in row and row["env_steps"] <= end]
    if not validated:
        known = sorted({key for row in rows for key in row if key.startswith("valid/")})
        raise UserError(
            f"{trial} has logged no {objective!r} in its first {end:,.0f} env steps to rank by "
            f"(but {', '.join(known) or 'nothing of the kind'}); name another with --search-objective"
        )
    values = [row[objective] for row in validated if counts(row["env_steps"])] or [validated[-1][objective]]
    mean = float(np.mean(values))
    return mean if math.isfinite(mean) else -math.inf
