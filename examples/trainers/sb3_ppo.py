"""Stable-Baselines3's PPO on one of Concord's environments: one player controls the whole team.

    pip install stable-baselines3
    python -m examples.trainers.sb3_ppo --world overcooked-v0 --env-steps 20000

The action is the joint action of the team (`MultiDiscrete`), the observation a dict of the agents' arrays. With
`--text-tokens` texts are observed as tokens. The script prints the mean return of the first and the last tenth of the
episodes that PPO played.
"""

from __future__ import annotations

import argparse
import functools
import json
from typing import Any

import numpy as np

from rl_envs.wrappers.gymnasium import TeamEnv


def train(world: str, env_steps: int, copies: int, seed: int, text_tokens: bool) -> dict[str, Any]:
    """Train; return the number of episodes and the mean returns at the start and at the end."""
    try:
        from stable_baselines3 import PPO
    except ImportError as error:
        raise SystemExit(f"error: {error}; pip install stable-baselines3") from error
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.vec_env import DummyVecEnv

    class Returns(BaseCallback):
        """Keep the return of every episode."""

        def _on_training_start(self) -> None:
            self.returns: list[float] = []

        def _on_step(self) -> bool:
            self.returns += [info["episode"]["r"] for info in self.locals["infos"] if "episode" in info]
            return True

    envs = DummyVecEnv([functools.partial(TeamEnv, world, text_tokens=text_tokens) for _ in range(copies)])
    played = Returns()
    model = PPO("MultiInputPolicy", envs, n_steps=128, batch_size=256, seed=seed, device="cpu")
    model.learn(env_steps, callback=played)
    returns = np.array(played.returns)
    tenth = max(1, len(returns) // 10)
    return {
        "world": world,
        "env_steps": model.num_timesteps,
        "episodes": len(returns),
        "first_return": float(returns[:tenth].mean()),
        "last_return": float(returns[-tenth:].mean()),
    }


def main() -> None:
    """Read the flags, train, print one line of JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--world", default="overcooked-v0", help="Id of the world that is trained.")
    parser.add_argument("--env-steps", type=int, default=20_000, help="Number of env steps of training.")
    parser.add_argument("--copies", type=int, default=8, help="Number of environments that are stepped at once.")
    parser.add_argument("--seed", type=int, default=0, help="Seed of the weights and of the games.")
    parser.add_argument("--text-tokens", action="store_true", help="Observe constant texts as tokens instead of ids.")
    flags = parser.parse_args()
    print(json.dumps(train(flags.world, flags.env_steps, flags.copies, flags.seed, flags.text_tokens)))


if __name__ == "__main__":
    main()
