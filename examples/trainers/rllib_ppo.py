"""RLlib's stock PPO on one of Concord's environments: one shared policy, and only Concord's wrapper.

    python -m examples.trainers.rllib_ppo --world overcooked-v0 --env-steps 20000

`--team` lets one player control the whole team instead (`TeamGymEnv`). RLlib's own encoders take flat vectors, so its
connector `FlattenObservations` flattens our dicts of arrays. The script prints the mean return before and after.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
from typing import Any

os.environ.setdefault("RAY_AUTH_MODE", "token")
os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))

import ray
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.connectors.env_to_module import FlattenObservations

from rl_envs.wrappers.rllib import TeamGymEnv, TeamMultiAgentEnv


def configured(world: str, team: bool, seed: int) -> PPOConfig:
    """RLlib's PPO for a world, with stock options only."""
    env = TeamGymEnv if team else TeamMultiAgentEnv

    def connector(*_: Any, **__: Any) -> FlattenObservations:
        return FlattenObservations(multi_agent=not team)

    config = (
        PPOConfig()
        .environment(env, env_config={"world": world})
        .env_runners(num_env_runners=0, num_envs_per_env_runner=8, env_to_module_connector=connector)
        .training(train_batch_size_per_learner=2_000, minibatch_size=500, num_epochs=4, lr=3e-4)
        .debugging(seed=seed, log_level="ERROR")
    )
    if not team:
        config = config.multi_agent(policies={"shared"}, policy_mapping_fn=lambda *_, **__: "shared")
    return config


def train(world: str, env_steps: int, team: bool, seed: int) -> dict[str, Any]:
    """Train and return the mean return of the first and the last iteration."""
    algorithm = configured(world, team, seed).build_algo()
    returns: list[float] = []
    played = 0
    try:
        while played < env_steps:
            results = algorithm.train()
            played = int(results["env_runners"]["num_env_steps_sampled_lifetime"])
            returns.append(float(results["env_runners"].get("episode_return_mean", float("nan"))))
    finally:
        algorithm.stop()
    known = [value for value in returns if value == value]
    return {"world": world, "env_steps": played, "first_return": known[0], "last_return": known[-1]}


def main() -> None:
    """Read the flags, train, print one line of JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--world", default="overcooked-v0", help="Id of the world that is trained.")
    parser.add_argument("--env-steps", type=int, default=20_000, help="Number of env steps of training.")
    parser.add_argument("--team", action="store_true", help="Let one player control the whole team.")
    parser.add_argument("--seed", type=int, default=0, help="Seed of the weights and of the games.")
    flags = parser.parse_args()
    ray.init(include_dashboard=False, log_to_driver=False, _node_ip_address="127.0.0.1", num_cpus=2)
    try:
        print(json.dumps(train(flags.world, flags.env_steps, flags.team, flags.seed)))
    finally:
        ray.shutdown()


if __name__ == "__main__":
    main()
