"""Reports of Tune's trials for the progress display and for callbacks; and trials that wait for resources."""

import math
import time
from collections.abc import Mapping
from typing import Any

from ray.tune import Callback, Stopper
from ray.tune.experiment import Trial

from tune_experiments.results.trial_log import FINISHED, HANGS, REFUSED, WAITS
from tune_experiments.run.progress import PAUSED, STOPPED, Progress
from tune_experiments.run.reports import TrialWatch

WAITING_SECONDS = 180.0
"""Seconds after which a waiting trial is reported, and between two reports."""
Amounts = Mapping[str, float]
"""Resource -> how much of it, in Ray's words: CPU, GPU."""


class PendingTrials:
    """Reports every few minutes which trials wait for which resources; Tune does not."""

    def __init__(self) -> None:
        self._since: dict[str, float] = {}
        self._asked_at = -math.inf

    def poll(self, needed: Mapping[str, Amounts], now: float) -> tuple[str, str] | None:
        """The first trial that has waited too long, and a message about it."""
        self._since = {trial: self._since.get(trial, now) for trial in needed}
        late = [trial for trial, since in self._since.items() if now - since >= WAITING_SECONDS]
        if not late or now - self._asked_at < WAITING_SECONDS:
            return None
        self._asked_at = now
        found = missing_capacity()
        if found is None:
            return None
        (total, free), minutes, others = found, (now - self._since[late[0]]) / 60, len(late) - 1
        wanted = {name: amount for name, amount in needed[late[0]].items() if amount > 0}
        asked = " and ".join(f"{amount:g} {name}" for name, amount in wanted.items())
        there = " and ".join(f"{free.get(name, 0):g} of its {total.get(name, 0):g} {name} free" for name in wanted)
        return late[0], (
            f"has waited {minutes:.0f} minutes for {asked}{f', as {others} others' * (others > 0)}, and the cluster "
            f"has {there}: it starts when other jobs end (python -m cluster.submit list, stop JOB) or nodes join; or "
            "give the same command to a larger cluster"
        )


def missing_capacity() -> tuple[Amounts, Amounts] | None:
    """Resources of the cluster, in total and free; None if no trial waits for them."""
    import ray
    from ray.util import placement_group_table

    is_short = any(group["state"] in ("PENDING", "RESCHEDULING") for group in placement_group_table().values())
    return (ray.cluster_resources(), ray.available_resources()) if is_short else None


class TrialDisplay(Callback, Stopper):  # type: ignore[misc]
    """Shows rows by trial name, and stops the session if a callback raises an error, or a population loses a member."""

    def __init__(self, progress: Progress, watch: TrialWatch | None = None, is_population: bool = False) -> None:
        self._progress, self._watch, self._is_population = progress, watch, is_population
        self._has_failures = False
        self._pending = PendingTrials()

    def __reduce__(self) -> Any:
        # Tune pickles its callbacks into its bookkeeping; display and user's callbacks stay in this process.
        return (Callback, ())

    def on_step_end(self, iteration: int, trials: Any, **info: Any) -> None:
        """Poll the folders of trials, and check pending ones, except in populations, whose members alternate."""
        if self._watch is not None:
            self._watch.poll()
        pending = [] if self._is_population else [trial for trial in trials if trial.status == Trial.PENDING]
        groups = {str(trial): trial.placement_group_factory for trial in pending}
        needed = {name: group.required_resources for name, group in groups.items()}
        if (late := self._pending.poll(needed, time.monotonic())) is not None:
            self._progress.update(late[0], {"notice": late[1]})

    def on_trial_result(self, iteration: int, trials: Any, trial: Any, result: dict[str, Any], **info: Any) -> None:
        """Show a row."""
        self._progress.update(str(trial), result)

    def on_trial_complete(self, iteration: int, trials: Any, trial: Any, **info: Any) -> None:
        """Show that a trial is done, paused, stopped or failed."""
        last, how = trial.last_result or {}, PAUSED if "ends_at" in trial.config["request"] else STOPPED
        if REFUSED in last:  # the reason is printed at the end
            how = self._failed()
        self._progress.finish(str(trial), last.get(FINISHED, how))

    def on_trial_recover(self, iteration: int, trials: Any, trial: Any, **info: Any) -> None:
        """Print that a trial restarts, and why, unless it has reported that it waits."""
        last = trial.last_result or {}
        why = "" if WAITS in last else "its process or one that it needs has died; "
        why = f"{last[HANGS]}; " if HANGS in last else why
        notice = f"{why}it continues from its newest checkpoint"
        self._progress.update(str(trial), {"notice": notice})

    def on_trial_error(self, iteration: int, trials: Any, trial: Any, **info: Any) -> None:
        """Show that a trial failed for good."""
        self._progress.finish(str(trial), self._failed())

    def __call__(self, trial_id: str, result: dict[str, Any]) -> bool:
        """No trial is stopped by its results."""
        return False

    def stop_all(self) -> bool:
        """Whether to stop all trials; a population needs all scores."""
        is_ended = self._watch is not None and self._watch.failure is not None
        return is_ended or (self._is_population and self._has_failures)

    def _failed(self) -> str:
        self._has_failures = True
        return "failed"
