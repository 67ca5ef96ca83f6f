"""PPO of four libraries on simple_spread behind one function: train, and tell after each update how to act.

All have two layers of 64, 800 env steps and 8 epochs an update, minibatches of a quarter, shared weights and a discount
of 0.99. The rest is each library's default. RLlib comes with Concord. The others live in environments of their own:
`pip install stable-baselines3 supersuit mpe2` and `pip install "pettingzoo==1.25.0" benchmarl mpe2`. Each entry of
`TRAINERS` imports its library, and returns the function that trains.
"""

import contextlib
import importlib
import os
import secrets
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from mpe2 import simple_spread_v3

COPIES, CYCLES, AGENTS = 32, 25, 3
BATCH, EPOCHS, MINIBATCHES, HIDDEN = COPIES * CYCLES, 8, 4, (64, 64)
GAMMA = 0.99
Act = Callable[[np.ndarray], np.ndarray]
"""Observations [K, N, F] float32 -> sampled actions [K, N] int."""
Watch = Callable[[int, Act], None]
"""Called after each update with the env steps so far; it raises where training should end."""
Train = Callable[[float, int, int, Watch], None]
"""Learning rate, seed, largest number of env steps, watch."""


def concord() -> Train:
    """PPO of Concord without Ray, the row `ippo`."""
    import dataclasses

    import torch

    from rl_models.networks.network_config import PartsConfig
    from rl_models.training.collector import Collector
    from rl_models.training.loop import Learner
    from tune_experiments.teams.config import Config
    from tune_experiments.teams.trials import plan

    def train(learning_rate: float, seed: int, limit: int, watch: Watch) -> None:
        torch.set_num_threads(1)
        config = Config(network=PartsConfig(hidden_sizes=HIDDEN), budget_env_steps=limit)
        learner = dataclasses.replace(
            config.learner, learning_rate=learning_rate, num_epochs=EPOCHS, num_minibatches=MINIBATCHES, gamma=GAMMA
        )
        trial = plan(dataclasses.replace(config, learner=learner), "ippo", seed)
        policy = trial.build_policy()
        collector = Collector(trial.make_world(num_worlds=COPIES, first_world=0), policy, CYCLES)
        collector.reset(seed)
        draws = torch.Generator().manual_seed(seed)

        @torch.inference_mode()
        def act(observations: np.ndarray) -> np.ndarray:
            count = len(observations)
            index = torch.eye(AGENTS).expand(count, 1, AGENTS, AGENTS)
            seen = {"observation": torch.from_numpy(observations)[:, None], "agent": index}
            drawn = policy(seen, policy.initial_state(count), torch.ones(count, 1, dtype=torch.bool)).policy
            uniforms = torch.rand(count, 1, drawn.num_uniforms, generator=draws, dtype=torch.float64)
            actions: np.ndarray = drawn.sample(uniforms)[0][:, 0].numpy()
            return actions

        learning = Learner(policy, trial.objective, trial.optimiser)
        for update in range(1, limit // BATCH + 1):
            learning.update([collector.collect()])
            watch(update * BATCH, act)

    return train


def rllib() -> Train:
    """RLlib's stock PPO with its own wrapper of PettingZoo."""
    import torch

    os.environ.setdefault("RAY_AUTH_MODE", "token")
    os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))  # before Ray is imported, which reads it
    for module in ("algorithms.ppo", "env.wrappers.pettingzoo_env"):
        importlib.import_module(f"ray.rllib.{module}")

    def train(learning_rate: float, seed: int, limit: int, watch: Watch) -> None:
        with _rllib_ppo(learning_rate, seed) as algorithm:

            @torch.inference_mode()
            def act(observations: np.ndarray) -> np.ndarray:
                flat = torch.from_numpy(observations.reshape(-1, observations.shape[-1]))
                logits = algorithm.get_module("shared").forward_inference({"obs": flat})["action_dist_inputs"]
                return torch.distributions.Categorical(logits=logits).sample().numpy().reshape(-1, AGENTS)

            for update in range(1, limit // BATCH + 1):
                algorithm.train()
                watch(update * BATCH, act)

    return train


@contextlib.contextmanager
def _rllib_ppo(learning_rate: float, seed: int) -> Iterator[Any]:
    """RLlib's stock PPO with its PettingZoo wrapper, in its own cluster."""
    import ray
    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig
    from ray.rllib.env.wrappers.pettingzoo_env import ParallelPettingZooEnv
    from ray.tune.registry import register_env

    register_env("spread", lambda _: ParallelPettingZooEnv(simple_spread_v3.parallel_env(max_cycles=CYCLES)))
    where: dict[str, Any] = {"_node_ip_address": "127.0.0.1", "_temp_dir": tempfile.mkdtemp()}
    ray.init(include_dashboard=False, log_to_driver=False, num_cpus=1, **where)
    config = (
        PPOConfig()
        .environment("spread")
        .env_runners(num_env_runners=0, num_envs_per_env_runner=COPIES)
        .multi_agent(policies={"shared"}, policy_mapping_fn=lambda *_, **__: "shared")
        .rl_module(model_config=DefaultModelConfig(fcnet_hiddens=list(HIDDEN)))
        .training(train_batch_size_per_learner=BATCH, minibatch_size=BATCH * AGENTS // MINIBATCHES)
        .training(num_epochs=EPOCHS, lr=learning_rate, gamma=GAMMA)
        .debugging(seed=seed, log_level="ERROR")
    )
    algorithm = config.build_algo()
    try:
        yield algorithm
    finally:
        algorithm.stop()
        ray.shutdown()


def benchmarl() -> Train:
    """BenchMARL's IPPO."""
    import torch
    from benchmarl.experiment import Callback
    from tensordict import TensorDict
    from torchrl.envs.utils import ExplorationType, set_exploration_type

    class Watching(Callback):
        """Tell the watch after each update."""

        def __init__(self, watch: Watch) -> None:
            super().__init__()
            self.watch = watch

        def __reduce__(self) -> tuple[Any, ...]:
            return Callback, ()  # BenchMARL pickles its callbacks beside its checkpoints, which nobody reads here

        @torch.inference_mode()
        def act(self, observations: np.ndarray) -> np.ndarray:
            (group,) = self.experiment.group_map
            seen = TensorDict({"observation": torch.from_numpy(observations)}, observations.shape[:2])
            with set_exploration_type(ExplorationType.RANDOM):
                chosen = self.experiment.policy(TensorDict({group: seen}, observations.shape[:1]))
            return np.asarray(chosen[group, "action"])

        def on_train_end(self, training_td: Any, group: str) -> None:
            """Called after each update."""
            self.watch(self.experiment.total_frames, self.act)

    def train(learning_rate: float, seed: int, limit: int, watch: Watch) -> None:
        torch.set_num_threads(1)
        _benchmarl_ippo(learning_rate, seed, limit, Watching(watch)).run()

    return train


def _benchmarl_ippo(learning_rate: float, seed: int, limit: int, callback: Any) -> Any:
    """BenchMARL's IPPO, with discrete actions and short episodes as in the others."""
    from benchmarl.algorithms import IppoConfig
    from benchmarl.environments import PettingZooTask
    from benchmarl.experiment import Experiment, ExperimentConfig
    from benchmarl.models.mlp import MlpConfig

    config = ExperimentConfig.get_from_yaml()
    config.loggers, config.evaluation, config.render = [], False, False
    config.save_folder, config.max_n_frames = tempfile.mkdtemp(), limit
    config.on_policy_collected_frames_per_batch, config.on_policy_n_envs_per_worker = BATCH, COPIES
    config.on_policy_n_minibatch_iters, config.on_policy_minibatch_size = EPOCHS, BATCH // MINIBATCHES
    config.prefer_continuous_actions, config.lr, config.gamma = False, learning_rate, GAMMA
    model = MlpConfig.get_from_yaml()
    model.num_cells = list(HIDDEN)
    task = PettingZooTask.SIMPLE_SPREAD.get_from_yaml()
    task.config["max_cycles"] = CYCLES
    return Experiment(
        task=task,
        algorithm_config=IppoConfig.get_from_yaml(),
        model_config=model,
        critic_model_config=model,
        seed=seed,
        config=config,
        callbacks=[callback],
    )


def sb3() -> Train:
    """Stable-Baselines3's PPO over SuperSuit."""
    import supersuit
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.utils import set_random_seed

    assert supersuit  # imported here, so that its import does not count

    class Watching(BaseCallback):
        """Tell the watch after each update, which is before the next rollout."""

        def __init__(self, watch: Watch) -> None:
            super().__init__()
            self.watch = watch

        def act(self, observations: np.ndarray) -> np.ndarray:
            flat = observations.reshape(-1, observations.shape[-1])
            return np.asarray(self.model.predict(flat, deterministic=False)[0]).reshape(-1, AGENTS)

        def _on_rollout_start(self) -> None:
            self.watch(self.num_timesteps // AGENTS, self.act)

        def _on_training_end(self) -> None:
            self._on_rollout_start()

        def _on_step(self) -> bool:
            return True

    def train(learning_rate: float, seed: int, limit: int, watch: Watch) -> None:
        torch.set_num_threads(1)
        sizes = {"n_steps": CYCLES, "batch_size": BATCH * AGENTS // MINIBATCHES, "n_epochs": EPOCHS, "gamma": GAMMA}
        net: dict[str, Any] = {"net_arch": list(HIDDEN)}
        set_random_seed(seed)  # of weights and actions; SuperSuit's environments cannot be seeded through PPO
        model = PPO("MlpPolicy", supersuit_envs(), learning_rate, policy_kwargs=net, device="cpu", **sizes)
        model.learn(limit * AGENTS, callback=Watching(watch))

    return train


def supersuit_envs() -> Any:
    """SuperSuit's vector environment for Stable-Baselines3, an environment an agent."""
    import supersuit

    envs = supersuit.pettingzoo_env_to_vec_env_v1(simple_spread_v3.parallel_env())
    return supersuit.concat_vec_envs_v1(envs, COPIES, num_cpus=0, base_class="stable_baselines3")


TRAINERS: dict[str, Callable[[], Train]] = {"concord": concord, "rllib": rllib, "benchmarl": benchmarl, "sb3": sb3}
