"""Wrong arguments from Python: one sentence that names the flag or the argument, before anything starts."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from rl_envs import make
from tests.tune_experiments.run.refusals import DEAD
from tune_experiments import load_policy
from tune_experiments.core.config_path import with_flags, with_overrides
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.finding import find_experiment

TEAMS, MATRIX = find_experiment("train"), find_experiment("matrix_game")


def environment():
    """A function where a name is wanted."""


WRONG = {
    "--env": [{"env": environment}, {"env": lambda: None}, {"env": dict}, {"env": object()}, {"env": b"x"}],
    "--methods": [{"methods": {"ippo"}}, {"methods": "ippo"}, {"methods": ()}, {"methods": ("ippo", "ippo")}],
    "--budget-env-steps": [
        {"budget_env_steps": value} for value in (np.int64(-3), 1e5, 10**400, "many", None, True, float("nan"))
    ],
    "--learner.gamma": [{"learner.gamma": value} for value in (float("nan"), np.array([1.0]), 2, "x")],
    "--learner": [{"learner": 3}],
    "--language.learning-rate": [{"language.learning_rate": -1.0}, {"language": {"learning_rate": "x"}}],
    "--seeds": [{"seeds": value} for value in (-1, "01", [0.5], [], [2**70], [[1]], [True])],
    "--out": [{"out": 3}, {"out": "a\0b"}],
    "--device": [{"device": "gpu"}],
    "--max-concurrent-trials": [{"max_concurrent_trials": value} for value in ("two", 0)],
    "--search": [{"search": "many"}, {"search": 0}],
    "--search-by": [{"search": 2, "search_by": "best"}],
    "--search-over": [{"search": 2, "search_over": "x"}, {"search": 2, "search_over": ("x",)}],
    "callbacks": [{"callbacks": [3]}],
    "config": [{"config": {"a": 1}}, {"config": MATRIX.presets["smoke"]}],
    "preset": [{"preset": 3}],
    "learning_rat": [{"learning_rat": 3}],
}
CASES = [(name, wrong) for name, cases in WRONG.items() for wrong in cases]


@pytest.mark.parametrize(("named", "wrong"), CASES)
def test_a_wrong_argument_is_told_by_its_name(tmp_path, monkeypatch, named, wrong):
    monkeypatch.setenv("RAY_ADDRESS", DEAD)
    start = {} if {"config", "preset"} & wrong.keys() else {"preset": "smoke"}
    with pytest.raises(UserError) as refusal:
        TEAMS.run(**{"out": tmp_path / "run"} | start | wrong)
    said = str(refusal.value)
    assert named in said and "\n" not in said and DEAD not in said
    assert not (tmp_path / "run").exists(), "nothing is claimed"


def test_a_function_is_told_what_to_write():
    with pytest.raises(UserError, match=r"package\.module:function"):
        TEAMS.run("smoke", env=environment)


def test_numbers_of_numpy_paths_groups_and_both_spellings_are_taken():
    config = TEAMS.presets["smoke"]
    changed = with_overrides(
        config,
        {
            "budget_env_steps": np.int64(1600),
            "env": Path("mpe2.simple_spread_v3"),
            "learner": {"gamma": np.float32(0.5)},
            "language.learning-rate": 0.25,
            "methods": ["sync-4"],
        },
    )
    assert (changed.budget_env_steps, changed.learner.gamma, changed.language.learning_rate) == (1600, 0.5, 0.25)
    assert changed.methods == ("sync_4",)
    assert changed.learner == dataclasses.replace(config.learner, gamma=0.5), "the rest of the group stays"


def test_a_sentence_of_an_environment_names_the_flag_of_a_field():
    config = TEAMS.presets["smoke"]
    assert "--agents-leave is False" in with_flags("agent a is gone and agents_leave is False: set it to True", config)
    said = "'agents_leave' of path/agents_leave and --agents-leave; learner and env"
    assert with_flags(said, config) == said


@pytest.mark.parametrize("path", [None, 3, "", "a\0b", "nowhere", []])
def test_what_is_no_team_is_told(path):
    with pytest.raises(UserError):
        load_policy(path)


def test_a_device_that_does_not_exist_is_told():
    with pytest.raises(UserError, match=r"auto, cpu, cuda, not 'tpu'"):
        load_policy("pretrained/verco_secret_order", device="tpu")


def test_an_environment_is_found_in_both_spellings_and_by_a_text_alone():
    assert type(make("matrix_game_v0")) is type(make("matrix_game-v0"))
    with pytest.raises(ValueError, match="not by 3"):
        make(3)
