"""Passes what Tune's trials report to the live display."""

from __future__ import annotations

from typing import Any

from ray.tune import Callback

from tune_experiments.common.progress import Progress


class _Display(Callback):  # type: ignore[misc]
    """Rows to progress lines, by trial name."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def __reduce__(self) -> Any:
        # Tune pickles its callbacks into its bookkeeping; the live display stays with this process.
        return (Callback, ())

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
