"""Kitchens whose rules run on a real GPU play as in NumPy, and a step is captured; `make gpu` runs these tests."""

import os

import numpy as np
import pytest

from rl_envs import make
from rl_models.networks.network_config import GridCnnConfig
from rl_models.runtime.device import chosen_device
from rl_models.teams.grid_cnn_team import grid_cnn_team
from rl_models.training.grouped_collector import make_collector
from tests.tune_experiments.run.teams_of_all_kinds import numbers_of

pytestmark = pytest.mark.skipif("CONCORD_GPU_TESTS" not in os.environ, reason="`make gpu` runs these")
WORLDS = 64
ON_GPU = {"arrays": "torch", "device": "cuda"}


def kitchens(**arguments):
    return make("overcooked-v0", WORLDS, max_episode_steps=50, shaping=0.7, shaping_steps=90, **arguments)


def test_random_play_on_a_gpu_is_that_of_numpy():
    ours, theirs = kitchens(), kitchens(**ON_GPU)
    for world in (ours, theirs):
        world.reset(1)
    random = np.random.default_rng(0)
    for _ in range(200):
        actions = random.integers(6, size=(WORLDS, 2))
        expected, found = ours.step(actions), theirs.step(actions)
        np.testing.assert_array_equal(found[0]["lossless"].cpu(), expected[0]["lossless"])
        for one, other in zip(expected[1:4], found[1:4], strict=True):
            np.testing.assert_array_equal(other.cpu(), one)
    for name, value in ours.snapshot().items():
        np.testing.assert_array_equal(theirs.snapshot()[name], value, err_msg=name)
    np.testing.assert_array_equal(theirs.chance.policy_uniforms(9).cpu(), ours.chance.policy_uniforms(9))


def test_fragments_of_kitchens_on_a_gpu_are_captured_and_those_of_arrays():
    policy = grid_cnn_team(GridCnnConfig(), 2, (26, 4, 5), 6).to(chosen_device("cuda"))
    ours, theirs = (make_collector([kitchens(**arguments)], policy, 60, True) for arguments in ({}, ON_GPU))
    for one in (ours, theirs):
        one.reset(1)
    for _ in range(2):
        expected, found = numbers_of(ours.collect()), numbers_of(theirs.collect())
        for name, value in found.items():
            np.testing.assert_allclose(value.cpu(), expected[name], atol=1e-4, err_msg=name)
    assert not theirs.graphed.never
