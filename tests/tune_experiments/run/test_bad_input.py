"""Refusals of a script in a process of its own, as a user starts it."""

import dataclasses

import pytest

from tests.tune_experiments.run.refusals import DEAD, ROOT, SMOKE, assert_contract, complaint, save
from tune_experiments.core.config_json import config_to_json
from tune_experiments.core.config_path import with_overrides
from tune_experiments.furnmove_sync import EXPERIMENT
from tune_experiments.run.run_folder import RunFolder


def script(out, *flags, **settings):
    return complaint(ROOT / "tune_experiments/furnmove_sync.py", "--preset", "smoke", "--out", out, *flags, **settings)


@pytest.mark.processes
def test_a_run_of_a_larger_machine_is_continued_on_a_smaller_one(tmp_path):
    config = with_overrides(SMOKE, {"workers.runners": 999, "workers.worlds_per_runner": 1})
    RunFolder.open(tmp_path / "out", config_to_json(config), EXPERIMENT.name).close()
    save(tmp_path / "out/trials/marginal-seed0/checkpoints")
    sentence = script(tmp_path / "out", "--workers.runners", 0, "--workers.worlds-per-runner", 999)
    assert DEAD in sentence, "only the cluster is not there"


@pytest.mark.processes
def test_more_runners_than_cpus_are_refused_before_ray_starts(tmp_path):
    assert_contract(script(tmp_path / "out", "--workers.runners", 999, address=""), "1000 CPUs", "--workers.runners")
    assert not (tmp_path / "out").exists(), "nothing is claimed"


@pytest.mark.slow
def test_a_cluster_that_cannot_be_is_refused(tmp_path):
    assert_contract(script(tmp_path, address="garbage"), "RAY_ADDRESS=garbage")


def test_a_relative_room_file_is_the_same_file_in_the_folder_of_a_trial(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = dataclasses.replace(SMOKE, train_rooms="mine.json", test_rooms=("test", "mine.json"))
    mine = str(tmp_path / "mine.json")
    assert (config.train_rooms, config.test_rooms) == (mine, ("test", mine))
