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


@pytest.mark.parametrize("kind", [rllib.TeamGymEnv, rllib.TeamMultiAgentEnv])
def test_keys_of_the_config_that_nothing_reads_are_refused_and_attributes_of_rllib_are_none(kind):
    from ray.rllib.env.env_context import EnvContext

    config = {"world": "toy-v0", "arguments": {"num_agents": 3}, "text_tokens": False, "render_mode": None}
    assert kind(EnvContext(config, worker_index=1, vector_index=2)).world.num_agents == 3
    for key, near in (("argument", "arguments"), ("txt_tokens", "text_tokens"), ("seed", "render_mode")):
        with pytest.raises(ValueError, match=rf"'{key}'.*{near}"):
            kind(EnvContext({"world": "toy-v0", key: {}}, worker_index=1))


@pytest.mark.parametrize("num_agents", [1, 3])
def test_the_toy_world_passes_rllibs_check_and_ours(num_agents):
    from rl_envs.testing.wrappers import check_rllib_envs

    check_rllib_envs("toy-v0", {"num_agents": num_agents})


@pytest.mark.long
def test_stock_env_runners_collect_whole_episodes_of_several_agents_from_it():
    """The team view is played by stock PPO in `tests/rl_models/rllib/test_stock.py`."""
    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.rllib.core.rl_module.rl_module import RLModuleSpec
    from ray.rllib.core.rl_module.torch import TorchRLModule
    from ray.rllib.env.multi_agent_env_runner import MultiAgentEnvRunner

    env = {"world": "toy-v0", "arguments": {"num_agents": 3, "max_episode_steps": 6, "gusts": 0.5}}
    config = (
        PPOConfig()
        .environment(rllib.TeamMultiAgentEnv, env_config=env, disable_env_checking=True)
        .env_runners(num_env_runners=0, num_envs_per_env_runner=2)
        .rl_module(rl_module_spec=RLModuleSpec(module_class=TorchRLModule))
        .multi_agent(policies={"walker"}, policy_mapping_fn=lambda *_: "walker")
    )
    episodes = MultiAgentEnvRunner(config=config).sample(num_episodes=6, random_actions=True)
    assert len(episodes) >= 6
    assert all(episode.is_done for episode in episodes)
    assert max(len(episode) for episode in episodes) <= 6
