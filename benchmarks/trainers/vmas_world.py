"""vmas scenarios as a batched `World`: `--env benchmarks.trainers.vmas_world:VmasWorld`.

vmas steps all environments as one batch of tensors, here as in BenchMARL. It keeps its state to itself, so a restored
world begins a new episode, as an environment that cannot be copied does in `rl_envs.wrappers.from_pettingzoo`.
"""

from typing import Any

import numpy as np
import torch
import vmas

from rl_envs import World
from rl_envs.core.spec import CONTINUOUS, Array, Arrays, ArraySpec, NumbersSpec


class VmasWorld(World):
    """B environments of a vmas scenario whose agents have equal spaces."""

    def __init__(
        self,
        num_worlds: int = 1,
        first_world: int = 0,
        scenario: str = "balance",
        max_steps: int = 100,
        continuous_actions: bool = True,
        **arguments: Any,
    ) -> None:
        """Build B copies of a vmas scenario with Box or Discrete actions; arguments are the scenario's."""
        self._env = vmas.make_env(
            scenario,
            num_envs=num_worlds,
            max_steps=max_steps,
            continuous_actions=continuous_actions,
            clamp_actions=True,
            terminated_truncated=True,
            **arguments,
        )
        self.agents = tuple(agent.name for agent in self._env.agents)
        self.max_episode_steps = max_steps
        (size,) = {space.shape for space in self._env.observation_space.spaces}
        self.observation_spec = {"observation": ArraySpec(size, "float32", -np.inf, np.inf, "what the agent observes")}
        actions = self._env.action_space.spaces
        if continuous_actions:
            low, high = (np.stack([getattr(one, end) for one in actions]) for end in ("low", "high"))
            self.action_spec = {CONTINUOUS: NumbersSpec(low, high)}
        else:
            (self.action_spec,) = {int(one.n) for one in actions}
        super().__init__(num_worlds, first_world)

    def reset(self, seed: int) -> Arrays:
        """Begin the first episodes: vmas draws the starts of a batch from one generator."""
        self._env.seed(seed + self.first_world)
        return super().reset(seed)

    def _begin(self, rows: Array) -> None:
        if len(rows) == self.num_worlds:
            self._env.reset()
        else:
            for row in rows:
                self._env.reset_at(int(row))
        (self._seen,) = self._env.get_from_scenario(
            get_observations=True, get_rewards=False, get_infos=False, get_dones=False
        )

    def _advance(self, actions: Any, recorded: Arrays) -> tuple[Array, Array, Array]:
        chosen = torch.as_tensor(actions[CONTINUOUS] if isinstance(actions, dict) else actions[..., None])
        self._seen, rewards, terminated, truncated, _ = self._env.step(list(chosen.unbind(1)))
        return torch.stack(rewards, 1).double().numpy(), terminated.numpy(), truncated.numpy()

    def _observe(self, rows: Array) -> Arrays:
        return {"observation": torch.stack(self._seen, 1)[rows].numpy()}

    def _blank_state(self, num_worlds: int) -> Arrays:
        return super()._blank_state(num_worlds)

    def _derive(self, rows: Array, given: frozenset[str]) -> None:
        self.restarted = np.ones(self.num_worlds, bool)
        self._start(rows)
