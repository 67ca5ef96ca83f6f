"""A custom world: two agents carry a sofa along a corridor, and only one of them sees where the door is.

The sofa moves when both agents push the same way. The door is at the left or the right end, which changes from episode
to episode, and only the first agent sees it. All B environments are stepped at once, in vectorised NumPy.

| | |
|---|---|
| agents | `front`, `back` |
| actions | 3: `left`, `wait`, `right` |
| observation `place` | [7] uint8, one-hot: where the sofa is; the same for both agents |
| observation `door` | [2] uint8, one-hot for `front`: the door is left or right; zeros for `back` |
| rewards | the same to both agents: 1 when the sofa goes through the door, else -0.02 a step |
| episode end | terminated when the sofa is out; truncated after `max_episode_steps` (20) |
| arguments | `max_episode_steps` |
| recorded draws | none |
| state for `restore` | `place` [] 0 .. 6, `door` [] 0 left, 1 right |
| metrics | `success`, the sofa is out |
| history | v0: first version |

A world declares its spaces (`observation_spec`, `action_spec`), keeps its whole state in `self.state`,
and fills in five hooks. Resets, snapshots, auto-resets and checks come from `World`.
`rl_envs.testing.check_world(Corridor)` checks it, like Gymnasium's `check_env`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rl_envs import World
from rl_envs.core.spec import Array, Arrays, ArraySpec

LENGTH = 7
"""Number of positions of the sofa; from the first or the last one it can be pushed out through the door."""
LEFT, RIGHT = 0, 1
PIXELS = 24


class Corridor(World):
    """B corridors; see the table above."""

    agents = ("front", "back")
    action_spec = 3
    action_names = ("left", "wait", "right")
    metric_names = ("success",)

    def __init__(self, num_worlds: int = 1, first_world: int = 0, *, max_episode_steps: int = 20) -> None:
        """Prepare the worlds.

        Args:
            num_worlds: B.
            first_world: number of the first world in the run.
            max_episode_steps: env steps until an episode is truncated.
        """
        self.max_episode_steps = max_episode_steps
        self.observation_spec = {
            "place": ArraySpec((LENGTH,), "uint8", 0, 1, "where the sofa is, one-hot"),
            "door": ArraySpec((2,), "uint8", 0, 1, "where the door is, one-hot; zeros for `back`"),
        }
        super().__init__(num_worlds, first_world)

    def _begin(self, rows: Array) -> None:
        """Start episodes in the middle; random numbers come from the world's counters, never from a generator."""
        self.state["place"][rows] = LENGTH // 2
        self.state["door"][rows] = self.chance.uniforms(1, rows)[:, 0] < 0.5

    def _advance(self, actions: Any, recorded: Arrays) -> tuple[Array, Array, Array]:
        """One env step of all worlds: actions [B, N] int -> reward [B, N], terminated [B], truncated [B]."""
        push = np.where(actions[:, 0] == actions[:, 1], actions[:, 0] - 1, 0)
        place = self.state["place"] + push
        is_out = np.where(self.state["door"] == LEFT, place < 0, place >= LENGTH)
        self.state["place"][:] = place.clip(0, LENGTH - 1)
        self.state["is_out"][:] = is_out  # a copy: the returned array must not change when the next episode begins
        reward = np.where(is_out, 1.0, -0.02)
        is_late = self.state["episode_length"] + 1 >= self.max_episode_steps
        return np.repeat(reward[:, None], self.num_agents, axis=1), is_out, is_late & ~is_out

    def _observe(self, rows: Array) -> Arrays:
        """Observations of some worlds, fresh arrays [K, N, ...]."""
        place = np.eye(LENGTH, dtype=np.uint8)[self.state["place"][rows]]
        door = np.eye(2, dtype=np.uint8)[self.state["door"][rows]]
        return {
            "place": np.repeat(place[:, None], self.num_agents, axis=1),
            "door": np.stack([door, np.zeros_like(door)], axis=1),
        }

    def _blank_state(self, num_worlds: int) -> Arrays:
        own = {name: np.zeros(num_worlds, np.int64) for name in ("place", "door")}
        return super()._blank_state(num_worlds) | own | {"is_out": np.zeros(num_worlds, bool)}

    def _needed_state(self) -> set[str]:
        return {"place", "door"}

    def _state_bounds(self) -> dict[str, tuple[int, int]]:
        return {"place": (0, LENGTH - 1), "door": (LEFT, RIGHT)}

    def _episode_metrics(self, rows: Array) -> Arrays:
        return {"success": self.state["is_out"][rows].astype(np.float64)}

    def render(self, index: int = 0) -> Array:
        """Image of one world, [H, W, 3] uint8: the corridor, the sofa in blue, the door in green."""
        cells = np.full((1, LENGTH + 2, 3), 230, np.uint8)
        cells[0, 0 if self.state["door"][index] == LEFT else -1] = (70, 160, 90)
        cells[0, self.state["place"][index] + 1] = (60, 90, 200)
        return cells.repeat(PIXELS, axis=0).repeat(PIXELS, axis=1)
