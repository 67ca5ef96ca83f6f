"""Small trials for the tests of the RLlib path; importable by Ray's workers."""

import time
from dataclasses import dataclass
from typing import Any

import torch

from rl_models.algorithms.optimiser import OptimiserSettings
from rl_models.algorithms.ppo import Ppo
from rl_models.rllib.config import rllib_config
from rl_models.rllib.workers import TrainingPlan, Workers
from rl_models.schedule import Schedule
from tests.rl_models.algorithms import small_qmix
from tests.rl_models.training.small import cordial, rooms, team
from tests.timeouts import TIMEOUT_SECONDS


def build_team(components=3):
    torch.set_num_threads(1)
    return team(components)


def make_rooms(num_worlds, first_world):
    return rooms(num_worlds, first_world)


def objective(kind, **arguments):
    return kind(extra_losses=(cordial(rooms(1)),), **arguments)


@dataclass
class Plan:
    """What `TeamAlgorithm` wants."""

    objective: Any
    workers: Workers
    make_world: Any = make_rooms
    build_policy: Any = build_team
    optimiser: Any = OptimiserSettings()  # noqa: RUF009 (frozen)
    seed: int = 3

    new_policy = TrainingPlan.new_policy


def plan(
    kind=Ppo, runners=0, worlds=6, length=10, learners=0, aggregators=0, groups=1, optimiser=Plan.optimiser, **arguments
):
    workers = Workers(
        runners=runners,
        worlds_per_runner=worlds,
        world_groups=groups,
        fragment_length=length,
        learners=learners,
        aggregators=aggregators,
    )
    return Plan(objective(kind, **arguments), workers, optimiser=optimiser)


def build_q_team():
    torch.set_num_threads(1)
    return small_qmix.room_team(epsilon=1.0)


def qmix_plan(worlds=6, learners=0):
    objective = small_qmix.objective(epsilon=Schedule.linear(1.0, 0.0, 144))
    workers = Workers(worlds_per_runner=worlds, fragment_length=12, learners=learners)
    return Plan(objective, workers, small_qmix.rooms, build_q_team)


def config_of(one):
    return rllib_config(
        make_world=one.make_world,
        build_policy=one.build_policy,
        objective=one.objective,
        optimiser=one.optimiser,
        workers=one.workers,
        seed=one.seed,
    )


def train_until_learned(one, env_steps):
    """Train until so many env steps were learned from; the last numbers logged."""
    row, start = {}, time.monotonic()
    while one.progress().env_steps < env_steps:
        assert time.monotonic() - start < TIMEOUT_SECONDS, f"stuck at {one.progress()}"
        row |= one.train()
    return row
