"""Tests on MESSENGER: training games, new games in new sentences, and permuted roles, beside random play.

As published, an evaluated team takes greedy actions with 5 % random ones among them, and episodes have the
time limits of training. With permuted roles the manual describes another game with the same three entities: a policy
that reads must lose there, but not one that has memorised the entities. Random play is uniform.

`ReadingEvaluation` tells failures of reading from those of control: a metric for each entity is the share of an
episode's time steps in which its sprite attends most to its own sentence, that about its symbol in its role (a manual
calls decoys enemies). A sprite counts while it is alone in its cell. The team does not observe any of it.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rl_envs.core.world import World
from rl_envs.messenger.symbols import ACTIONS, ENEMY, FIRST_ENTITY, GOAL, MESSAGE, SIDE
from rl_envs.messenger.world import Messenger
from rl_models.distributions.joint_policy import JointActions, JointPolicy
from rl_models.policy import TeamOutput, TeamPolicy
from rl_models.team_world import Array
from rl_models.teams.constant_team import uniform_team
from rl_models.training.evaluation import Evaluation
from tune_experiments.experiment.plan import RANDOM, Episodes, Tested, Tests
from tune_experiments.messenger.config import MessengerRunConfig, corpus_of_run, make_world

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
GIVEN_ROLES = {
    "reads_enemy": ENEMY,
    "reads_message": MESSAGE,
    "reads_goal": GOAL,
    "reads_message_decoy": ENEMY,
    "reads_goal_decoy": ENEMY,
}
"""Metric of each entity, in the world's order -> the role that a manual gives it."""
_RIGHT, _COUNTED = "_right", "_counted"


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


class ReadingEvaluation(WithRandomMoves):
    """An evaluation with the additional metrics of `GIVEN_ROLES`."""

    world: Messenger

    def __init__(self, about: Array, world: Messenger, policy: TeamPolicy) -> None:
        """Set up the evaluation of a team that reads; `about` [D, 3] int64: entity, role, movement of each sentence."""
        super().__init__(world, policy, self.readings)
        self._about = about

    def run(self, seed: int, episodes_per_world: int = 1) -> dict[str, Array]:
        """See `Evaluation.run`; a reading's metric is [K], without the episodes in which its sprite never counts."""
        network: Any = self.policy.network
        before, network.shows_attention = network.shows_attention, True
        try:
            episodes = super().run(seed, episodes_per_world)
        finally:
            network.shows_attention = before
        right, counted = (episodes.pop(name).T for name in (_RIGHT, _COUNTED))
        names = list(GIVEN_ROLES)[: len(counted)]
        return episodes | {
            name: own[here > 0] / here[here > 0] for name, own, here in zip(names, right, counted, strict=True)
        }

    def readings(self, output: TeamOutput, obs: dict[str, Tensor]) -> dict[str, Tensor]:
        """Whether each entity's sprite counts, and attends most to its own sentence, [B, 1, E] bool each.

        `obs` is name -> [B, 1, N, ...].
        """
        state = self.world.state
        attended = output.extras["attention/manual"][:, 0, 0].argmax(-1).cpu().numpy()
        symbols, cells = (obs[name][:, 0, 0, -1].cpu().numpy() for name in ("symbols", "cells"))
        row, column = np.moveaxis(state["entity_places"] >> 1, -1, 0)
        here = (row * SIDE + column)[:, :, None] == cells[:, None]
        own = here & (state["entity_symbols"][:, :, None] == symbols[:, None])
        counts = state["entity_here"] & ((here & (symbols > 0)[:, None]).sum(-1) == 1) & own.any(-1)
        sentence = np.take_along_axis(attended, own.argmax(-1), 1)
        about = self._about[np.take_along_axis(obs["manual"][:, 0, 0].cpu().numpy().astype(np.int64), sentence, 1)]
        roles = np.array(list(GIVEN_ROLES.values()))[: counts.shape[1]]
        is_own = (about[..., 0] + FIRST_ENTITY == state["entity_symbols"]) & (about[..., 1] == roles)
        found = {_COUNTED: counts, _RIGHT: counts & is_own}
        return {name: torch.from_numpy(value)[:, None] for name, value in found.items()}


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


def evaluate_reading(config: MessengerRunConfig, stage: int, policy: TeamPolicy) -> Tests:
    """See `evaluate`; also the sprites' attention where the manual describes the game."""
    corpus, _ = corpus_of_run(config)
    return evaluate(config, stage, policy, way_where_told=functools.partial(ReadingEvaluation, corpus.about))
