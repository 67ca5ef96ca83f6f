"""The same work through RLlib, in this process and without a cluster: our env runner, and RLlib's stock ones."""

from collections.abc import Callable
from typing import Any

from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core import COMPONENT_RL_MODULE, DEFAULT_MODULE_ID
from ray.rllib.core.columns import Columns
from ray.rllib.core.distribution.torch.torch_distribution import TorchCategorical
from ray.rllib.core.learner.learner import Learner
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.env.multi_agent_env_runner import MultiAgentEnvRunner
from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner
from ray.rllib.utils.metrics import NUM_ENV_STEPS_SAMPLED_LIFETIME, WEIGHTS_SEQ_NO

from benchmarks.harness.training_loop import LoopTimes, time_loop
from rl_envs.wrappers.rllib import TeamGymEnv, TeamMultiAgentEnv
from rl_models.batch import Fragment
from rl_models.distributions.joint_policy import as_whole_joint
from rl_models.policy import TeamOutput, TeamPolicy
from rl_models.rllib.env_runner import FragmentEnvRunner
from rl_models.rllib.module import TeamModule

Sampler = Callable[[int], None]
"""Function that plays this number of env steps, summed over all environments."""


def time_rllib_loop(config: AlgorithmConfig, turns: int) -> LoopTimes:
    """Time our env runner and learner with RLlib's batching, metrics and weight transfer, beside the bare passes.

    `config` has `num_learners=0` and `num_env_runners=0`; the learner's update is called as its thread calls it.
    """
    runner = FragmentEnvRunner(config=config, worker_index=0)
    learner = config.build_learner(env=None, spaces=runner.get_spaces())

    def collect() -> Fragment:
        (fragment,) = runner.sample()
        runner.get_metrics()
        return fragment

    def update(fragment: Fragment) -> None:
        steps = {NUM_ENV_STEPS_SAMPLED_LIFETIME: runner.num_env_steps_sampled_lifetime}
        Learner.update(learner, episodes=[fragment], timesteps=steps)
        weights = learner.get_state(components=COMPONENT_RL_MODULE)[COMPONENT_RL_MODULE]
        runner.set_state({COMPONENT_RL_MODULE: weights, WEIGHTS_SEQ_NO: learner.weights_number})

    policy = learner.module[DEFAULT_MODULE_ID].policy
    times = time_loop(collect, update, policy, config.learner_config_dict["objective"], turns)
    learner.shutdown()
    return times


def stock_team_sampler(env: dict[str, Any], build_policy: Callable[[], TeamPolicy], worlds: int) -> Sampler:
    """RLlib's `SingleAgentEnvRunner` on `TeamGymEnv` with this `env_config`: our team module moves all agents."""
    config = _stock_config(TeamGymEnv, env, TeamModule, build_policy, worlds)
    runner = SingleAgentEnvRunner(config=config, worker_index=0)
    return lambda env_steps: _drop(runner.sample(num_timesteps=env_steps))


def stock_multi_agent_sampler(env: dict[str, Any], build_policy: Callable[[], TeamPolicy], worlds: int) -> Sampler:
    """RLlib's `MultiAgentEnvRunner` on `TeamMultiAgentEnv`: all agents share the policy of a team of one agent."""
    config = _stock_config(TeamMultiAgentEnv, env, SingleAgentModule, build_policy, worlds)
    config.multi_agent(policies={"agent"}, policy_mapping_fn=lambda *_, **__: "agent")
    runner = MultiAgentEnvRunner(config=config, worker_index=0)
    return lambda env_steps: _drop(runner.sample(num_timesteps=env_steps))


class SingleAgentModule(TeamModule):
    """A team of one agent as a stock policy: observations without the agent axis, one categorical action."""

    def get_exploration_action_dist_cls(self) -> type[TorchCategorical]:
        """RLlib's own distribution of one discrete action."""
        return TorchCategorical

    get_inference_action_dist_cls = get_exploration_action_dist_cls
    get_train_action_dist_cls = get_exploration_action_dist_cls

    def _stock_output(self, batch: dict[str, Any]) -> TeamOutput:
        axis = 2 if Columns.STATE_IN in batch else 1
        obs = {key: value.unsqueeze(axis) for key, value in batch[Columns.OBS].items()}
        return super()._stock_output({**batch, Columns.OBS: obs})

    def _stock(self, batch: dict[str, Any], output: TeamOutput) -> dict[str, Any]:
        logits = as_whole_joint(output.policy).marginals().log().squeeze(-2)
        columns = super()._stock(batch, output)
        return columns | {Columns.ACTION_DIST_INPUTS: logits if Columns.STATE_IN in batch else logits[:, 0]}


def _stock_config(
    env_class: type, env: dict[str, Any], module: type, build_policy: Callable[[], TeamPolicy], worlds: int
) -> PPOConfig:
    config = PPOConfig().environment(env_class, env_config=env, disable_env_checking=True)
    config.env_runners(num_env_runners=0, num_envs_per_env_runner=worlds, rollout_fragment_length=20)
    config.rl_module(rl_module_spec=RLModuleSpec(module_class=module, model_config={"build_policy": build_policy}))
    return config


def _drop(episodes: Any) -> None:
    """Only the time of the episodes is needed."""
