"""A rescue of three agents with different spaces, of which the scout leaves first, for any method.

    concord train --env examples.rescue:parallel_env --methods sync_4 mappo ippo qmix --seeds 0 1 2

Each agent sees which of its own actions is wanted now and earns 1 for it. The scout has two actions and is out of the
game after five env steps; the medic has three and the truck four. An agent earns 1 for each step in which it stays and
does what is wanted, so the best return of the team is 29.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv

ACTIONS = {"medic": 3, "scout": 2, "truck": 4}
SCOUT_STEPS, STEPS = 5, 12


class Rescue(ParallelEnv):
    """Three agents that each earn 1 for the wanted action."""

    metadata = {"name": "rescue"}

    def __init__(self) -> None:
        """Prepare the game."""
        self.possible_agents = list(ACTIONS)

    def observation_space(self, agent: str) -> spaces.Box:
        """One-hot, the wanted action."""
        return spaces.Box(0, 1, (ACTIONS[agent],), np.float32)

    def action_space(self, agent: str) -> spaces.Discrete:
        """As many actions as the agent has."""
        return spaces.Discrete(ACTIONS[agent])

    def reset(self, seed: int | None = None, options: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin an episode."""
        self.random = np.random.default_rng(seed)
        self.agents, self.steps = list(self.possible_agents), 0
        return self._wish(self.agents), {name: {} for name in self.agents}

    def step(self, actions: dict[str, int]) -> tuple[dict[str, Any], ...]:
        """Pay each agent, and end the scout's game early."""
        self.steps += 1
        here = list(self.agents)
        rewards = {name: float(actions[name] == self.wanted[name]) for name in here}
        is_over = {name: self.steps == (SCOUT_STEPS if name == "scout" else STEPS) for name in here}
        self.agents = [name for name in here if not is_over[name]]
        return self._wish(here), rewards, is_over, dict.fromkeys(here, False), {name: {} for name in here}

    def _wish(self, names: list[str]) -> dict[str, Any]:
        self.wanted = {name: int(self.random.integers(ACTIONS[name])) for name in names}
        return {name: np.eye(ACTIONS[name], dtype=np.float32)[wanted] for name, wanted in self.wanted.items()}


parallel_env = Rescue
