"""Episodes on the lake under a planner: agents walk, sub-goals are judged, the planner plans anew or reflects.

A round ends when both agents have reached their sub-goals, after some env steps, or when an agent falls in. A round
that failed begins again where it began, by snapshot, also if somebody fell in: within its tries a planner finds holes
by falling into them. After the last try a fall ends the episode. This file must not know who plans.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import torch

from rl_envs.core.spec import Array
from rl_envs.frozen_lake_spread.text import describe
from rl_envs.frozen_lake_spread.world import ACTIONS, NUM_AGENTS
from rl_models.planners.rounds import PlanningLoop, RoundEnd
from rl_models.policy import TeamPolicy
from rl_models.runtime.device import device_of, to_device
from rl_models.training.collector import to_numpy
from tune_experiments.experiment.plan import Episodes
from tune_experiments.sama.frozen_lake.domain import LakeDomain
from tune_experiments.sama.frozen_lake.world import CommandedLake
from tune_experiments.sama.round_snapshots import RoundSnapshots

Executor: TypeAlias = Callable[[CommandedLake], Array]
"""The agents' actions now, [B, 2] int, in worlds that hold their commands."""
METRICS = ("success", "arrivals", "fell", "rounds", "undone_steps")
LEFT, DOWN, RIGHT, UP = range(len(ACTIONS))


def walker(world: CommandedLake) -> Array:
    """Agents that learn nothing: they walk along the column to their row, then along the row."""
    side, state = world.lake.side, world.state
    row, column = np.divmod(state["cells"].astype(int), side)
    to_row, to_column = np.divmod(np.where(state["commands"] < side**2, state["commands"], state["cells"]), side)
    vertical = np.where(to_row > row, DOWN, UP)
    return np.where(to_row != row, vertical, np.where(to_column > column, RIGHT, LEFT))


def learned(policy: TeamPolicy) -> Executor:
    """Agents of a policy without memory that take their best actions."""
    device = device_of(policy)

    def choose(world: CommandedLake) -> Array:
        worlds = world.num_worlds
        tensors = to_device({key: value[:, None] for key, value in world.observe().items()}, device)
        is_first = torch.zeros(worlds, 1, dtype=torch.bool, device=device)
        with torch.inference_mode():
            output = policy(tensors, policy.initial_state(worlds), is_first)
        return np.asarray(to_numpy(output.policy.mode()[0])).reshape(worlds, NUM_AGENTS)

    return choose


class LakePlay:
    """One episode in each of B worlds."""

    def __init__(
        self, world: CommandedLake, executor: Executor, loop: PlanningLoop, domain: LakeDomain, round_steps: int
    ) -> None:
        """Prepare to play.

        Args:
            world: B lakes.
            executor: who carries sub-goals out.
            loop: plans and reflects.
            domain: reads sub-goals.
            round_steps: env steps after which a round is over.
        """
        self._world, self._executor, self._loop, self._domain = world, executor, loop, domain
        self._round_steps = round_steps
        self._in_round = np.zeros(world.num_worlds, int)
        self._found = {name: np.zeros(world.num_worlds) for name in METRICS}
        world.auto_resets = False

    def run(self, seed: int) -> Episodes:
        """Play to the end of every world's first episode; `METRICS`, [B] each."""
        world = self._world
        world.reset(seed)
        is_playing = np.ones(world.num_worlds, bool)
        plans = self._loop.begin({index: world.in_words(index) for index in range(world.num_worlds)})
        self._command({index: plan.commands for index, plan in plans.items()})
        self._snapshots = RoundSnapshots(world)
        while is_playing.any():
            truncated = world.step(self._executor(world))[3]
            self._in_round += 1
            fell = np.asarray(world.state["out"].any(1))
            is_over = is_playing & ~fell & (truncated | (world.state["target"] > 0).all(1))
            is_playing &= ~is_over
            self._note(is_over)
            lost = self._end_rounds(is_playing, fell)
            is_playing[lost] = False
            self._note(np.isin(np.arange(world.num_worlds), lost))
        return self._found

    def _note(self, ended: Array) -> None:
        """Keep what episodes that end now have come to."""
        state = self._world.state
        arrivals = (state["target"] > 0).sum(1)
        values = {"success": arrivals == NUM_AGENTS, "arrivals": arrivals, "fell": state["out"].any(1)}
        for name, value in values.items():
            np.copyto(self._found[name], value.astype(float), where=ended)

    def _end_rounds(self, is_playing: Array, fell: Array) -> list[int]:
        """Judge rounds that are over; the worlds in which somebody has fallen in for good."""
        state = self._world.state
        is_over = fell | state["reached"].all(1) | (self._in_round >= self._round_steps)
        over = np.flatnonzero(is_playing & is_over).tolist()
        if not over:
            return []
        ends = {}
        for world in over:
            reached = tuple(map(bool, state["reached"][world] & ~fell[world]))
            ends[world] = RoundEnd(self._words_before(world) if fell[world] else self._world.in_words(world), reached)
        self._found["rounds"][over] += 1
        following = self._loop.end_rounds(ends)
        again = [world for world in over if following[world].recovers]
        lost = [world for world in over if fell[world] and not following[world].recovers]
        self._snapshots.restore(again)
        self._found["undone_steps"][again] += self._in_round[again]
        self._command({w: each.plan.commands for w, each in following.items() if w not in lost})
        self._snapshots.take(over)
        return lost

    def _words_before(self, world: int) -> str:
        """The state in which a world's round began, since one with an agent in a hole is none to plan for."""
        cells, target, length = (self._snapshots.state[name][world] for name in ("cells", "target", "episode_length"))
        return describe(self._world.lake, cells, target, int(length))

    def _command(self, commands: Mapping[int, Sequence[str]]) -> None:
        worlds = list(commands)
        if worlds:
            self._world.command(worlds, [[self._cell(text) for text in texts] for texts in commands.values()])
            self._in_round[worlds] = 0

    def _cell(self, subgoal: str) -> int:
        cell = self._domain.cell_of(subgoal)
        return self._world.lake.side**2 if cell is None else cell
