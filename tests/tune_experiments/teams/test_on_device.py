"""Environments of which a class is on torch, too, are on the GPU where a team acts and learns there in one process."""

import dataclasses
import functools

import numpy as np
import pytest

from rl_envs.core.errors import ArraysError
from rl_envs.overcooked.world import Overcooked
from rl_models.rllib.workers import Workers
from rl_models.runtime import device as devices
from rl_models.runtime.device import building_for
from tests.emulated_device import DEVICE, emulated_device
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.experiment.on_device import build_on_device
from tune_experiments.experiment.plan import make_team_algorithm
from tune_experiments.teams.trials import plan
from tune_experiments.train import SMOKE

KITCHEN = dataclasses.replace(
    SMOKE,
    env="overcooked-v0",
    env_arguments='{"max_episode_steps": 4}',
    workers=Workers(worlds_per_runner=2, fragment_length=6),
)


FURNMOVE = '{"rooms": "valid", "room_size": "laptop", "max_episode_steps": 4}'


def trained(method, is_local, config=KITCHEN, begins=None, updates=2):
    """Results of some updates, each name -> number without speeds, and the checkpoint after them."""
    algorithm = make_team_algorithm(dataclasses.replace(plan(config, method, 1), is_local=is_local))
    if begins is not None:
        algorithm.restore(*begins)
    results = [algorithm.train() for _ in range(updates)]
    kept = algorithm.checkpoint()
    algorithm.close()
    return [{n: value for n, value in each.items() if not n.startswith("speed/")} for each in results], kept


def assert_equal_results(found, expected):
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.keys() == theirs.keys()
        for name, value in ours.items():
            np.testing.assert_allclose(theirs[name], value, atol=1e-4, err_msg=name)


def assert_trains_there_as_on_the_cpu(method, is_local, monkeypatch):
    expected, _ = trained(method, is_local)
    monkeypatch.setattr(devices, "accelerator", lambda: DEVICE)
    with emulated_device():
        found, _ = trained(method, is_local)
    assert_equal_results(found, expected)


def test_a_team_trains_in_environments_on_an_emulated_device_as_on_the_cpu(monkeypatch):
    assert_trains_there_as_on_the_cpu("qmix", True, monkeypatch)


@pytest.mark.parametrize(
    ("env", "method"), [("overcooked-v0", "mappo"), ("furnmove-v0", "sync_2_cordial")], ids=["kitchen", "furnmove"]
)
def test_a_recurrent_team_of_impala_continues_on_an_emulated_device_and_back(env, method, monkeypatch):
    arguments = {"overcooked-v0": KITCHEN.env_arguments, "furnmove-v0": FURNMOVE}[env]
    learner = dataclasses.replace(KITCHEN.learner, algorithm="impala")
    network = dataclasses.replace(KITCHEN.network, name="lstm")
    config = dataclasses.replace(KITCHEN, env=env, env_arguments=arguments, learner=learner, network=network)
    expected, _ = trained(method, True, config, updates=3)
    first, kept = trained(method, True, config, updates=1)
    with monkeypatch.context() as patch, emulated_device():
        patch.setattr(devices, "accelerator", lambda: DEVICE)
        second, kept = trained(method, True, config, kept, updates=1)
        assert {value.device.type for value in kept[0]["weights"].values()} == {"cpu"}
    third, _ = trained(method, True, config, kept, updates=1)
    assert_equal_results(first + second + third, expected)


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


class Refuses(Overcooked):
    """A kitchen that needs an argument on a device that it is not given."""

    array_libraries = ("numpy", "torch")

    def __init__(self, *args, error, arrays="numpy", device="cpu"):
        if arrays != "numpy":
            raise error("no table for torch")
        super().__init__(*args)


def test_only_a_refusal_of_torch_builds_an_environment_in_numpy_instead():
    with emulated_device(), building_for(DEVICE):
        build = functools.partial(Refuses, error=ArraysError)
        assert not build_on_device(Refuses, build).gives_tensors
        with pytest.raises(ValueError, match="table"):
            build_on_device(Refuses, functools.partial(Refuses, error=ValueError))


class OwnRules(Overcooked):
    """A kitchen that does not say on which array libraries its own rules run."""

    def __init__(self, num_worlds=1, first_world=0):
        super().__init__(num_worlds, first_world)


def test_a_subclass_that_declares_no_array_library_is_in_numpy():
    with emulated_device(), building_for(DEVICE):
        assert not build_on_device(OwnRules, OwnRules).gives_tensors


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
