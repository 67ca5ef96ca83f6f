"""PPO of four libraries on simple_spread behind one function: train, and tell after each update how to act.

Sizes are those of `spread_speed.py`: two layers of 64, 800 env steps and 8 epochs an update, minibatches of a quarter,
shared weights, no discount but 0.99. The rest is each library's default. RLlib comes with Concord. The others live in
environments of their own: `pip install stable-baselines3 supersuit mpe2` and
`pip install "pettingzoo==1.25.0" benchmarl mpe2`. Each entry of `TRAINERS` imports its library, and returns the
function that trains.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.trainers.spread_speed import (
    AGENTS,
    BATCH,
    COPIES,
    CYCLES,
    EPOCHS,
    HIDDEN,
    MINIBATCHES,
    benchmarl_ippo,
    import_rllib,
    rllib_ppo,
    supersuit_envs,
)

Act = Callable[[np.ndarray], np.ndarray]
"""Observations [K, N, F] float32 -> sampled actions [K, N] int."""
Watch = Callable[[int, Act], None]
"""Called after each update with the env steps so far; it raises where training should end."""
Train = Callable[[float, int, int, Watch], None]
"""Learning rate, seed, largest number of env steps, watch."""
GAMMA = 0.99


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

    import_rllib()

    def train(learning_rate: float, seed: int, limit: int, watch: Watch) -> None:
        with rllib_ppo(seed, lr=learning_rate, gamma=GAMMA) as algorithm:

            @torch.inference_mode()
            def act(observations: np.ndarray) -> np.ndarray:
                flat = torch.from_numpy(observations.reshape(-1, observations.shape[-1]))
                logits = algorithm.get_module("shared").forward_inference({"obs": flat})["action_dist_inputs"]
                return torch.distributions.Categorical(logits=logits).sample().numpy().reshape(-1, AGENTS)

            for update in range(1, limit // BATCH + 1):
                algorithm.train()
                watch(update * BATCH, act)

    return train


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
        benchmarl_ippo(limit, seed, [Watching(watch)], lr=learning_rate, gamma=GAMMA).run()

    return train


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


TRAINERS: dict[str, Callable[[], Train]] = {"concord": concord, "rllib": rllib, "benchmarl": benchmarl, "sb3": sb3}
