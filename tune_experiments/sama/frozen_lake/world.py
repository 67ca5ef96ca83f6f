"""Lakes whose agents get commands: for tests with a planner, and for learning to follow commands.

In `CommandedLake` each agent's command is a cell. An agent at this cell, or with the command to stay, does not move
until its next command: the game has no action for that. An episode of `SubgoalLake` is a single round with random
cells; it rewards an agent for reaching its own, and is over when both have or one has fallen in.

State beyond the lake's: `commands` [2], cells, or side * side for `stay`, and `reached` [2].
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rl_envs.core.spec import Array, Arrays, ArraySpec
from rl_envs.frozen_lake_spread.text import describe
from rl_envs.frozen_lake_spread.world import NUM_AGENTS, FrozenLakeSpread


class CommandedLake(FrozenLakeSpread):
    """The frozen lake with sub-goals; observation `command` is the agent's own sub-goal."""

    def __init__(self, num_worlds: int = 1, first_world: int = 0, **arguments: Any) -> None:
        super().__init__(num_worlds, first_world, **{"observations": ("one_hot",)} | arguments)
        side = self.lake.side
        self.observation_spec |= {"command": ArraySpec((2 * side + 1,), "uint8", 0, 1, "row, column, or to rest")}

    def command(self, worlds: Sequence[int], cells: Sequence[Sequence[int]]) -> None:
        """Give the agents of K worlds new sub-goals: two cells for each world; side * side to stay."""
        rows = np.asarray(worlds, int)
        self.state["commands"][rows] = cells
        self.state["reached"][rows] = False
        self._judge()

    def describe_state(self, index: int) -> str:
        """State of world `index` as text."""
        state = self.state
        return describe(self.lake, state["cells"][index], state["target"][index], int(state["episode_length"][index]))

    def _judge(self) -> Array:
        """Agents that have just reached their sub-goals, [B, 2] bool."""
        state = self.state
        is_there = (state["commands"] == self.lake.side**2) | (state["commands"] == state["cells"])
        fresh = is_there & ~state["out"] & ~state["reached"]
        state["reached"] |= fresh
        return np.asarray(fresh)

    def _moves(self) -> Array:
        return np.asarray(super()._moves() & ~self.state["reached"])

    def _advance(self, actions: Any, recorded: Arrays) -> tuple[Array, Array, Array]:
        result = super()._advance(actions, recorded)
        self._judge()
        return result

    def _observe(self, rows: Array) -> Arrays:
        seen, side = super()._observe(rows), self.lake.side
        command = np.where(self.state["reached"][rows], side**2, self.state["commands"][rows])
        rests = command == side**2
        row, column = np.divmod(np.where(rests, 0, command), side)
        target = np.concatenate([np.eye(side)[row], np.eye(side)[column]], -1) * ~rests[..., None]
        return seen | {"command": np.concatenate([target, rests[..., None]], -1).astype(np.uint8)}

    def _blank_state(self, num_worlds: int) -> Arrays:
        each = (num_worlds, NUM_AGENTS)
        own = {"commands": np.full(each, self.lake.side**2, np.int64), "reached": np.zeros(each, bool)}
        return super()._blank_state(num_worlds) | own


class SubgoalLake(CommandedLake):
    """Rounds from random states with random sub-goals."""

    metric_names = ("reached", "fell")

    def __init__(self, num_worlds: int = 1, first_world: int = 0, **arguments: Any) -> None:
        super().__init__(num_worlds, first_world, **arguments)
        self._ice = np.flatnonzero(~self.lake.holes)

    def _begin(self, rows: Array) -> None:
        drawn = self.chance.uniforms(2 * NUM_AGENTS, rows)
        cells = self._ice[(drawn * len(self._ice)).astype(int)]
        self.state["cells"][rows], self.state["commands"][rows] = cells[:, :NUM_AGENTS], cells[:, NUM_AGENTS:]
        self.state["reached"][rows] = cells[:, :NUM_AGENTS] == cells[:, NUM_AGENTS:]

    def _moves(self) -> Array:
        """Moves of agents; in a round a target is like any other cell."""
        return np.asarray(~self.state["out"] & ~self.state["reached"])

    def _advance(self, actions: Any, recorded: Arrays) -> tuple[Array, Array, Array]:
        before = self.state["reached"].copy()
        super()._advance(actions, recorded)
        self.state["target"][:] = 0
        fresh = self.state["reached"] & ~before
        is_over = np.asarray(self.state["reached"].all(1) | self.state["out"].any(1))
        is_late = np.asarray((self.state["episode_length"] + 1 >= self.max_episode_steps) & ~is_over)
        return fresh.astype(float), is_over, is_late

    def _episode_metrics(self, rows: Array) -> Arrays:
        reached, fell = self.state["reached"][rows].all(1), self.state["out"][rows].any(1)
        return {"reached": reached.astype(float), "fell": fell.astype(float)}
