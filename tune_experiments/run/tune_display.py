"""Passes what Tune's trials report to the live display, and lets callbacks see what they write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ray.tune import Callback, Stopper
from ray.tune.experiment import Trial

from tune_experiments.results.trial_log import HANGS, REFUSED, WAITS
from tune_experiments.run.final_evaluation import read_test_results
from tune_experiments.run.progress import PAUSED, Progress
from tune_experiments.run.trial_watch import TrialWatch
from tune_experiments.run.waiting_trials import PendingTrials, cluster_capacity


class _Display(Callback):  # type: ignore[misc]
    """Rows to progress lines, by trial name."""

    def __init__(self, progress: Progress, watch: TrialWatch | None) -> None:
        self._progress, self._watch = progress, watch

        def say(trial: str, notice: str) -> None:
            progress.update(trial, {"notice": notice})

        self._pending = PendingTrials(say, cluster_capacity)

    def __reduce__(self) -> Any:
        # Tune pickles its callbacks into its bookkeeping; display and user's callbacks stay with this process.
        return (Callback, ())

    def on_step_end(self, iteration: int, trials: Any, **info: Any) -> None:
        """See who waits, and what trials have written.

        Tune holds no more trials than may run at once, so a pending trial could run.
        """
        if self._watch is not None:
            self._watch.look()
        pending = [trial for trial in trials if trial.status == Trial.PENDING]
        groups = {trial.config["request"]["name"]: trial.placement_group_factory for trial in pending}
        self._pending.look({name: group.required_resources for name, group in groups.items()})

    def on_trial_result(self, iteration: int, trials: Any, trial: Any, result: dict[str, Any], **info: Any) -> None:
        """Show a row."""
        self._progress.update(trial.config["request"]["name"], result)

    def on_trial_complete(self, iteration: int, trials: Any, trial: Any, **info: Any) -> None:
        """Say that it is done, or has failed; why is told at the end.

        A search or a slice may have asked for a part alone.
        """
        request, refused = trial.config["request"], (trial.last_result or {}).get(REFUSED)
        is_part = request.get("until") is not None or "ends_at" in request
        is_paused = is_part and read_test_results(Path(request["folder"])) is None
        how = PAUSED if is_paused else "done"
        self._progress.finish(request["name"], "failed" if refused else how)

    def on_trial_recover(self, iteration: int, trials: Any, trial: Any, **info: Any) -> None:
        """Say that it is started again, and why, unless the last that it said was that it waits, as for a disk."""
        last = trial.last_result or {}
        why = "" if WAITS in last else "its process or one that it needs has died; "
        why = f"{last[HANGS]}; " if HANGS in last else why
        notice = f"{why}it goes on from its newest checkpoint"
        self._progress.update(trial.config["request"]["name"], {"notice": notice})

    def on_trial_error(self, iteration: int, trials: Any, trial: Any, **info: Any) -> None:
        """Say that it failed for good."""
        self._progress.finish(trial.config["request"]["name"], "failed")


class _StopOnFailure(Stopper):  # type: ignore[misc]
    """Ends the session when a callback of the user's has raised an error."""

    def __init__(self, watch: TrialWatch) -> None:
        self._watch = watch

    def __reduce__(self) -> Any:
        return (Stopper, ())  # as for the display

    def __call__(self, trial_id: str, result: dict[str, Any]) -> bool:
        """No trial is ended by what it reports."""
        return False

    def stop_all(self) -> bool:
        """Whether to end all of them."""
        return self._watch.failure is not None


def display(progress: Progress, watch: TrialWatch | None = None) -> Callback:
    """The callback for `RunConfig`, which also lets `watch` look at the trials' folders."""
    return _Display(progress, watch)


def stop_on_failure(watch: TrialWatch) -> Stopper:
    """Stopper of a session whose callbacks fail."""
    return _StopOnFailure(watch)
