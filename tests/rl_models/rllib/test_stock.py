"""Stock RLlib trains the team module through the stock views, for those who want the parts without our runner."""

import functools

import numpy as np
import pytest
import torch
import tree

from rl_models.rllib.module import TeamModule
from tests.rl_models.rllib.small import build_team
from tests.rl_models.training.small import CENTRAL, HORIZON

pytestmark = pytest.mark.usefixtures("ray_session")


@pytest.mark.parametrize("components", [3, pytest.param(CENTRAL, marks=pytest.mark.slow)])
def test_stock_ppo_trains_the_team_module_in_the_team_view(components):
    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.rllib.core.rl_module.rl_module import RLModuleSpec

    from rl_envs.wrappers.rllib import TeamGymEnv

    arguments = {"num_agents": 2, "room_size": "laptop", "rooms": "valid", "max_episode_steps": HORIZON}
    config = (
        PPOConfig()
        .environment(TeamGymEnv, env_config={"world": "furnmove-v0", "arguments": arguments})
        .env_runners(num_env_runners=0, num_envs_per_env_runner=4, rollout_fragment_length=25)
        .training(train_batch_size_per_learner=100, minibatch_size=50, num_epochs=2, lr=1e-3)
        .rl_module(
            rl_module_spec=RLModuleSpec(
                module_class=TeamModule,
                model_config={"build_policy": functools.partial(build_team, components), "max_seq_len": 5},
            )
        )
        .debugging(seed=0, log_level="ERROR")
    )
    algorithm = config.build_algo()
    try:
        before = {name: value.clone() for name, value in algorithm.get_module().state_dict().items()}
        for _ in range(2):
            results = algorithm.train()
        learned = tree.map_structure(float, {k: v for k, v in results["learners"]["default_policy"].items()})
        assert np.isfinite(learned["total_loss"])
        assert learned["mean_kl_loss"] < 1
        assert np.isfinite(results["env_runners"]["episode_return_mean"])
        after = algorithm.learner_group._learner.module["default_policy"].state_dict()  # noqa: SLF001 (RLlib's)
        assert [name for name, value in after.items() if torch.equal(value, before[name])] == []
    finally:
        algorithm.stop()


@pytest.mark.parametrize("components", [3, CENTRAL])
def test_the_stock_interface_gives_the_policys_outputs(components):
    """Values are the team's, inputs give back the joint policy, with and without a time axis."""
    from ray.rllib.core.columns import Columns

    module = TeamModule(model_config={"build_policy": functools.partial(build_team, components)})
    policy = module.policy
    view = torch.randint(0, 2, (3, 4, 2, 9, 15, 15), dtype=torch.uint8)
    state = policy.initial_state(3)
    wanted = policy({"view": view}, state, torch.zeros(3, 4, dtype=torch.bool))
    batch = {Columns.OBS: {"view": view}, Columns.STATE_IN: state}
    out = module.forward_train(batch)
    torch.testing.assert_close(out[Columns.VF_PREDS], wanted.values.sum(-1))
    torch.testing.assert_close(module.compute_values(batch), wanted.values.sum(-1))
    distribution = module.get_train_action_dist_cls().from_logits(out[Columns.ACTION_DIST_INPUTS])
    torch.testing.assert_close(distribution.policy.joint(), wanted.policy.joint())
    assert set(out[Columns.STATE_OUT]) == set(module.get_initial_state()) == set(state)
    assert module.is_stateful()
