"""Two-agent FrozenLake (SAMA, NeurIPS 2023, appendix G.1): each agent must reach a target, and the holes are invisible.

Two agents win if each stands on a target of its own; whoever steps into a hole ends the game. Where holes and targets are
can only be found out by going there. The paper gives no rules beyond this; those below are ours.

| | |
|---|---|
| agents | `agent_0`, `agent_1` |
| actions | 4: `left`, `down`, `right`, `up`; a move into the wall does nothing, and neither does one of an agent on its target |
| observation `place` | [4] uint8, own row and column, the other agent's row and column |
| observation `one_hot` | [4 * side] uint8, the same, one number out of `side` for each; only if named in `observations` |
| observation `cells` | [2] uint8, row * side + column of the agent and of the other; only if named in `observations` |
| observation `alive` | [] bool, whether the agent is in the game; only with `hole="out"` |
| rewards | 1 for each agent that reaches a free target, to both agents, but to none that has left; with `own_rewards` to the one that reaches it |
| turn order | agent 0 moves first; the first agent on a free target takes it and stays, for the other it is ice |
| episode end | terminated: an agent falls into a hole, or both targets are taken; truncated: `max_episode_steps`. With `hole="out"` the other goes on, and it terminates when no agent moves any more |
| arguments | `map` (4x4): `4x4` or `8x8`, Gymnasium's, `random-4x4` or `random-8x8`; `map_seed` (0), which fixes the holes and the targets of a random map; `slippery` (False): an agent moves as intended, or at a right angle to it, with probability 1/3 each; `blocks` (False): a cell holds one agent, and a move into an occupied one does nothing; `own_rewards` (False); `hole` (end): `end` or `out`; `observations` (place); `max_episode_steps` (None): 100 for side 4, 200 for side 8 |
| recorded draws | `slips` [B, 2] int, 0, 1 or 2: the action before the intended one in the list of actions, the intended one, the one after it; only with `slippery` |
| state for `restore` | `cells` [2], row * side + column; optional: `target` [2], 0 for none and 1 or 2 for the target that the agent has taken, `out` [2] bool, `episode_length` |
| metrics | `success`, 1 if both targets are taken; `arrivals`, targets taken; `fell`, 1 if an agent fell into a hole |
| version history | v0: first version |
"""  # noqa: E501 (a table row is one line)

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from rl_envs.core.arguments import flags, one_of, steps, whole
from rl_envs.core.metrics import COUNT, SHARE
from rl_envs.core.spec import Array, Arrays, ArraySpec
from rl_envs.core.world import World, module_story
from rl_envs.frozen_lake_spread.maps import LEGEND, get_lake

NUM_AGENTS = 2
ACTIONS = ("left", "down", "right", "up")
OBSERVATIONS = ("place", "one_hot", "cells")
_STEP_LIMITS = {4: 100, 8: 200}


class FrozenLakeSpread(World):
    """B lakes with one map; the table above documents them."""

    story = module_story(__name__)
    agents = tuple(f"agent_{number}" for number in range(NUM_AGENTS))
    action_spec = len(ACTIONS)
    action_names = ACTIONS
    colours = ((200, 70, 60), (50, 130, 90))
    legend = LEGEND
    metric_names: tuple[str, ...] = ("success", "arrivals", "fell")
    metric_ranges = MappingProxyType({"success": SHARE, "arrivals": COUNT, "fell": SHARE})

    def __init__(
        self,
        num_worlds: int = 1,
        first_world: int = 0,
        *,
        map: str = "4x4",
        map_seed: int = 0,
        slippery: bool = False,
        blocks: bool = False,
        own_rewards: bool = False,
        hole: str = "end",
        observations: Sequence[str] = ("place",),
        max_episode_steps: int | None = None,
    ) -> None:
        """Build B worlds; the table above documents the arguments."""
        self.lake = get_lake(map, whole("map_seed", map_seed))
        one_of(("end", "out"), hole=hole)
        if isinstance(observations, str) or not observations or set(observations) - set(OBSERVATIONS):
            raise ValueError(f"observations must be one or more of {', '.join(OBSERVATIONS)}, not {observations!r}")
        flags(slippery=slippery, blocks=blocks, own_rewards=own_rewards)
        side = self.lake.side
        self.max_episode_steps = _STEP_LIMITS[side] if max_episode_steps is None else steps(max_episode_steps)
        self.recorded_draws = ("slips",) if slippery else ()
        self._slippery, self._blocks, self._own_rewards, self._hole_ends = slippery, blocks, own_rewards, hole == "end"
        specs = {
            "place": ArraySpec((4,), "uint8", 0, side - 1, "own row and column, the other's row and column"),
            "one_hot": ArraySpec((4 * side,), "uint8", 0, 1, "the same, one number out of the side for each"),
            "cells": ArraySpec((2,), "uint8", 0, side * side - 1, "cell of the agent and of the other"),
        }
        self.observation_spec = {key: specs[key] for key in observations}
        if not self._hole_ends:
            self.observation_spec["alive"] = ArraySpec((), "bool", 0, 1, "whether the agent is in the game")
        super().__init__(num_worlds, first_world)

    def render(self, index: int = 0) -> Array:
        """The lake from above, [H, W, 3] uint8."""
        from rl_envs.frozen_lake_spread.render import draw_lake

        state = {name: value[index] for name, value in self.state.items()}
        return draw_lake(self.lake, state["cells"], state["target"], state["out"], self.colours)

    def _begin(self, rows: Array) -> None:
        self.state["cells"][rows] = self.lake.starts

    def _advance(self, actions: Any, recorded: Arrays) -> tuple[Array, Array, Array]:
        state, before = self.state, (self.state["target"] > 0).sum(1)
        present = ~state["out"]
        directions = (actions + self._slips(recorded) - 1) % len(ACTIONS)
        reward = np.zeros((self.num_worlds, NUM_AGENTS))
        for agent in range(NUM_AGENTS):
            reward[:, agent] = self._move(agent, directions[:, agent])
        taken = (state["target"] > 0).sum(1)
        if not self._own_rewards:
            reward = (taken - before)[:, None] * present.astype(float)
        is_still = (state["target"] > 0) | state["out"]
        is_over = np.asarray(is_still.all(1) | (state["out"].any(1) & self._hole_ends))
        return reward, *self._endings(is_over, True)

    def _move(self, agent: int, direction: Array) -> Array:
        """Move one agent in every world; 1 where it takes a target, [B] float64."""
        state, other = self.state, 1 - agent
        moves = self._moves()[:, agent]
        there = self.lake.following[state["cells"][:, agent], direction]
        if self._blocks:
            moves &= (there != state["cells"][:, other]) | state["out"][:, other]
        state["cells"][:, agent] = np.where(moves, there, state["cells"][:, agent])
        state["out"][:, agent] |= moves & self.lake.holes[there]
        arrived = np.zeros(self.num_worlds)
        for number, target in enumerate(self.lake.targets, start=1):
            takes = moves & (there == target) & (state["target"][:, other] != number)
            state["target"][takes, agent] = number
            arrived += takes
        return arrived

    def _moves(self) -> Array:
        """[B, 2] bool, agents whose actions move them."""
        return np.asarray((self.state["target"] == 0) & ~self.state["out"])

    def _slips(self, recorded: Arrays) -> Array:
        """[B, 2] int64, 1 where an agent moves as it intends."""
        if not self._slippery:
            return np.ones((self.num_worlds, NUM_AGENTS), np.int64)
        drawn = recorded["slips"] if "slips" in recorded else self.chance.uniforms(NUM_AGENTS) * 3
        return np.asarray(drawn).astype(np.int64)

    def _draw_bounds(self) -> dict[str, tuple[tuple[int, ...], int, int]]:
        return {"slips": ((self.num_worlds, NUM_AGENTS), 0, 2)}

    def _observe(self, rows: Array) -> Arrays:
        own = self.state["cells"][rows]
        both = np.stack([own, own[:, ::-1]], -1)  # [K, 2, 2]
        place = np.stack(np.divmod(both, self.lake.side), -1).reshape(len(rows), NUM_AGENTS, 4)
        made = {
            "place": lambda: place.astype(np.uint8),
            "one_hot": lambda: np.eye(self.lake.side, dtype=np.uint8)[place].reshape(len(rows), NUM_AGENTS, -1),
            "cells": lambda: both.astype(np.uint8),
            "alive": lambda: ~self.state["out"][rows],
        }
        return {key: make() for key, make in made.items() if key in self.observation_spec}

    def _blank_state(self, num_worlds: int) -> Arrays:
        each = (num_worlds, NUM_AGENTS)
        own = {"cells": np.zeros(each, np.uint8), "target": np.zeros(each, np.uint8), "out": np.zeros(each, bool)}
        return super()._blank_state(num_worlds) | own

    def _needed_state(self) -> set[str]:
        return {"cells"}

    def _check_state(self, state: Arrays) -> None:
        """Refuse a state that cannot be."""
        cells, target = state["cells"], state.get("target", np.zeros_like(state["cells"]))
        out = state.get("out", np.zeros(cells.shape, bool))
        if cells.max() >= len(self.lake.holes):
            raise ValueError(f"restore: cells must lie in 0 .. {len(self.lake.holes) - 1}, got {cells.max()}")
        if (self.lake.holes[cells] != out).any():
            raise ValueError("restore: out must name the agents that stand in a hole, and no others")
        if self._blocks and ((cells[:, 0] == cells[:, 1]) & ~out[:, 0]).any():
            raise ValueError("restore: cells must be different for the two agents, because blocks is True")
        at = np.concatenate([[-1], self.lake.targets])
        if target.max() > len(self.lake.targets) or ((target > 0) & (at[target.clip(0, 2)] != cells)).any():
            raise ValueError("restore: target must be 0, or the number of the target on which the agent stands")
        if ((target[:, 0] > 0) & (target[:, 0] == target[:, 1])).any():
            raise ValueError("restore: a target can be taken by one agent only")

    def _episode_metrics(self, rows: Array) -> Arrays:
        arrivals = (self.state["target"][rows] > 0).sum(1)
        found = {"success": arrivals == NUM_AGENTS, "arrivals": arrivals, "fell": self.state["out"][rows].any(1)}
        return {name: value.astype(float) for name, value in found.items()}
