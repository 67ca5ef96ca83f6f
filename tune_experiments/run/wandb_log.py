"""A trial's rows for Weights & Biases too, where WANDB_PROJECT names a project; training never fails by it.

The truth is `metrics.jsonl`, and TensorBoard's events are always written. A row that W&B does not take is not sent
again, and the first refusal ends the sending, with one sentence. The x axis is the number of env steps, so rows that a
continued trial repeats lie on those it had sent. This file must not know what the numbers mean.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

from tune_experiments.core.errors import first_line

__all__ = ["WandbLogger"]

PROJECT = "WANDB_PROJECT"
Report = Callable[[dict[str, Any]], None]


class WandbLogger:
    """Hands on what a trial reports; a context manager, for a run has an end.

    Args:
        report: gets every row, whatever becomes of W&B.
        identity: experiment, method, seed and configuration.
        name: of the trial, and of its run there.
        run_id: of the run that the trial belongs to.
    """

    def __init__(self, report: Report, identity: Mapping[str, Any], name: str, run_id: str) -> None:
        self._report, self._identity, self._name = report, identity, name
        # A trial that goes on elsewhere is the same run there, and no other run's trial is, wherever it lies.
        self._id = hashlib.sha256(f"{run_id}/{name}".encode()).hexdigest()[:16]
        self._run: Any = None

    def __enter__(self) -> WandbLogger:
        if os.environ.get(PROJECT):
            self._disable_on_error(self._begin)
        return self

    def __call__(self, row: dict[str, Any]) -> None:
        """Report a row."""
        self._report(row)
        if self._run is not None and "env_steps" in row:
            numbers = {key: value for key, value in row.items() if isinstance(value, int | float)}
            self._disable_on_error(lambda: self._run.log(numbers))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._run is not None:
            self._disable_on_error(lambda: self._run.finish(exit_code=0 if error is None else 1))

    def _begin(self) -> None:
        import wandb  # an extra: pip install "concord-marl[wandb]"

        run = wandb.init(
            project=os.environ[PROJECT],
            id=self._id,
            name=self._name,
            group=str(self._identity["experiment"]),
            config=dict(self._identity),
            resume="allow",
        )
        run.define_metric("env_steps")
        run.define_metric("*", step_metric="env_steps")
        self._run = run

    def _disable_on_error(self, act: Callable[[], None]) -> None:
        try:
            act()
        except (Exception, SystemExit) as error:
            self._run = None
            self._report({"notice": f"Weights & Biases gets nothing of this trial any more ({first_line(error)})"})
