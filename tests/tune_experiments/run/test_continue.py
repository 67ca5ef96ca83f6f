"""A run whose every process is killed is continued by the same command, and ends as if nothing had happened."""

import dataclasses
import re

import numpy as np
import pytest

from rl_models.training.checkpoint import load_checkpoint
from tests.tune_experiments.rtfm.curriculum_runs import log_of, points_of
from tests.tune_experiments.run.killed_run import ROWS, TRIAL, unbroken_and_continued
from tune_experiments.results.rows import read

__all__ = ["unbroken_and_continued"]
pytestmark = [
    pytest.mark.processes,
    pytest.mark.usefixtures("ray_session"),  # as `runs` does; named here for tests/order.py
    pytest.mark.timeout(900),  # the killed run starts Ray, too, and slowly on a busy machine
]


def test_the_log_is_the_unbroken_runs_without_a_row_doubled_or_missing(runs):
    unbroken, broken = (log_of(folder / TRIAL) for folder in runs)
    assert [row["env_steps"] for row in broken] == [160 * number for number in range(1, ROWS + 1)]
    assert sum("valid/success" in row for row in broken) == 2
    assert broken == unbroken


def test_the_results_are_the_unbroken_runs(runs):
    unbroken, broken = (read(folder / "results.jsonl") for folder in runs)
    assert len(broken) > 5
    assert all(row.cpu_seconds > 0 for row in [*unbroken, *broken])
    unbroken, broken = ([dataclasses.replace(row, cpu_seconds=None) for row in rows] for rows in (unbroken, broken))
    assert broken == unbroken
    tables = [re.sub("CPU-seconds.*", "", (folder / "table.md").read_text()) for folder in runs]
    assert tables[0] == tables[1]


def test_the_weights_are_the_unbroken_runs_to_the_last_bit(runs):
    unbroken, broken = (load_checkpoint(folder / TRIAL / "checkpoints/checkpoint_001280") for folder in runs)
    assert unbroken.state == broken.state
    assert set(unbroken.tensors) == set(broken.tensors) == {"weights", "optimizer", "runner_0"}
    for group, tensors in unbroken.tensors.items():
        for name, value in tensors.items():
            if name != "version":  # RLlib counts copies of the weights anew in each process
                np.testing.assert_array_equal(value, broken.tensors[group][name], err_msg=f"{group} {name}")


def test_tensorboard_shows_every_point_once(runs):
    unbroken, broken = (points_of(folder / TRIAL) for folder in runs)
    assert [step for step, _ in broken["loss/total"]] == [160 * number for number in range(1, ROWS + 1)]
    assert broken == unbroken
