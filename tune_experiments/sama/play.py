"""Episodes under a planner: chefs act, sub-goals are judged, the planner plans anew or reflects (SAMA, section 3.4).

A round that is tried again begins where it began, by snapshot: clock and chance, too, so that a replay from the start
would come to the same state. Steps of trials that were given up are no steps of the episode; they are counted apart.
This file must not know how a team learned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch

from rl_envs.core.spec import Array, Arrays
from rl_models.networks.fixed_weights import fixed_weights
from rl_models.planners.rounds import NextRound, PlanningLoop, RoundEnd
from rl_models.policy import TeamPolicy
from rl_models.training.collector import to_numpy
from tune_experiments.experiment.plan import Episodes
from tune_experiments.sama.kitchens import CommandedKitchen

COUNTS = ("rounds", "reached_rounds", "wasted_steps")
"""Of an episode: rounds judged, those in which all sub-goals were reached, env steps that were taken back."""
Watch = Callable[[CommandedKitchen], None]
"""Called with the world before the first step and after each."""


class PlannedPlay:
    """One episode in each of B kitchens."""

    def __init__(
        self, world: CommandedKitchen, policy: TeamPolicy, loop: PlanningLoop, round_steps: int, is_greedy: bool = False
    ) -> None:
        """Prepare to play.

        Args:
            world: B kitchens.
            policy: who acts; it has no memory.
            loop: plans and reflects.
            round_steps: env steps after which a round is over.
            is_greedy: take the likeliest cells instead of sampling.
        """
        self._world, self._policy, self._loop = world, policy, loop
        self._round_steps, self._is_greedy = round_steps, is_greedy
        self._in_round = np.zeros(world.num_worlds, int)
        self._begins: Arrays = {}
        self._counts = {name: np.zeros(world.num_worlds) for name in COUNTS}

    @torch.inference_mode()
    @fixed_weights()
    def run(self, seed: int, watch: Watch | None = None) -> Episodes:
        """Play to the end of every world's first episode.

        Args:
            seed: of the chance that cells are drawn with.
            watch: looks on.

        Returns:
            `soups`, `reward` and `COUNTS`, [B] each.
        """
        world = self._world
        world.reset(seed)
        plans = self._loop.begin({index: world.in_words(index) for index in range(world.num_worlds)})
        self._begins = world.snapshot()
        self._tell({index: plan.told for index, plan in plans.items()})
        soups, is_playing = np.zeros(world.num_worlds), np.ones(world.num_worlds, bool)
        _ = watch and watch(world)
        while is_playing.any():
            info = world.step(self._act(world.observe()))[-1]
            self._in_round += 1
            ended = [place for place, index in enumerate(info["done_worlds"]) if is_playing[index]]
            if ended:
                rows = info["done_worlds"][ended]
                soups[rows], is_playing[rows] = info["episode"]["soups"][ended], False
            self._end_rounds(is_playing)
            _ = watch and watch(world)
        return {"soups": soups, "reward": 20.0 * soups, **self._counts}

    def _act(self, obs: Arrays) -> Array:
        worlds = self._world.num_worlds
        tensors = {key: torch.from_numpy(value)[:, None] for key, value in obs.items()}
        output = self._policy(tensors, self._policy.initial_state(worlds), torch.zeros(worlds, 1, dtype=torch.bool))
        if self._is_greedy:
            return np.asarray(to_numpy(output.policy.mode()[0]))
        uniforms = torch.from_numpy(self._world.chance.policy_uniforms(output.policy.num_uniforms))
        return np.asarray(to_numpy(output.policy.sample(uniforms[:, None])[0]))

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
        self._recover([world for world in over if following[world].recovers])
        self._begin(following)

    def _recover(self, worlds: Sequence[int]) -> None:
        """Put worlds back to where their rounds began."""
        if not worlds:
            return
        now = self._world.snapshot()
        for name, values in now.items():
            values[worlds] = self._begins[name][worlds]
        self._world.restore(now)
        self._counts["wasted_steps"][worlds] += self._in_round[worlds]

    def _begin(self, following: Mapping[int, NextRound]) -> None:
        now, worlds = self._world.snapshot(), list(following)
        for name, values in self._begins.items():
            values[worlds] = now[name][worlds]
        self._tell({world: each.plan.told for world, each in following.items()})

    def _tell(self, told: Mapping[int, Sequence[str]]) -> None:
        worlds = list(told)
        self._world.tell(worlds, list(told.values()))
        self._in_round[worlds] = 0
