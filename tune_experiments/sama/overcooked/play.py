"""Overcooked for the play loop; soups are counted twice.

`soups` are those that stand when as many env steps as an episode has were played in all, undone ones included, so
undone rounds cost steps. `standing_soups` is the paper's count, at the end of the rounds that stand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rl_envs.core.spec import Array, Arrays
from rl_envs.overcooked.world import SOUP_REWARD
from rl_models.planners.rounds import NextRound
from tune_experiments.sama.overcooked.world import CommandedKitchen
from tune_experiments.sama.play import PlayAdapter

_THINGS = ("held", "contents")


class KitchenPlay(PlayAdapter[CommandedKitchen]):
    """B kitchens."""

    metrics = ("soups", "reward", "standing_soups", "rounds", "reached_rounds", "idle_rounds", "wasted_steps")
    undone_metric = "wasted_steps"

    def reset(self, seed: int) -> None:
        """Begin the episodes."""
        super().reset(seed)
        self._soups = np.zeros(self.world.num_worlds)

    def states(self, worlds: Sequence[int]) -> list[str]:
        """The world's own sentences."""
        return [self.world.in_words(index) for index in worlds]

    def begin_rounds(self, rounds: Mapping[int, NextRound]) -> None:
        """Command both chefs."""
        self.world.command(list(rounds), [each.plan.commands for each in rounds.values()])

    def has_changed(self, worlds: Sequence[int]) -> Array:
        """Whether a thing was moved or has cooked: chefs who both only wait, while nothing cooks, wait for ever."""
        changed = [(self.world.state[name][worlds] != self._starts[name][worlds]).any(-1) for name in _THINGS]
        return np.logical_or.reduce(changed)

    def is_over(self, done: Array, is_playing: Array, played: Array) -> Array:
        """Whether the episode's clock, which undone rounds put back, has run out."""
        is_at_limit = is_playing & (played == self.world.max_episode_steps)
        np.copyto(self._soups, self.world.state["soups"], where=is_at_limit)
        return done

    def outcome(self, played: Array) -> Arrays:
        """Soups in both counts."""
        return {
            "soups": self._soups,
            "reward": SOUP_REWARD * self._soups,
            "standing_soups": self.world.state["soups"],
        }
