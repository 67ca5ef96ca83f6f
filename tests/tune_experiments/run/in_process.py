"""Trials in the test's own process, one after the other, in the place of Ray Tune's processes.

A run is then what it is for its user, from command line to table, without the start of a process for every trial.
"""

import contextlib

import pytest

from tune_experiments.launch import launch
from tune_experiments.play import recording
from tune_experiments.run.ray_cluster import NO_GPUS
from tune_experiments.run.tuning import train_request


@contextlib.contextmanager
def trials_in_process():
    """Within it, runs train their trials here, and choose the episode of a video among two."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(launch, "run_trials", _run_trials)
        patch.setattr(recording, "CANDIDATES", 2)
        yield


@contextlib.contextmanager
def no_pictures():
    """Within it, reports have no figures, videos and pages, which take longer than small runs do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tune_experiments.launch.report.attempt", lambda what, make: ())
        yield


def _run_trials(requests, budgets, **named):
    """Run trials; a trial that fails raises its own error."""
    for request in requests:
        assert budgets[request["name"]] > 0
        train_request(request, NO_GPUS, lambda row: None)
    return {}
