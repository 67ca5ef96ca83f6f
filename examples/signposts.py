"""A custom text game as a PettingZoo environment: two agents stand before doors, and a manual says which is safe.

Each agent sees the colour of its door as a number. The manual has one sentence a colour, in an order that changes: "the
red door is safe." or "the red door is deadly." Entering a safe door pays 1, a deadly one -1, waiting 0. Agents
that ignore it earn at most 0 on average; agents that read it earn half a point each. An episode is one step.

    concord train --env examples.signposts:parallel_env --methods ippo --network emma --max-sentences 4
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv

COLOURS = ("red", "green", "blue", "white")
WAIT, ENTER = 0, 1


class Signposts(ParallelEnv):
    """Doors and a manual; see above."""

    metadata: dict[str, Any] = {"name": "signposts"}

    def __init__(self, colours: int = 4, max_cycles: int = 1) -> None:
        """Prepare the game with this many colours."""
        self.possible_agents = ["first", "second"]
        self.agents: list[str] = []
        self.colours, self.max_cycles = COLOURS[:colours], max_cycles

    def observation_space(self, agent: str) -> spaces.Dict:
        """The door's colour, and the manual."""
        return spaces.Dict({"door": spaces.Discrete(len(self.colours)), "manual": spaces.Text(200)})

    def action_space(self, agent: str) -> spaces.Discrete:
        """Wait or enter."""
        return spaces.Discrete(2)

    def reset(self, seed: int | None = None, options: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin an episode."""
        random = np.random.default_rng(seed)
        self.agents = list(self.possible_agents)
        self.safe = random.permuted(np.arange(len(self.colours)) % 2 == 0)
        self.order = random.permutation(len(self.colours))
        self.doors = dict(zip(self.agents, random.integers(0, len(self.colours), 2).tolist(), strict=True))
        return self._seen(), {name: {} for name in self.agents}

    def step(self, actions: dict[str, int]) -> tuple[dict[str, Any], ...]:
        """Enter or wait."""
        before, self.agents = self.agents, []
        rewards = {name: float(actions[name] * (1 if self.safe[self.doors[name]] else -1)) for name in before}
        ended, stopped = dict.fromkeys(before, True), dict.fromkeys(before, False)
        return self._seen(), rewards, ended, stopped, {name: {} for name in before}

    def _seen(self) -> dict[str, Any]:
        sentences = [f"the {self.colours[i]} door is {'safe' if self.safe[i] else 'deadly'}." for i in self.order]
        return {name: {"door": door, "manual": " ".join(sentences)} for name, door in self.doors.items()}


parallel_env = Signposts
