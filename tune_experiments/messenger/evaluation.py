"""Tests on MESSENGER: training games, new games in new sentences, and permuted roles, beside random play.

As published, an evaluated team takes greedy actions with 5 % random ones among them, and episodes have the
time limits of training. With permuted roles the manual describes another game with the same three entities: a policy
that reads must lose there, but not one that has memorised the entities. Random play is uniform.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from rl_envs.core.world import World
from rl_envs.messenger.symbols import ACTIONS
from rl_models.distributions.joint_policy import JointActions, JointPolicy
from rl_models.policy import TeamPolicy
from rl_models.teams.constant_team import uniform_team
from rl_models.training.evaluation import Evaluation
from tune_experiments.experiment.plan import RANDOM, Episodes, Tested, Tests
from tune_experiments.messenger.config import MessengerRunConfig, make_world

EVALUATION_SEED = 84
"""Seed of every evaluation: with the worlds' arguments it fixes all episodes, for any policy."""
RANDOM_SHARE = 0.05
"""Share of an evaluated team's actions that are random."""
PERMUTED = "permuted"
"""Condition of tests with permuted roles, where the manual is of another game."""
COLUMNS: dict[str, dict[str, Any]] = {
    "train": {"split": "train"},
    "test": {"split": "test"},
    "test_se": {"split": "test_se"},
    f"train_{PERMUTED}": {"split": "train", "permuted_roles": True},
    f"test_{PERMUTED}": {"split": "test", "permuted_roles": True},
}
"""Column of the table -> arguments of its worlds. `test_se` has new games and sentences and no new movements."""


class WithRandomMoves(Evaluation):
    """Greedy actions with random ones among them, all from the worlds' own uniforms."""

    world: World

    def _choose(self, policy: JointPolicy, uniforms: torch.Tensor) -> tuple[JointActions, torch.Tensor]:
        actions, component = policy.mode()
        assert isinstance(actions, torch.Tensor) and isinstance(self.world.action_spec, int)
        chances = uniforms[..., : self.world.num_agents]
        assert chances.shape[-1] == self.world.num_agents
        drawn = (chances / RANDOM_SHARE * self.world.action_spec).long()
        return torch.where(chances < RANDOM_SHARE, drawn, actions), component


Way = Callable[[World, TeamPolicy], Evaluation]
"""Factory of evaluations of a policy in some worlds."""


def evaluate(
    config: MessengerRunConfig,
    stage: int,
    policy: TeamPolicy,
    way: Way = WithRandomMoves,
    way_where_told: Way | None = None,
) -> Tests:
    """`stage_S_SPLIT`, with or without permuted roles -> episodes of this team, then those of random play.

    `way` makes the evaluation, `way_where_told` that where the manual describes the game.
    """
    told = way_where_told or way
    ways = {name: way if PERMUTED in name else told for name in _columns(stage)}
    found = {as_tested(stage, name): _play(config, stage, policy, name, one) for name, one in ways.items()}
    chance = random_play(config, stage, config.test_episodes)
    return found | {
        dataclasses.replace(as_tested(stage, name), method=RANDOM): dict(episodes) for name, episodes in chance.items()
    }


def as_tested(stage: int, column: str) -> Tested:
    """Name of a column's test."""
    split, permuted, _ = column.partition(f"_{PERMUTED}")
    return Tested(f"stage_{stage}_{split}", PERMUTED if permuted else "")


def validate(config: MessengerRunConfig, stage: int, policy: TeamPolicy, way: Way = WithRandomMoves) -> Episodes:
    """Metrics in games and sentences of the validation split; weights are chosen by `win_rate`."""
    world = make_world(config, stage, config.valid_episodes, split="val")
    return _summed(way(world, policy).run(EVALUATION_SEED))


@functools.lru_cache(maxsize=8)
def random_play(config: MessengerRunConfig, stage: int, count: int) -> dict[str, Episodes]:
    """Column -> episodes of uniform moves; independent of the manual."""
    uniform = uniform_team(config.num_agents, len(ACTIONS))
    worlds = {name: make_world(config, stage, count, split=name) for name in _columns(stage) if PERMUTED not in name}
    return {name: _summed(Evaluation(world, uniform).run(EVALUATION_SEED)) for name, world in worlds.items()}


def _play(config: MessengerRunConfig, stage: int, policy: TeamPolicy, column: str, way: Way) -> Episodes:
    world = make_world(config, stage, config.test_episodes, **COLUMNS[column])
    return _summed(way(world, policy).run(EVALUATION_SEED))


def _columns(stage: int) -> list[str]:
    """Columns of a stage; only stage 2 has test games with new movements."""
    return [name for name in COLUMNS if stage == 2 or name != "test_se"]


def _summed(episodes: Episodes) -> Episodes:
    """`return` is the team's sum."""
    return episodes | {"return": np.asarray(episodes["return"]).sum(1)}
