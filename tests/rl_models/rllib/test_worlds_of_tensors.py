"""RLlib's runner and learner train on worlds of tensors, from the fragments where they lie."""

import torch

from rl_envs import make
from rl_models.algorithms.ppo import Ppo
from rl_models.networks.network_config import GridCnnConfig
from rl_models.rllib.config import rllib_config
from rl_models.rllib.env_runner import FragmentEnvRunner
from rl_models.rllib.workers import Workers
from rl_models.teams.grid_cnn_team import grid_cnn_team
from tests.rl_models.rllib.small import trial


def build_team():
    return grid_cnn_team(GridCnnConfig((4, 4), 3, (8,)), 2, (26, 4, 5), 6)


def kitchens(arrays):
    return lambda num_worlds, first_world: make(
        "overcooked-v0", num_worlds, first_world=first_world, max_episode_steps=6, shaping=1.0, arrays=arrays
    )


def test_they_learn_from_tensors_as_from_arrays():
    weights = []
    for arrays in ("numpy", "torch"):
        workers = Workers(worlds_per_runner=4, fragment_length=10)
        config = rllib_config(
            trial(objective=Ppo(), workers=workers, make_world=kitchens(arrays), build_policy=build_team)
        )
        learner = config.build_learner(env=None, spaces=None)
        learner.build()
        learner.update(episodes=FragmentEnvRunner(config=config).sample(num_timesteps=1))
        weights.append(learner.training_state()[0]["weights"])
    torch.testing.assert_close(*weights, atol=1e-5, rtol=1e-7)
