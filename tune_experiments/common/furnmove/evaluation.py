"""The paper's protocol on Gridworld-FurnMove: fixed starts in rooms apart, actions sampled, six metrics.

Every method and seed meets the same starts. A validation is the same with other rooms.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from rl_envs import World, make
from rl_envs.furnmove.room import Room
from rl_envs.furnmove.splits import resolve_rooms
from rl_envs.furnmove.start_file import load_starts
from rl_envs.furnmove.starts import Starts, make_starts
from rl_models.distributions.joint_policy import as_whole_joint
from rl_models.losses.cordial import CoordinationSet, CordialForm
from rl_models.team_policy import TeamOutput, TeamPolicy
from rl_models.training.coordination import CoordinationProbe
from rl_models.training.evaluation import Evaluation
from tune_experiments.common.experiment import Episodes
from tune_experiments.common.furnmove.config import Config

EVALUATION_SEED = 229
"""Of every evaluation: with the starts it fixes all chance that the policy draws from."""


def test(config: Config, policy: TeamPolicy) -> dict[str, Episodes]:
    """The table's numbers."""
    return {f"furnmove-{config.room_size}": evaluate(config, test_starts(config), policy)}


def validate(config: Config, policy: TeamPolicy) -> Episodes:
    """A point of the dashed curves."""
    return evaluate(config, valid_starts(config), policy)


def evaluate(config: Config, starts: Starts, policy: TeamPolicy) -> Episodes:
    """Play one episode from each start and keep the paper's metrics.

    Args:
        config: agents and horizon.
        starts: where the K episodes begin.
        policy: who plays.

    Returns:
        metric -> [K]; `return` is the team's sum. `_joint_policy` is the mean joint policy, [A, A].
    """
    world = world_from(config, starts, len(starts))
    played = Evaluation(world, policy, FurnMoveProbe(coordination_set(world))).run(EVALUATION_SEED)
    played["return"] = played["return"].sum(-1)
    return {name: value.mean(0) if name[0] == "_" else value for name, value in played.items()}


def test_starts(config: Config) -> Starts:
    """The file that the configuration names, else those that the rule gives."""
    if config.test_starts:
        return load_starts(config.test_starts, rooms_named(config.room_size, config.test_rooms))
    return _starts(config, config.test_rooms, config.test_starts_per_room)


def valid_starts(config: Config) -> Starts:
    """Where validation episodes begin."""
    return _starts(config, config.valid_rooms, config.valid_starts_per_room)


def rooms_named(room_size: str, words: Sequence[str]) -> tuple[Room, ...]:
    """The rooms of all these words, in order."""
    return tuple(room for word in words for room in resolve_rooms(word, room_size))


def world_from(config: Config, starts: Starts, num_worlds: int) -> World:
    """Worlds that begin at these starts, the first at the first."""
    steps, agents = config.max_episode_steps, config.num_agents
    return make("furnmove-v0", num_worlds, starts=starts, num_agents=agents, max_episode_steps=steps)


def _starts(config: Config, words: tuple[str, ...], per_room: int) -> Starts:
    return _made_starts(config.room_size, config.num_agents, words, per_room)


@functools.lru_cache(maxsize=4)
def _made_starts(room_size: str, num_agents: int, words: tuple[str, ...], per_room: int) -> Starts:
    return make_starts(rooms_named(room_size, words), num_agents, per_room)


def sizes(world: World) -> dict[str, Any]:
    """What a network must know of a FurnMove world."""
    view = world.observation_spec["view"].shape
    return {"num_agents": world.num_agents, "view": view, "actions": world.action_spec}


def coordination_set(world: World, form: CordialForm = "code") -> CoordinationSet:
    """Coordination sets of a FurnMove world; the code's form of CORDIAL averages navigation apart from the rest."""
    actions = torch.from_numpy(world.tables["coordinated_actions"])
    moves_object = torch.from_numpy((world.tables["coordinated_modality"] > 0).astype(np.int64))
    return CoordinationSet(actions, moves_object.expand(actions.shape[:2]), form)


class FurnMoveProbe(CoordinationProbe):
    """The paper's policy metrics, and what the first two agents do together (figures 5 and 13).

    The paper counts the joint actions that were tried; their expectation, the joint policy itself, has less noise.
    """

    def __call__(self, output: TeamOutput, obs: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """[B, 1] each, and `_joint_policy` [B, 1, A, A]."""
        joint = as_whole_joint(output.policy).joint()
        others = tuple(range(4, joint.ndim))
        return super().__call__(output, obs) | {"_joint_policy": joint.sum(others) if others else joint}
