"""A run whose every process is killed is continued by the same command, and ends as if nothing had happened."""

import dataclasses
import re

import pytest

from tests.tune_experiments.rtfm.curriculum_runs import assert_equal_runs, log_of, points_of
from tests.tune_experiments.run.killed_run import ROWS, TRIAL, unbroken_and_continued
from tune_experiments.results.rows import read

__all__ = ["unbroken_and_continued"]
pytestmark = [
    pytest.mark.processes,
    pytest.mark.usefixtures("ray_session"),  # as `runs` does; named here for tests/order.py
    pytest.mark.timeout(900),  # the killed run starts Ray, too, and slowly on a busy machine
]


def test_log_curves_and_weights_are_the_unbroken_runs_without_a_row_doubled_or_missing(runs):
    unbroken, broken = (folder / TRIAL for folder in runs)
    rows, points = log_of(broken), points_of(broken)["loss/total"]
    steps = [160 * number for number in range(1, ROWS + 1)]
    assert [row["env_steps"] for row in rows] == [step for step, _ in points] == steps
    assert sum("valid/success" in row for row in rows) == 2
    assert_equal_runs(unbroken, broken, 1280, but={"version"})


def test_the_results_are_the_unbroken_runs(runs):
    unbroken, broken = (read(folder / "results.jsonl") for folder in runs)
    assert len(broken) > 5
    assert all(row.cpu_seconds > 0 for row in [*unbroken, *broken])
    unbroken, broken = ([dataclasses.replace(row, cpu_seconds=None) for row in rows] for rows in (unbroken, broken))
    assert broken == unbroken
    tables = [re.sub("CPU-seconds.*", "", (folder / "table.md").read_text()) for folder in runs]
    assert tables[0] == tables[1]
