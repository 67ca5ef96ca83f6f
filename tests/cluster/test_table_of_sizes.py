"""The table of sizes in docs/cluster.md repeats the presets."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tune_experiments.experiment.finding import find_experiment

PAGE = Path(__file__).resolve().parents[2] / "docs" / "cluster.md"
ROW = re.compile(r"^\| `(\w+)`, (\w+) \| (\d+) x (\d+), (\d+)\b[^|]*\| (\d+), (\d+) \| ([\d,]+) \|", re.MULTILINE)
ROWS = ROW.findall(PAGE.read_text(encoding="utf-8"))
"""Script, preset, runners, worlds, learners, CPUs, GPUs, env steps, in every row of the table."""


def test_every_row_of_the_table_is_read():
    (table,) = re.findall(r"(?m)^\| experiment, preset .*\n\|[-:|]+\|\n((?:\|.*\n)+)", PAGE.read_text(encoding="utf-8"))
    assert len(ROWS) == len(table.splitlines())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: "-".join(row[:2]))
def test_a_row_has_the_presets_workers_and_env_steps(row: tuple[str, ...]) -> None:
    experiment = find_experiment(row[0])
    config = experiment.presets[row[1]]
    plans = [experiment.plan(config, method, 0, None) for method in experiment.methods(config)]
    workers = [plan.workers for plan in plans]
    used = [(each.runners, each.worlds_per_runner, each.learners, each.cpus, each.gpus) for each in workers]
    found = {(*each, plan.budget_env_steps) for each, plan in zip(used, plans, strict=True)}
    assert found == {tuple(int(number.replace(",", "")) for number in row[2:])}
