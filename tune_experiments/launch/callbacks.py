"""Callbacks of a run: a user's own code, called in the process that leads the run while its trials train elsewhere.

    class Print(Callback):
        def on_validation(self, trial, row):
            print(trial, row["env_steps"], row["valid/success"])

    EXPERIMENT.run(preset="smoke", callbacks=[Print()])

They are never sent to a trial or stored. An error that a callback raises ends the run; the same call without it
continues.
"""

from __future__ import annotations

from typing import Any

from tune_experiments.launch.finished_run import Run
from tune_experiments.run.trial_watch import TrialListener

__all__ = ["Callback"]


class Callback(TrialListener):
    """Override what is of interest, `on_validation`, `on_checkpoint` or `on_end`; nothing happens by default."""

    def on_end(self, run: Run[Any]) -> None:
        """The run is over, whether or not trials have failed; it is not called where the user stopped it."""
