"""The frozen lake for the play loop, and its scripted executor.

A fall ends the round, and after the last retry the episode, so a planner finds holes by trial and error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rl_envs.core.spec import Array, Arrays
from rl_envs.frozen_lake_spread.text import describe
from rl_envs.frozen_lake_spread.world import ACTIONS, NUM_AGENTS
from rl_models.planners.rounds import NextRound
from tune_experiments.sama.frozen_lake.domain import LakeDomain
from tune_experiments.sama.frozen_lake.world import CommandedLake
from tune_experiments.sama.play import PlayAdapter

LEFT, DOWN, RIGHT, UP = range(len(ACTIONS))


def walker(world: CommandedLake) -> Array:
    """Scripted actions: first along the column, then along the row."""
    side, state = world.lake.side, world.state
    row, column = np.divmod(state["cells"].astype(int), side)
    to_row, to_column = np.divmod(np.where(state["commands"] < side**2, state["commands"], state["cells"]), side)
    vertical = np.where(to_row > row, DOWN, UP)
    return np.where(to_row != row, vertical, np.where(to_column > column, RIGHT, LEFT))


class LakePlay(PlayAdapter[CommandedLake]):
    """The play loop's adapter of B lakes."""

    metrics = ("success", "arrivals", "fell", "rounds", "undone_steps")
    undone_metric = "undone_steps"

    def __init__(self, world: CommandedLake, domain: LakeDomain) -> None:
        super().__init__(world)
        self._domain = domain

    def states(self, worlds: Sequence[int]) -> list[str]:
        """States as text; with an agent in a hole, the state at the round's start."""
        is_lost = self.is_lost()
        return [self._start(index) if is_lost[index] else self.world.describe_state(index) for index in worlds]

    def begin_rounds(self, rounds: Mapping[int, NextRound]) -> None:
        """Send both agents to cells, or let them stay."""
        cells = [[self._cell(text) for text in each.plan.commands] for each in rounds.values()]
        self.world.command(list(rounds), cells)

    def is_lost(self) -> Array:
        """Whether an agent has fallen in."""
        return np.asarray(self.world.state["out"].any(1))

    def is_over(self, done: Array, is_playing: Array, played: Array) -> Array:
        """Whether both agents are on targets, or time is up."""
        return done & ~self.is_lost()

    def outcome(self, played: Array) -> Arrays:
        """Agents on targets, and whether one has fallen in."""
        arrivals = (self.world.state["target"] > 0).sum(1)
        return {"success": arrivals == NUM_AGENTS, "arrivals": arrivals, "fell": self.is_lost()}

    def _start(self, index: int) -> str:
        cells, target, length = (self._starts[name][index] for name in ("cells", "target", "episode_length"))
        return describe(self.world.lake, cells, target, int(length))

    def _cell(self, subgoal: str) -> int:
        cell = self._domain.subgoal_cell(subgoal)
        return self.world.lake.side**2 if cell is None else cell
