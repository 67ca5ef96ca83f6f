"""Environments of which a class is on torch, too, are on the GPU where a team acts and learns there in one process."""

import dataclasses

import numpy as np
import pytest

from rl_models.rllib.workers import Workers
from rl_models.runtime import device as devices
from rl_models.runtime.device import building_for
from tests.emulated_device import DEVICE, emulated_device
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.experiment.plan import make_team_algorithm
from tune_experiments.teams.trials import plan
from tune_experiments.train import SMOKE

KITCHEN = dataclasses.replace(
    SMOKE,
    env="overcooked-v0",
    env_arguments='{"max_episode_steps": 4}',
    workers=Workers(worlds_per_runner=2, fragment_length=6),
)


def trained(method, is_local):
    """Results of two updates, each name -> number; speeds left out."""
    algorithm = make_team_algorithm(dataclasses.replace(plan(KITCHEN, method, 1), is_local=is_local))
    results = [algorithm.train() for _ in range(2)]
    algorithm.close()
    return [{name: value for name, value in each.items() if not name.startswith("speed/")} for each in results]


def assert_trains_there_as_on_the_cpu(method, is_local, monkeypatch):
    expected = trained(method, is_local)
    monkeypatch.setattr(devices, "accelerator", lambda: DEVICE)
    with emulated_device():
        found = trained(method, is_local)
    for ours, theirs in zip(expected, found, strict=True):
        assert ours.keys() == theirs.keys()
        for name, value in ours.items():
            np.testing.assert_allclose(theirs[name], value, atol=1e-4, err_msg=name)


def test_a_team_trains_in_environments_on_an_emulated_device_as_on_the_cpu(monkeypatch):
    assert_trains_there_as_on_the_cpu("qmix", True, monkeypatch)


@pytest.mark.usefixtures("ray_session")
def test_rllib_trains_in_environments_on_an_emulated_device_as_on_the_cpu(monkeypatch):
    assert_trains_there_as_on_the_cpu("sync_4", False, monkeypatch)


@pytest.mark.parametrize(
    ("changes", "method", "is_there"),
    [
        ({}, "sync_4", True),
        ({}, "endi_dis", False),
        ({"env": "rtfm-v0", "env_arguments": "{}"}, "ippo", False),
        ({"env": "furnmove-v0", "env_arguments": '{"rooms": "valid"}'}, "ippo", True),
        ({"env": "furnmove-v0", "env_arguments": '{"rooms": "valid", "observations": ["frame"]}'}, "ippo", False),
        ({"env_arguments": '{"arrays": "numpy"}'}, "ippo", False),
    ],
)
def test_environments_are_on_the_device_where_nothing_needs_the_host(changes, method, is_there):
    make_world = plan(dataclasses.replace(KITCHEN, **changes), method, 1).make_world
    with emulated_device():
        assert not make_world(num_worlds=2, first_world=0).gives_tensors
        with building_for(DEVICE):
            world = make_world(num_worlds=2, first_world=0)
    assert world.gives_tensors is is_there


@pytest.mark.parametrize(
    ("script", "method", "changes"),
    [("overcooked_selfplay", "selfplay", {}), ("furnmove_sync", "sync_13_cordial", {"train_rooms": "valid"})],
)
def test_environments_of_a_papers_script_are_on_the_device(script, method, changes):
    experiment = find_experiment(script)
    config = dataclasses.replace(experiment.presets["smoke"], **changes)
    make_world = experiment.plan(config, method, 1).stages[0].plan.make_world
    with emulated_device(), building_for(DEVICE):
        assert make_world(num_worlds=2, first_world=0).gives_tensors
