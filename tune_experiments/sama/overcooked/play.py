"""Episodes under a planner: chefs act, sub-goals are judged, the planner plans anew or reflects (SAMA, section 3.4).

A round that is tried again begins where it began, by snapshot: clock and chance, too, so that a replay from the start
would come to the same state. Soups are counted twice. `soups` are those that stand when as many env steps as an episode
has were played in all, undone ones included, so undone rounds cost steps. `standing_soups` is the paper's count, at
the end of the rounds that stand; undone steps are left out of it and counted apart. This file must not know how a team
learned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from rl_envs.core.spec import Array
from rl_envs.overcooked.world import SOUP_REWARD
from rl_models.planners.rounds import PlanningLoop, RoundEnd
from rl_models.runtime.fixed_weights import fixed_weights
from tune_experiments.experiment.plan import Episodes
from tune_experiments.sama.overcooked.executors import Executor
from tune_experiments.sama.overcooked.world import CommandedKitchen
from tune_experiments.sama.round_snapshots import RoundSnapshots

COUNTS = ("rounds", "reached_rounds", "wasted_steps")
"""Counts of an episode: rounds judged, rounds in which all sub-goals were reached, env steps that were undone."""
Watch = Callable[[CommandedKitchen], None]
"""Called with the world before the first step and after each."""


class PlannedPlay:
    """One episode in each of B kitchens."""

    def __init__(self, world: CommandedKitchen, executor: Executor, loop: PlanningLoop, round_steps: int) -> None:
        """Prepare to play.

        Args:
            world: B kitchens.
            executor: who carries sub-goals out.
            loop: plans and reflects.
            round_steps: env steps after which a round is over.
        """
        self._world, self._executor, self._loop, self._round_steps = world, executor, loop, round_steps
        self._in_round = np.zeros(world.num_worlds, int)
        self._counts = {name: np.zeros(world.num_worlds) for name in COUNTS}

    @torch.inference_mode()
    @fixed_weights()
    def run(self, seed: int, watch: Watch | None = None) -> Episodes:
        """Play to the end of every world's first episode.

        Args:
            seed: of the chance that cells are drawn with.
            watch: looks on.

        Returns:
            `soups`, `reward`, `standing_soups` and `COUNTS`, [B] each.
        """
        world = self._world
        world.reset(seed)
        plans = self._loop.begin({index: world.in_words(index) for index in range(world.num_worlds)})
        self._snapshots = RoundSnapshots(world)
        self._command({index: plan.commands for index, plan in plans.items()})
        soups, standing, played = (np.zeros(world.num_worlds) for _ in range(3))
        is_playing = np.ones(world.num_worlds, bool)
        _ = watch and watch(world)
        while is_playing.any():
            info = world.step(self._executor(world))[-1]
            self._in_round += 1
            played += is_playing
            served, ended = _served(world, info), np.isin(np.arange(world.num_worlds), info["done_worlds"])
            np.copyto(soups, served, where=is_playing & (played == world.max_episode_steps))
            np.copyto(standing, served, where=is_playing & ended)
            is_playing &= ~ended
            self._end_rounds(is_playing)
            _ = watch and watch(world)
        return {"soups": soups, "reward": SOUP_REWARD * soups, "standing_soups": standing, **self._counts}

    def _end_rounds(self, is_playing: Array) -> None:
        """Judge rounds that are over; one that an episode's end cut off is not judged."""
        reached = self._world.state["reached"]
        over = np.flatnonzero(is_playing & (reached.all(1) | (self._in_round >= self._round_steps))).tolist()
        if not over:
            return
        ends = {w: RoundEnd(self._world.in_words(w), tuple(map(bool, reached[w]))) for w in over}
        for world, end in ends.items():
            self._counts["rounds"][world] += 1
            self._counts["reached_rounds"][world] += all(end.reached)
        following = self._loop.end_rounds(ends)
        again = [world for world in over if following[world].recovers]
        self._snapshots.restore(again)
        self._counts["wasted_steps"][again] += self._in_round[again]
        self._snapshots.take(list(following))
        self._command({world: each.plan.commands for world, each in following.items()})

    def _command(self, commands: Mapping[int, Sequence[str]]) -> None:
        worlds = list(commands)
        self._world.command(worlds, list(commands.values()))
        self._in_round[worlds] = 0


def _served(world: CommandedKitchen, info: Mapping[str, Any]) -> Array:
    """[B] soups of the episodes, of those too that ended in this env step, whose kitchens have begun anew."""
    served = world.state["soups"].astype(float)
    if len(info["done_worlds"]):
        served[info["done_worlds"]] = info["episode"]["soups"]
    return served
