"""The two-step game (QMIX, Rashid et al., ICML 2018, section 5): a safe reward, or a larger one that needs both agents.

In the first state the first agent alone chooses the second state, 2A or 2B. There both agents act: 2A always pays 7, 2B
pays 0, 1, 1 or 8. A learner whose team value is a sum of the agents' values (VDN) expects at most 6.5 in 2B and chooses
2A; a learner with a monotonic mixer (QMIX) reaches 8.

| | |
|---|---|
| agents | `agent_0`, `agent_1` |
| actions | 2: `a`, `b` |
| observation `state` | [3] uint8, one-hot: the first state, 2A, 2B; the same for both agents |
| rewards | the same to both agents. First step: 0. Second step in 2A: 7; in 2B by both agents' actions: `a a` 0, `a b` 1, `b a` 1, `b b` 8 |
| episode end | always terminated after two steps; never truncated |
| arguments | none |
| recorded draws | none: the game is deterministic |
| state for `restore` | `room` [] int: 0 is the first state, 1 is 2A, 2 is 2B |
| metrics | `outcome`, an agent's reward in the second step |
| version history | v0: first version |
"""  # noqa: E501 (a table row is one line)

from typing import Any

import numpy as np

from rl_envs.core.spec import Array, Arrays, ArraySpec
from rl_envs.core.world import World, module_story

FIRST, SAFE, RISKY = range(3)
PAYOFFS = np.array([[[7.0, 7.0], [7.0, 7.0]], [[0.0, 1.0], [1.0, 8.0]]])
"""[2, 2, 2] float64, reward of the second step by state (2A, 2B) and both agents' actions."""


class TwoStepGame(World):
    """B games; the table above documents them."""

    story = module_story(__name__)
    agents = ("agent_0", "agent_1")
    action_spec = 2
    action_names = ("a", "b")
    metric_names = ("outcome",)
    max_episode_steps = 2

    def __init__(self, num_worlds: int = 1, first_world: int = 0) -> None:
        """Build B games."""
        self.observation_spec = {"state": ArraySpec((3,), "uint8", 0, 1, "where the game is: first, 2A, 2B")}
        super().__init__(num_worlds, first_world)

    def _check_state(self, state: Arrays) -> None:
        """Refuse a state that does not exist."""
        if not np.isin(state["room"], (FIRST, SAFE, RISKY)).all():
            raise ValueError(f"restore: room must be 0, 1 or 2, got {state['room']!r}")

    def _begin(self, rows: Array) -> None:
        self.state["room"][rows] = FIRST

    def _advance(self, actions: Any, recorded: Arrays) -> tuple[Array, Array, Array]:
        room = self.state["room"]
        is_over = room != FIRST
        first, second = actions.T
        paid = np.where(is_over, PAYOFFS[np.maximum(room, SAFE) - SAFE, first, second], 0.0)
        self.state["room"] = np.where(is_over, room, SAFE + first).astype(room.dtype)
        reward = np.repeat(paid[:, None], self.num_agents, axis=1)
        return reward, is_over, np.zeros(self.num_worlds, bool)

    def _observe(self, rows: Array) -> Arrays:
        state = np.eye(3, dtype=np.uint8)[self.state["room"][rows]]
        return {"state": np.repeat(state[:, None], self.num_agents, axis=1)}

    def _blank_state(self, num_worlds: int) -> Arrays:
        return super()._blank_state(num_worlds) | {"room": np.zeros(num_worlds, np.uint8)}

    def _needed_state(self) -> set[str]:
        return {"room"}

    def _episode_metrics(self, rows: Array) -> Arrays:
        return {"outcome": self.state["episode_return"][rows, 0]}
