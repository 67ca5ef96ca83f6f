"""Requests for trials, and schedulers that decide which one is next."""

from __future__ import annotations

from typing import Any, Protocol

from tune_experiments.core.config_json import DataclassInstance, config_to_json
from tune_experiments.experiment.base_experiment import BaseExperiment
from tune_experiments.experiment.curriculum import Plan
from tune_experiments.experiment.finding import read_configuration
from tune_experiments.results.trial_log import REFUSED
from tune_experiments.run.run_folder import RunFolder

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
    return {
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


class SearchScheduler(Protocol):
    """Provides requests, in an order that may depend on the results of earlier ones."""

    def next_request(self) -> Request | None:
        """Next request to train; None if there is none, or if it must wait until another request has ended."""

    def on_request_end(self, request: Request, failed: bool) -> None:
        """Called when a request has ended, or failed permanently."""


def as_searcher(scheduler: SearchScheduler) -> Any:
    """The scheduler as a Ray Tune `Searcher`, whose `failure` is the scheduler's exception or None."""
    from ray.tune.search import Searcher

    class _Searcher(Searcher):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self._running: dict[str, Request] = {}
            self.failure: Exception | None = None

        def suggest(self, trial_id: str) -> Any:
            try:
                request = scheduler.next_request() if self.failure is None else None
            except Exception as error:  # Tune would wait for another answer
                self.failure, request = error, None
            if request is None:
                return None if self._running else Searcher.FINISHED
            self._running[trial_id] = request
            return {"request": request}

        def on_trial_complete(self, trial_id: str, result: Any = None, error: bool = False) -> None:
            try:
                scheduler.on_request_end(self._running.pop(trial_id), error or REFUSED in (result or {}))
            except Exception as raised:
                self.failure = raised

        def save(self, checkpoint_path: str) -> None:
            """No-op: schedulers keep their own state on disk."""

        def restore(self, checkpoint_path: str) -> None:
            """No-op."""

    return _Searcher()
