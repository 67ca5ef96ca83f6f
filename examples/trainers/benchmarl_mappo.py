"""BenchMARL's MAPPO on one of Concord's environments, as a PettingZoo task.

BenchMARL 1.5 wants an older PettingZoo than Concord, so it needs its own virtual environment:

    python -m venv benchmarl && benchmarl/bin/pip install "pettingzoo==1.25.0" benchmarl numpy pillow
    benchmarl/bin/python -m examples.trainers.benchmarl_mappo --world overcooked-v0 --env-steps 20000

BenchMARL's networks take one vector an agent, so `FlatParallelEnv` flattens our dicts of arrays. The script prints the
mean return (the sum over the agents) of the first and the last iteration that finished an episode.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from gymnasium import spaces
from pettingzoo.utils import BaseParallelWrapper

from rl_envs.wrappers.pettingzoo import TeamParallelEnv

try:
    from benchmarl.algorithms import MappoConfig
    from benchmarl.environments.pettingzoo.common import PettingZooClass
    from benchmarl.experiment import Callback, Experiment, ExperimentConfig
    from benchmarl.models.mlp import MlpConfig
    from torchrl.envs import EnvBase, PettingZooWrapper
except ImportError as missing:
    raise SystemExit(f"error: {missing}; see the top of examples/trainers/benchmarl_mappo.py") from missing


class FlatParallelEnv(BaseParallelWrapper):
    """A parallel environment whose observations are vectors [F] float32, and whose infos are empty."""

    def observation_space(self, agent: str) -> spaces.Box:
        """Space of this agent's vector."""
        size = spaces.flatdim(self.env.observation_space(agent))
        return spaces.Box(-np.inf, np.inf, (size,), np.float32)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        """Begin an episode."""
        observations, infos = self.env.reset(seed=seed, options=options)
        return self._flat(observations), {name: {} for name in infos}

    def step(self, actions: dict[str, Any]) -> tuple[Any, ...]:
        """One env step."""
        observations, *between, infos = self.env.step(actions)
        return (self._flat(observations), *between, {name: {} for name in infos})

    def _flat(self, observations: Mapping[str, Any]) -> dict[str, np.ndarray]:
        return {
            name: np.asarray(spaces.flatten(self.env.observation_space(name), observation), np.float32)
            for name, observation in observations.items()
        }


class WorldTask(PettingZooClass):
    """BenchMARL's PettingZoo task with one of Concord's environments; its config names the world."""

    def get_env_fun(
        self, num_envs: int, continuous_actions: bool, seed: int | None, device: Any
    ) -> Callable[[], EnvBase]:
        """The function that builds one environment."""
        world = self.config["world"]
        return lambda: PettingZooWrapper(
            FlatParallelEnv(TeamParallelEnv(world)), categorical_actions=True, device=device, seed=seed
        )

    def supports_continuous_actions(self) -> bool:
        """Our actions are discrete."""
        return False

    def supports_discrete_actions(self) -> bool:
        """Our actions are discrete."""
        return True

    def has_state(self) -> bool:
        """MAPPO's critic takes all agents' observations."""
        return False

    def has_render(self, env: EnvBase) -> bool:
        """No videos here."""
        return False

    def max_steps(self, env: EnvBase) -> int:
        """Time limit in env steps."""
        return TeamParallelEnv(self.config["world"]).world.max_episode_steps


class Returns(Callback):
    """Keep the mean return, the sum over the agents, of every iteration in which an episode ended."""

    def __init__(self) -> None:
        super().__init__()
        self.means: list[float] = []

    def on_batch_collected(self, batch: Any) -> None:
        """Called with every batch of env steps."""
        following = batch["next"]
        ended = following["done"].squeeze(-1)
        if ended.any():
            groups = self.experiment.group_map
            self.means.append(float(sum(following[group]["episode_reward"][ended].sum(1).mean() for group in groups)))


def train(world: str, env_steps: int, seed: int) -> dict[str, Any]:
    """Train and return the mean return of the first and the last iteration in which an episode ended."""
    returns = Returns()
    config = ExperimentConfig.get_from_yaml()
    config.loggers, config.evaluation, config.render = [], False, False
    config.save_folder, config.max_n_frames = tempfile.mkdtemp(), env_steps
    config.on_policy_collected_frames_per_batch, config.on_policy_n_envs_per_worker = 2_000, 5
    config.on_policy_n_minibatch_iters, config.on_policy_minibatch_size = 4, 500
    model = MlpConfig.get_from_yaml()
    experiment = Experiment(
        task=WorldTask(name=world.upper(), config={"world": world}),
        algorithm_config=MappoConfig.get_from_yaml(),
        model_config=model,
        critic_model_config=model,
        seed=seed,
        config=config,
        callbacks=[returns],
    )
    experiment.run()
    played = int(experiment.total_frames)
    return {"world": world, "env_steps": played, "first_return": returns.means[0], "last_return": returns.means[-1]}


def main() -> None:
    """Read the flags, train, print one line of JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--world", default="overcooked-v0", help="Id of the world that is trained.")
    parser.add_argument("--env-steps", type=int, default=20_000, help="Number of env steps of training.")
    parser.add_argument("--seed", type=int, default=0, help="Seed of the weights and of the games.")
    flags = parser.parse_args()
    print(json.dumps(train(flags.world, flags.env_steps, flags.seed)))


if __name__ == "__main__":
    main()
