"""Passes what Tune's trials report to the live display, and lets callbacks see what they write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ray.tune import Callback, Stopper
from ray.tune.experiment import Trial

from tune_experiments.results.trial_log import HANGS, REFUSED, WAITS
from tune_experiments.run.final_evaluation import read_test_results
from tune_experiments.run.progress import PAUSED, STOPPED, Progress
from tune_experiments.run.trial_watch import TrialWatch
from tune_experiments.run.waiting_trials import PendingTrials, cluster_capacity


class _Display(Callback):  # type: ignore[misc]
    """Rows to progress lines, by trial name: a member of a population takes over the configuration of another one."""

    def __init__(self, progress: Progress, watch: TrialWatch | None, is_population: bool) -> None:
        self._progress, self._watch, self._is_population = progress, watch, is_population
        self._has_failures = False

        def say(trial: str, notice: str) -> None:
            progress.update(trial, {"notice": notice})

        self._pending = PendingTrials(say, cluster_capacity)

    def __reduce__(self) -> Any:
        # Tune pickles its callbacks into its bookkeeping; display and user's callbacks stay with this process.
        return (Callback, ())

    def on_step_end(self, iteration: int, trials: Any, **info: Any) -> None:
        """See who waits, and what trials have written.

        Tune holds no more trials than may run at once, so a pending trial could run. Members of a population take
        turns.
        """
        if self._watch is not None:
            self._watch.look()
        pending = [] if self._is_population else [trial for trial in trials if trial.status == Trial.PENDING]
        groups = {str(trial): trial.placement_group_factory for trial in pending}
        self._pending.look({name: group.required_resources for name, group in groups.items()})

    def on_trial_result(self, iteration: int, trials: Any, trial: Any, result: dict[str, Any], **info: Any) -> None:
        """Show a row."""
        self._progress.update(str(trial), result)

    def on_trial_complete(self, iteration: int, trials: Any, trial: Any, **info: Any) -> None:
        """Say that it is done, that its slice is over, that its search has stopped it, or that it has failed."""
        request, how = trial.config["request"], "done"
        folder = Path(request["folder"]).parent / str(trial)
        if ("ends_at" in request or "objective" in request) and read_test_results(folder) is None:
            how = PAUSED if "ends_at" in request else STOPPED
        if REFUSED in (trial.last_result or {}):  # why is told at the end
            how = self._failed()
        self._progress.finish(str(trial), how)

    def on_trial_recover(self, iteration: int, trials: Any, trial: Any, **info: Any) -> None:
        """Say that it is started again, and why, unless the last that it said was that it waits, as for a disk."""
        last = trial.last_result or {}
        why = "" if WAITS in last else "its process or one that it needs has died; "
        why = f"{last[HANGS]}; " if HANGS in last else why
        notice = f"{why}it goes on from its newest checkpoint"
        self._progress.update(str(trial), {"notice": notice})

    def on_trial_error(self, iteration: int, trials: Any, trial: Any, **info: Any) -> None:
        """Say that it failed for good."""
        self._progress.finish(str(trial), self._failed())

    def is_over(self) -> bool:
        """Whether a listener has raised an error, or a population, which waits for all scores, has lost a member."""
        is_ended = self._watch is not None and self._watch.failure is not None
        return is_ended or (self._is_population and self._has_failures)

    def _failed(self) -> str:
        self._has_failures = True
        return "failed"


class _StopWhenOver(Stopper):  # type: ignore[misc]
    """Ends the session at a word of the display's."""

    def __init__(self, shown: _Display) -> None:
        self._shown = shown

    def __reduce__(self) -> Any:
        return (Stopper, ())  # as for the display

    def __call__(self, trial_id: str, result: dict[str, Any]) -> bool:
        """No trial is ended by what it reports."""
        return False

    def stop_all(self) -> bool:
        """Whether to end all of them."""
        return self._shown.is_over()


def display(progress: Progress, watch: TrialWatch | None = None, is_population: bool = False) -> _Display:
    """The callback for `RunConfig`, which also lets `watch` look at the trials' folders."""
    return _Display(progress, watch, is_population)


def stopper(shown: _Display) -> Stopper:
    """Stopper of a session, which ends when its display says so."""
    return _StopWhenOver(shown)
