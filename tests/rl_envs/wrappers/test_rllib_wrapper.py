"""The worlds in stock RLlib: ordered agents, a right `__all__`, rendering, and its env runners (one import of Ray)."""

import numpy as np
import pytest

from rl_envs.wrappers import rllib
from tests.toy_worlds import Errands

pytestmark = pytest.mark.usefixtures("toy_id")
STILL = {"go": 0, "say": 0}


def test_all_is_true_once_when_some_agents_terminate_and_others_truncate(monkeypatch):
    """The first agent reaches its goal in the step in which the time limit stops the second one."""
    world = Errands(num_agents=2, gusts=1.0, max_episode_steps=1)
    monkeypatch.setattr(world, "reset", lambda seed: world.restore({"cell": np.array([[0, 2]])}))
    env = rllib.TeamMultiAgentEnv({"world": world})
    env.reset(seed=0)
    _, _, terminated, truncated, _ = env.step({"walker_0": {"go": 1, "say": 0}, "walker_1": STILL})
    assert terminated == {"walker_0": True, "walker_1": False, "__all__": False}
    assert truncated == {"walker_0": False, "walker_1": True, "__all__": True}
    with pytest.raises(RuntimeError, match="reset"):
        env.step({})


def test_it_draws_where_the_world_can():
    env = rllib.TeamMultiAgentEnv({"world": "toy-v0"})
    env.reset(seed=0)
    assert env.render().dtype == np.uint8
    assert rllib.TeamMultiAgentEnv({"world": "matrix_game-v0"}).render() is None


@pytest.mark.parametrize("num_agents", [1, 3])
def test_the_toy_world_passes_rllibs_check_and_ours(num_agents):
    from rl_envs.testing.wrappers import check_rllib_envs

    check_rllib_envs("toy-v0", {"num_agents": num_agents})


def rllib_config(env, env_class):
    """PPO's config with a module that is never asked, runnable in this process without a cluster."""
    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.rllib.core.rl_module.rl_module import RLModuleSpec
    from ray.rllib.core.rl_module.torch import TorchRLModule

    config = PPOConfig().environment(env_class, env_config=env, disable_env_checking=True)
    config = config.env_runners(num_env_runners=0, num_envs_per_env_runner=2).rl_module(
        rl_module_spec=RLModuleSpec(module_class=TorchRLModule)
    )
    if env_class is rllib.TeamMultiAgentEnv:
        config = config.multi_agent(policies={"walker"}, policy_mapping_fn=lambda *_: "walker")
    return config


@pytest.mark.long
@pytest.mark.parametrize("env_class", ["TeamMultiAgentEnv", "TeamGymEnv"])
def test_stock_env_runners_collect_whole_episodes_from_it(env_class):
    from ray.rllib.env.multi_agent_env_runner import MultiAgentEnvRunner
    from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner

    kind = {"TeamMultiAgentEnv": MultiAgentEnvRunner, "TeamGymEnv": SingleAgentEnvRunner}[env_class]
    arguments = {"num_agents": 3, "max_episode_steps": 6, "gusts": 0.5}
    runner = kind(config=rllib_config({"world": "toy-v0", "arguments": arguments}, getattr(rllib, env_class)))
    episodes = runner.sample(num_episodes=6, random_actions=True)
    assert len(episodes) >= 6
    assert all(episode.is_done for episode in episodes)
    assert max(len(episode) for episode in episodes) <= 6
