"""Env steps per CPU-second on simple_spread: Concord beside RLlib, BenchMARL and Stable-Baselines3 with SuperSuit.

    python -m benchmarks.trainers.spread_speed concord          # or bare, rllib, benchmarl, sb3
    python -m benchmarks.trainers.spread_speed sb3 --train

Without `--train` only the wrapped environments are stepped, with random actions: what the wrapper costs beside the bare
environment. With `--train` each library's PPO runs with one set of sizes (two layers of 64, 800 env steps and 8 epochs
an update, minibatches of a quarter), and collecting, learning and all overhead count. CPU time is that of this process
and its children; the thread count is one. BenchMARL and Stable-Baselines3 need environments of their own, as
`examples/trainers` says; one line of JSON is printed.
"""

import argparse
import contextlib
import importlib
import json
import os
import resource
import secrets
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from mpe2 import simple_spread_v3

COPIES, CYCLES, AGENTS, ACTIONS = 32, 25, 3, 5
BATCH, EPOCHS, MINIBATCHES, HIDDEN = COPIES * CYCLES, 8, 4, (64, 64)


def cpu_seconds() -> float:
    """CPU time of this process and of its ended children."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def step_bare(env_steps: int) -> None:
    """PettingZoo's own environment, reset at its end."""
    env, random = simple_spread_v3.parallel_env(), np.random.default_rng(0)
    env.reset(seed=0)
    for _ in range(env_steps):
        env.step({name: int(random.integers(ACTIONS)) for name in env.agents})
        if not env.agents:
            env.reset()


def step_concord(env_steps: int) -> None:
    """`from_pettingzoo`, 32 environments as one world."""
    from rl_envs.wrappers import from_pettingzoo

    world, random = from_pettingzoo(simple_spread_v3.parallel_env, COPIES), np.random.default_rng(0)
    world.reset(0)
    for _ in range(env_steps // COPIES):
        world.step(random.integers(ACTIONS, size=(COPIES, AGENTS)))


def step_rllib(env_steps: int) -> None:
    """RLlib's wrapper of PettingZoo."""
    from ray.rllib.env.wrappers.pettingzoo_env import ParallelPettingZooEnv

    env, random = ParallelPettingZooEnv(simple_spread_v3.parallel_env()), np.random.default_rng(0)
    names = list(env.reset(seed=0)[0])
    for _ in range(env_steps):
        *_, terminated, truncated, _ = env.step({name: int(random.integers(ACTIONS)) for name in names})
        if terminated["__all__"] or truncated["__all__"]:
            env.reset()


def step_benchmarl(env_steps: int) -> None:
    """TorchRL's wrapper of PettingZoo, which BenchMARL uses."""
    for _ in range(env_steps // CYCLES):
        _torchrl_env().rollout(CYCLES)


def step_sb3(env_steps: int) -> None:
    """SuperSuit's vector environment."""
    envs, random = supersuit_envs(), np.random.default_rng(0)
    envs.reset()
    for _ in range(env_steps // COPIES):
        envs.step(random.integers(ACTIONS, size=COPIES * AGENTS))


def train_concord(env_steps: int) -> None:
    """PPO of Concord without Ray."""
    from rl_models.networks.network_config import PartsConfig
    from rl_models.training.collector import Collector
    from rl_models.training.loop import Learner
    from tune_experiments.teams.config import Config
    from tune_experiments.teams.trials import plan

    trial = plan(Config(network=PartsConfig(hidden_sizes=HIDDEN), budget_env_steps=env_steps), "ippo", 0)
    policy = trial.build_policy()
    collector = Collector(trial.make_world(num_worlds=COPIES, first_world=0), policy, CYCLES)
    collector.reset(0)
    learner = Learner(policy, trial.objective, trial.optimiser)
    for _ in range(env_steps // BATCH):
        learner.update([collector.collect()])


def import_rllib() -> None:
    """Import Ray, which then reads the token of its cluster, and RLlib."""
    os.environ.setdefault("RAY_AUTH_MODE", "token")
    os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    for module in ("algorithms.ppo", "env.wrappers.pettingzoo_env"):
        importlib.import_module(f"ray.rllib.{module}")


@contextlib.contextmanager
def rllib_ppo(seed: int = 0, **training: Any) -> Iterator[Any]:
    """RLlib's stock PPO with its PettingZoo wrapper, in its own cluster; `training` is of `PPOConfig.training`."""
    import_rllib()
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
        .training(num_epochs=EPOCHS, **training)
        .debugging(seed=seed, log_level="ERROR")
    )
    algorithm = config.build_algo()
    try:
        yield algorithm
    finally:
        algorithm.stop()
        ray.shutdown()


def train_rllib(env_steps: int) -> None:
    """RLlib's stock PPO."""
    with rllib_ppo() as algorithm:
        for _ in range(env_steps // BATCH):
            algorithm.train()


def benchmarl_ippo(env_steps: int, seed: int = 0, callbacks: Sequence[Any] = (), **settings: Any) -> Any:
    """BenchMARL's IPPO, with discrete actions and short episodes as in the others; `settings` are of its config."""
    from benchmarl.algorithms import IppoConfig
    from benchmarl.environments import PettingZooTask
    from benchmarl.experiment import Experiment, ExperimentConfig
    from benchmarl.models.mlp import MlpConfig

    config = ExperimentConfig.get_from_yaml()
    config.loggers, config.evaluation, config.render = [], False, False
    config.save_folder, config.max_n_frames = tempfile.mkdtemp(), env_steps
    config.on_policy_collected_frames_per_batch, config.on_policy_n_envs_per_worker = BATCH, COPIES
    config.on_policy_n_minibatch_iters, config.on_policy_minibatch_size = EPOCHS, BATCH // MINIBATCHES
    config.prefer_continuous_actions = False
    for name, value in settings.items():
        setattr(config, name, value)
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
        callbacks=list(callbacks),
    )


def train_benchmarl(env_steps: int) -> None:
    """BenchMARL's IPPO."""
    benchmarl_ippo(env_steps).run()


def train_sb3(env_steps: int) -> None:
    """Stable-Baselines3's PPO over SuperSuit, one policy for all agents."""
    from stable_baselines3 import PPO

    sizes = {"n_steps": CYCLES, "batch_size": BATCH * AGENTS // MINIBATCHES, "n_epochs": EPOCHS}
    model = PPO("MlpPolicy", supersuit_envs(), policy_kwargs={"net_arch": list(HIDDEN)}, device="cpu", **sizes)
    model.learn(env_steps * AGENTS)


STEP: dict[str, Callable[[int], None]] = {
    "bare": step_bare, "concord": step_concord, "rllib": step_rllib, "benchmarl": step_benchmarl, "sb3": step_sb3
}  # fmt: skip
TRAIN: dict[str, Callable[[int], None]] = {
    "concord": train_concord, "rllib": train_rllib, "benchmarl": train_benchmarl, "sb3": train_sb3
}  # fmt: skip


def supersuit_envs() -> Any:
    """SuperSuit's vector environment for Stable-Baselines3, an environment an agent."""
    import supersuit

    envs = supersuit.pettingzoo_env_to_vec_env_v1(simple_spread_v3.parallel_env())
    return supersuit.concat_vec_envs_v1(envs, COPIES, num_cpus=0, base_class="stable_baselines3")


def _torchrl_env() -> Any:
    from torchrl.envs import PettingZooWrapper

    if not _MADE:
        _MADE.append(PettingZooWrapper(simple_spread_v3.parallel_env(), categorical_actions=True))
    return _MADE[0]


_MADE: list[Any] = []


def main() -> None:
    """Measure one library and print one line of JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("library", choices=list(STEP), help="Library whose wrapper or PPO is measured.")
    parser.add_argument("--train", action="store_true", help="Train with the library's PPO instead of stepping only.")
    parser.add_argument("--env-steps", type=int, default=4_000, help="Number of joint env steps of the measurement.")
    flags = parser.parse_args()
    if flags.train and flags.library not in TRAIN:
        parser.error("the bare environment cannot be trained: leave --train out")
    run = (TRAIN if flags.train else STEP)[flags.library]
    run(BATCH)  # imports and first calls are not measured
    begins = cpu_seconds()
    run(flags.env_steps)
    spent = cpu_seconds() - begins
    row = {"library": flags.library, "what": "train" if flags.train else "step", "env_steps": flags.env_steps}
    print(json.dumps(row | {"env_steps_per_cpu_second": round(flags.env_steps / spent, 1)}))


if __name__ == "__main__":
    main()
