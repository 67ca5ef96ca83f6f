"""Trials without Ray: one after another in the driver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rl_envs.wrappers import hangs
from rl_models.rllib.workers import Workers
from rl_models.runtime.device import chosen_device, release_memory
from tune_experiments.core.errors import first_line
from tune_experiments.core.storage_uri import below
from tune_experiments.run.final_evaluation import read_test_results
from tune_experiments.run.placement import NO_GPUS, Gpus
from tune_experiments.run.progress import PAUSED, Progress
from tune_experiments.run.request import Request
from tune_experiments.run.slices import is_past
from tune_experiments.run.trial_errors import Refusal, find_refusal
from tune_experiments.run.trial_watch import TrialWatch
from tune_experiments.run.tuning import train_request


def describe_ignored_processes(workers: Workers) -> str | None:
    """Sentence on configured processes that a local trial ignores, or None."""
    if workers.cpus == 1:
        return None
    return (
        f"--local: one process plays all {workers.worlds} environments and learns; --workers.runners "
        f"{workers.runners}, --workers.learners {workers.learners} and --workers.aggregators {workers.aggregators} "
        f"are ignored"
    )


def run_local_trials(
    requests: Sequence[Request],
    budgets: Mapping[str, int],
    *,
    columns: Mapping[str, str],
    uri: str | None = None,
    watch: TrialWatch | None = None,
) -> dict[str, str]:
    """Run trials here, each until it has finished or failed; none begins after the end of its slice.

    Returns:
        trial name -> what went wrong, for those that failed.
    """
    gpus = NO_GPUS if chosen_device().type == "cpu" else Gpus(own=1.0)
    failures: dict[str, str] = {}
    with Progress(budgets, columns) as progress:
        for request in requests:
            if is_past(request.get("ends_at")):
                break
            name = request["name"]
            given = request if uri is None else request | {"uri": below(uri, f"trials/{name}")}
            try:
                _run(given, gpus, progress, watch)
            except Exception as error:
                if watch is not None and watch.failure is not None:
                    raise
                told = find_refusal(error, Path(request["folder"]))
                failures[name] = first_line(error) if told is None else Refusal(told)
                progress.finish(name, "failed")
            else:
                is_paused = "ends_at" in request and read_test_results(Path(request["folder"])) is None
                progress.finish(name, PAUSED if is_paused else "done")
            release_memory()
    return failures


def _run(request: Request, gpus: Gpus, progress: Progress, watch: TrialWatch | None) -> None:
    def tell(row: dict[str, Any]) -> None:
        progress.update(request["name"], row)
        if watch is not None:
            watch.look()
            if watch.failure is not None:
                raise watch.failure

    hangs.watch(lambda said: None)  # it prints where, and ends this process
    train_request(request, gpus, tell)
