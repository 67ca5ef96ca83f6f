"""Env steps per CPU-second on simple_spread: Concord beside RLlib, BenchMARL and Stable-Baselines3 with SuperSuit.

    python -m benchmarks.trainers.spread_speed concord          # or bare, rllib, benchmarl, sb3
    python -m benchmarks.trainers.spread_speed sb3 --train

Without `--train` only the wrapped environments are stepped, with random actions: what the wrapper costs beside the bare
environment. With `--train` each library's PPO runs with the sizes of `trainers.py`, and collecting, learning and all
overhead count. CPU time is that of this process and its children; the thread count is one. One line of JSON is printed.
"""

import argparse
import functools
import json
import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from mpe2 import simple_spread_v3

from benchmarks.trainers.trainers import AGENTS, BATCH, COPIES, CYCLES, TRAINERS, supersuit_envs

ACTIONS, LEARNING_RATE = 5, 3e-4


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


def train(library: str, env_steps: int) -> None:
    """The library's PPO."""
    TRAINERS[library]()(LEARNING_RATE, 0, env_steps, lambda env_steps, act: None)


STEP: dict[str, Callable[[int], None]] = {
    "bare": step_bare, "concord": step_concord, "rllib": step_rllib, "benchmarl": step_benchmarl, "sb3": step_sb3
}  # fmt: skip


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
    if flags.train and flags.library not in TRAINERS:
        parser.error("the bare environment cannot be trained: leave --train out")
    run: Callable[[int], None] = functools.partial(train, flags.library) if flags.train else STEP[flags.library]
    run(BATCH)  # imports and first calls are not measured
    begins = cpu_seconds()
    run(flags.env_steps)
    spent = cpu_seconds() - begins
    row = {"library": flags.library, "what": "train" if flags.train else "step", "env_steps": flags.env_steps}
    print(json.dumps(row | {"env_steps_per_cpu_second": round(flags.env_steps / spent, 1)}))


if __name__ == "__main__":
    main()
