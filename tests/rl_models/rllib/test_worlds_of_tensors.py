"""RLlib trains on worlds of tensors in its own process, from the fragments where they lie."""

import pytest
import torch

from rl_envs import make
from rl_models.algorithms.impala import Impala
from rl_models.algorithms.ppo import Ppo
from rl_models.networks.network_config import GridCnnConfig
from rl_models.rllib.workers import Workers
from rl_models.teams.grid_cnn_team import grid_cnn_team
from tests.rl_models.rllib.small import Plan


def build_team():
    return grid_cnn_team(GridCnnConfig((4, 4), 3, (8,)), 2, (26, 4, 5), 6)


def kitchens(arrays):
    return lambda num_worlds, first_world: make(
        "overcooked-v0", num_worlds, first_world=first_world, max_episode_steps=6, shaping=1.0, arrays=arrays
    )


@pytest.mark.parametrize("kind", [Ppo, Impala])
def test_rllib_trains_on_worlds_of_tensors_as_on_arrays(start, kind):
    weights = []
    for arrays in ("numpy", "torch"):
        workers = Workers(runners=0, worlds_per_runner=4, fragment_length=10)
        algorithm = start(Plan(kind(), workers, kitchens(arrays), build_team))
        assert algorithm.train()["episode/length"] == 6
        weights.append(algorithm.policy().state_dict())
    torch.testing.assert_close(*weights, atol=1e-5, rtol=1e-7)
