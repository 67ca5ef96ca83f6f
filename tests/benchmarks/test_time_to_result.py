"""Time to a result: two validations in a row decide, seeds that never arrive count, and a seed is trained once."""

import json
import math

import numpy as np
import pytest

from benchmarks import time_to_result
from benchmarks.__main__ import main
from benchmarks.time_to_result import FILE, TASKS, Task, known, time_to


def task_of(scores, **arguments):
    """A tiny self-play whose validations find these scores."""
    left = iter(scores)

    def play(config, policy):
        return {"soups": np.full(500, next(left))}

    changes = {"valid_episodes": 500, "budget_env_steps": 800, "workers.worlds_per_runner": 8}
    changes |= {"workers.fragment_length": 20}
    return Task("overcooked_selfplay", "selfplay", "soups", 11.0, 160, play, changes, **arguments)


def test_a_seed_has_arrived_at_the_first_of_two_validations_in_a_row():
    found = time_to(task_of([3.0, 12.0, 4.0, 11.0, 11.5]), 0)
    assert found["env_steps"] == 4 * 160
    assert found["cpu_seconds"] > 0


@pytest.mark.long
def test_a_seed_that_passes_once_at_the_end_has_not_arrived():
    assert time_to(task_of([3.0] * 4 + [12.0]), 0) == {"cpu_seconds": None, "wall_seconds": None, "env_steps": None}


def test_a_validation_of_too_few_episodes_is_refused():
    task = task_of([])
    small = Task(**vars(task) | {"play": lambda config, policy: {"soups": np.ones(499)}})
    with pytest.raises(ValueError, match="499"):
        time_to(small, 0)


def test_a_seed_is_trained_once_and_one_that_never_arrives_counts_as_infinite(tmp_path, monkeypatch):
    trained = []

    def train(task, seed):
        trained.append(seed)
        spent, env_steps = (None, None) if seed else (5.0, 100)
        return {"cpu_seconds": spent, "wall_seconds": spent, "env_steps": env_steps}

    task = task_of([])
    monkeypatch.setattr(time_to_result, "TASKS", {"soup": task})
    monkeypatch.setattr(time_to_result, "time_to", train)
    time_to_result.choose(tmp_path, [0], None)
    values = {one.name: one.value for one in time_to_result.measure()}
    assert values["time_to_result.soup.median"] == 5.0
    time_to_result.choose(tmp_path, None, ["soup"])
    values = {one.name: one.value for one in time_to_result.measure()}
    assert trained == [0, 1, 2, 3, 4]
    assert values["time_to_result.soup.arrived"] == 1 and values["time_to_result.soup.quoted"] == 5
    assert values["time_to_result.soup.median"] == values["time_to_result.soup.seed_3"] == math.inf
    other = Task(**vars(task) | {"changes": {}})
    assert known(tmp_path / FILE, "soup", other) == {}  # other settings are another result
    assert len([json.loads(line) for line in (tmp_path / FILE).read_text().splitlines()]) == 5


def test_an_unknown_task_is_refused_in_one_sentence(capsys):
    assert main(["--only", "time_to_result", "--tasks", "soup"]) == 2
    assert "soup" in capsys.readouterr().err


@pytest.mark.parametrize("name", TASKS)
def test_every_task_trains_by_its_laptop_preset_and_plays_its_metric(name):
    task = TASKS[name]
    plan = task.plan(10)
    assert plan.budget_env_steps > 2 * task.every_env_steps
    assert task.every_env_steps >= plan.workers.worlds * plan.workers.fragment_length  # so validations can be in a row
