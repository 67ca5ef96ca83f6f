"""Passes what Tune's trials report to the live display."""

from __future__ import annotations

from typing import Any

from ray.tune import Callback
from ray.tune.experiment import Trial

from tune_experiments.run.progress import Progress
from tune_experiments.run.waiting import Waiting, room_in_cluster


class _Display(Callback):  # type: ignore[misc]
    """Rows to progress lines, by trial name."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._waiting = Waiting(lambda trial, said: progress.update(trial, {"said": said}), room_in_cluster)

    def __reduce__(self) -> Any:
        # Tune pickles its callbacks into its bookkeeping; the live display stays with this process.
        return (Callback, ())

    def on_step_end(self, iteration: int, trials: Any, **info: Any) -> None:
        """See who waits; Tune holds no more trials than may run at once, so whoever is pending could run."""
        pending = [trial for trial in trials if trial.status == Trial.PENDING]
        groups = {trial.config["request"]["name"]: trial.placement_group_factory for trial in pending}
        self._waiting.look({name: group.required_resources for name, group in groups.items()})

    def on_trial_result(self, iteration: int, trials: Any, trial: Any, result: dict[str, Any], **info: Any) -> None:
        """Show a row."""
        self._progress.update(trial.config["request"]["name"], result)

    def on_trial_complete(self, iteration: int, trials: Any, trial: Any, **info: Any) -> None:
        """Say that it is done."""
        self._progress.finish(trial.config["request"]["name"], "done")

    def on_trial_recover(self, iteration: int, trials: Any, trial: Any, **info: Any) -> None:
        """Say that it is started again."""
        said = "its process or one that it needs has died; it goes on from its newest checkpoint"
        self._progress.update(trial.config["request"]["name"], {"said": said})

    def on_trial_error(self, iteration: int, trials: Any, trial: Any, **info: Any) -> None:
        """Say that it failed for good."""
        self._progress.finish(trial.config["request"]["name"], "failed")


def display(progress: Progress) -> Callback:
    """The callback for `RunConfig`."""
    return _Display(progress)
