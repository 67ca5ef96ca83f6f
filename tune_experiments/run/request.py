"""Requests for trials, Tune's searcher of requests, and time slices.

A run in slices stops at checkpoints after a number of seconds, and the same command continues it. The result is that of
training at once: a slice ends between two rows of a log, without an extra validation.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rl_models.training.checkpoint import newest_complete_checkpoint
from tune_experiments.core.config_json import DataclassInstance, config_to_json
from tune_experiments.core.storage_uri import join_path
from tune_experiments.experiment.base_experiment import BaseExperiment
from tune_experiments.experiment.curriculum import Plan
from tune_experiments.experiment.finding import read_configuration
from tune_experiments.run.run_folder import RunFolder
from tune_experiments.run.trial import CHECKPOINTS

Request = dict[str, Any]
"""A request for one trial: `name`, `experiment` (entry point), `config` (JSON), `method`, `seed`, `folder`,
`is_tested`, the `run_id` of its run, the `uri` of its copy, `is_local` for training without Ray, and `ends_at`, the
time (seconds of `time.time`) at which its slice ends. In a search, `objective` is the key of its log that it is judged
by. A member of a population has its `values` (path -> value), the `ends`, generation -> env steps at its end, the
`first` generation to judge, and `until`, the next end."""


def make_request(
    experiment: str,
    config: DataclassInstance,
    method: str,
    seed: int,
    run: RunFolder,
    name: str,
    is_tested: bool = True,
) -> Request:
    """Request for a trial of an experiment, named by its entry point; the trial's folder is created."""
    store = {} if run.uri is None else {"uri": join_path(run.uri, f"trials/{name}")}
    return store | {
        "name": name,
        "experiment": experiment,
        "config": config_to_json(config),
        "method": method,
        "seed": seed,
        "folder": str(run.trial(name).resolve()),
        "run_id": run.run_id,
        "is_tested": is_tested,
    }


def make_plan(experiment: BaseExperiment, request: Request) -> Plan:
    """Plan of a trial from its request, for its cost and processes; without a folder, since nothing is trained."""
    config = read_configuration(experiment, request["config"])
    plan = experiment.plan(config, request["method"], request["seed"], None)
    return plan.in_one_process() if request.get("is_local") else plan


def trained_env_steps(request: Request) -> int:
    """Env steps to the newest complete checkpoint of a trial, 0 without one."""
    newest = newest_complete_checkpoint(Path(request["folder"]) / CHECKPOINTS)
    return 0 if newest is None else get_checkpoint_step(newest)


def get_checkpoint_step(checkpoint: Path) -> int:
    """Env steps at which a checkpoint was written, by its name."""
    return int(checkpoint.name.rpartition("_")[2])


def as_searcher(next_request: Callable[[], Request | None]) -> Any:
    """Ray Tune `Searcher` of requests, whose `failure` is the exception of `next_request`, or None.

    `next_request` is asked until it returns None while no trial runs.
    """
    from ray.tune.search import Searcher

    class _Searcher(Searcher):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self._running: set[str] = set()
            self.failure: Exception | None = None

        def __reduce__(self) -> Any:
            return (object, ())  # Tune pickles its searcher into its bookkeeping; this one stays with its process

        def suggest(self, trial_id: str) -> Any:
            try:
                request = next_request() if self.failure is None else None
            except Exception as error:  # Tune would wait for another answer
                self.failure, request = error, None
            if request is None:
                return None if self._running else Searcher.FINISHED
            self._running.add(trial_id)
            return {"request": request}

        def on_trial_complete(self, trial_id: str, result: Any = None, error: bool = False) -> None:
            self._running.discard(trial_id)

        def save(self, checkpoint_path: str) -> None:
            """No-op: searches keep their own state on disk."""

        def restore(self, checkpoint_path: str) -> None:
            """No-op."""

    return _Searcher()


def is_past(ends_at: float | None) -> bool:
    """Whether a slice with this end time is over; None never is."""
    return ends_at is not None and time.time() >= ends_at


def slice_end(seconds: float | None) -> float | None:
    """End of a slice of a number of seconds from now, as `time.time`; None without a limit."""
    return None if seconds is None else time.time() + seconds


def slice_searcher(requests: Sequence[Request]) -> Any:
    """Ray Tune `Searcher` of these requests in order, until their slice is over."""
    left = list(requests)
    return as_searcher(lambda: left.pop(0) if left and not is_past(left[0]["ends_at"]) else None)
