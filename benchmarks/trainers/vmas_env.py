"""vmas scenarios as PettingZoo parallel environments: `--env benchmarks.trainers.vmas_env:parallel_env`.

vmas, which BenchMARL can bring, steps many environments as one batch of tensors. Here each environment is a batch of
one, so its steps cost more than in BenchMARL, which steps them together.
"""

from typing import Any

import numpy as np
import torch
import vmas
from gymnasium import spaces
from pettingzoo import ParallelEnv


class VmasParallelEnv(ParallelEnv):
    """One environment of a vmas scenario."""

    metadata: dict[str, Any] = {"name": "vmas", "render_modes": []}  # noqa: RUF012 (PettingZoo's form)

    def __init__(
        self,
        scenario: str = "balance",
        max_steps: int = 100,
        continuous_actions: bool = True,
        render_mode: str | None = None,
        **arguments: Any,
    ) -> None:
        """Build a vmas scenario with Box or Discrete actions; arguments are the scenario's, and nothing is rendered."""
        self._env = vmas.make_env(
            scenario,
            num_envs=1,
            max_steps=max_steps,
            continuous_actions=continuous_actions,
            clamp_actions=True,
            terminated_truncated=True,
            **arguments,
        )
        self.render_mode, self.max_steps = None, max_steps
        self.possible_agents = [agent.name for agent in self._env.agents]
        self.agents: list[str] = []
        names = self.possible_agents
        self.observation_spaces = dict(zip(names, map(_space, self._env.observation_space.spaces), strict=True))
        self.action_spaces = dict(zip(names, map(_space, self._env.action_space.spaces), strict=True))

    def observation_space(self, agent: str) -> spaces.Space:
        """Space of an agent's observation, the same object at every call."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space:
        """Space of an agent's actions, the same object at every call."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin an episode."""
        self.agents = list(self.possible_agents)
        return self._of_agents(self._env.reset(seed=seed)), {name: {} for name in self.agents}

    def step(self, actions: dict[str, Any]) -> tuple[dict[str, Any], ...]:
        """One env step."""
        names = self.agents
        chosen = [torch.as_tensor(np.reshape(actions[name], (1, -1)), dtype=torch.float32) for name in names]
        observations, rewards, terminated, truncated, _ = self._env.step(chosen)
        flags = [{name: bool(flag[0]) for name in names} for flag in (terminated, truncated)]
        earned = {name: float(reward[0]) for name, reward in zip(names, rewards, strict=True)}
        seen = self._of_agents(observations)
        infos: dict[str, dict[str, Any]] = {name: {} for name in names}
        if any(flags[0].values()) or any(flags[1].values()):
            self.agents = []
        return seen, earned, *flags, infos

    def _of_agents(self, observations: list[torch.Tensor]) -> dict[str, Any]:
        return {name: seen[0].numpy() for name, seen in zip(self.possible_agents, observations, strict=True)}


def _space(space: Any) -> spaces.Space:
    """Gymnasium's space for one of the older package gym."""
    if hasattr(space, "n"):
        return spaces.Discrete(int(space.n))
    return spaces.Box(space.low, space.high, space.shape, np.float32)


parallel_env = VmasParallelEnv
