"""A member of a population between its reports to Tune: whose weights it has, and what it learns with."""

import contextlib
import json

import numpy as np
import pytest

from rl_models.training.checkpoint import load_checkpoint, newest_complete_checkpoint, save_checkpoint
from tests.tune_experiments.search.pretended import CONFIG, OBJECTIVE
from tune_experiments.core.config_json import config_to_json
from tune_experiments.play.loading import chosen_checkpoint
from tune_experiments.results.trial_log import SCORE, read_metrics
from tune_experiments.run import population
from tune_experiments.run.population import GENERATION, exploit, generation_ends, member_request, train_member
from tune_experiments.run.ray_cluster import NO_GPUS
from tune_experiments.run.stage_training import DivergedError
from tune_experiments.run.tuning import train_request


def member(tmp_path, name="loser", rate=0.02, first=1, of="loser"):
    """The request of a member as Tune has it: after an exploit it is that of another one with other values."""
    (tmp_path / name).mkdir(exist_ok=True)
    request = {
        "name": of,
        "folder": str(tmp_path / of),
        "experiment": "matrix_game",
        "config": config_to_json(CONFIG),
        "method": "sync",
        "seed": 0,
        "run_id": "0",
        "is_tested": False,
        "objective": OBJECTIVE,
        "values": {"learning_rate": rate},
        "ends": generation_ends(CONFIG.budget_env_steps),
        "first": first,
    }
    return member_request(request, name)


class Paused(Exception):
    """What Tune does with a trial that it pauses in the middle of a report."""


def train(request, tune_checkpoint=None, reports=100):
    """Train as Tune lets it; the reports until it is paused."""
    told = []

    def tell(row, folder):
        told.append((row, folder))
        if len(told) == reports:
            raise Paused

    with contextlib.suppress(Paused):
        train_member(request, tune_checkpoint, lambda part: train_request(part, NO_GPUS, lambda row: None), tell)
    return told


def weights(folder):
    return load_checkpoint(newest_complete_checkpoint(folder / "checkpoints")).tensors


@pytest.mark.long
def test_a_member_that_is_paused_or_killed_tells_each_generation_once_and_trains_as_an_unbroken_one(tmp_path):
    whole = train(member(tmp_path, "whole", of="whole"))
    assert [row[GENERATION] for row, _ in whole] == list(range(1, 8))
    first = train(member(tmp_path), reports=3)
    tune_checkpoint = tmp_path / "tune/loser/checkpoint_000002"
    tune_checkpoint.parent.mkdir(parents=True)
    first[-1][1].rename(tune_checkpoint)
    (tmp_path / "loser/checkpoints").mkdir()
    for path in tune_checkpoint.iterdir():  # Tune has copied it
        path.rename(tmp_path / "loser/checkpoints" / path.name)
    save_checkpoint(tune_checkpoint, 192, {}, {})
    second = train(member(tmp_path), tune_checkpoint, reports=2)
    third = train(member(tmp_path, first=5))  # another session of Tune's, in which generation 5 is judged again
    assert [row[GENERATION] for row, _ in (*first, *second, *third)] == [1, 2, 3, 4, 5, 5, 6, 7]
    assert third[0][0] == second[-1][0]
    logs = [
        [row[OBJECTIVE] for row in read_metrics(tmp_path / name / "metrics.jsonl") if OBJECTIVE in row]
        for name in ("whole", "loser")
    ]
    assert logs[0] == logs[1]


def test_a_member_that_diverges_is_ranked_last_in_each_generation_and_ends_no_other(tmp_path):
    request, told = member(tmp_path), []

    def train_until_it_diverges(part):
        if part.get("until", 0) > 128:
            raise DivergedError("the policy is no longer finite")
        if "until" in part:
            save_checkpoint(tmp_path / "loser/checkpoints", part["until"], {}, {})
            (tmp_path / "loser/metrics.jsonl").write_text(json.dumps({"env_steps": 1, OBJECTIVE: 0.5}) + "\n")

    train_member(request, None, train_until_it_diverges, lambda row, folder: told.append(row))
    assert [(row[GENERATION], row["env_steps"], row[SCORE] > 0) for row in told] == [
        (number, min(64 * number, 128), number < 3) for number in range(1, 8)
    ]


def test_a_member_that_copies_chosen_weights_has_the_sources_choice(tmp_path):
    for name, (chosen, newest) in {"source": (20, 30), "target": (10, 35)}.items():
        for step in (chosen, newest):
            state = {"config": name, "choice": {"value": 0.5, "env_steps": chosen}}
            save_checkpoint(tmp_path / name / "checkpoints", step, {"weights": {"a": np.full(1, step)}}, state)
    exploit(tmp_path / "source/checkpoints", tmp_path / "target/checkpoints", config_to_json(CONFIG))
    assert sorted(path.name for path in (tmp_path / "target" / "checkpoints").iterdir()) == [
        "checkpoint_000020",
        "checkpoint_000030",
    ]
    found = load_checkpoint(chosen_checkpoint(tmp_path / "target"))
    assert found.tensors["weights"]["a"] == 20
    assert found.state["config"] == config_to_json(CONFIG)


def test_the_newest_checkpoint_is_copied_last_whatever_its_number_of_digits(tmp_path, monkeypatch):
    for step in (900_000, 1_000_000):
        state = {"choice": {"value": 0.5, "env_steps": 900_000}}
        save_checkpoint(tmp_path / "source", step, {"weights": {"a": np.full(1, step)}}, state)
    copied = []

    def save(folder, step, tensors, state):
        copied.append(step)
        return save_checkpoint(folder, step, tensors, state)

    monkeypatch.setattr(population, "save_checkpoint", save)
    exploit(tmp_path / "source", tmp_path / "target", {})
    assert copied == [900_000, 1_000_000]


def test_a_member_takes_over_a_checkpoint_of_a_step_that_it_has_itself(tmp_path):
    for name in ("source", "target"):
        save_checkpoint(tmp_path / name, 30, {}, {"config": {"of": name}, "from": name})
    exploit(tmp_path / "source", tmp_path / "target", {})
    (found,) = (tmp_path / "target").iterdir()
    assert load_checkpoint(found).state == {"config": {}, "from": "source"}
