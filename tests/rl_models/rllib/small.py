"""Small trials for the tests of the RLlib path; importable by Ray's workers."""

import functools
import time

import torch

from rl_models.algorithms.optimiser import OptimiserSettings
from rl_models.algorithms.ppo import Ppo
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


trial = functools.partial(
    TrainingPlan, make_world=make_rooms, build_policy=build_team, optimiser=OptimiserSettings(), seed=3
)


def plan(kind=Ppo, runners=0, worlds=6, length=10, learners=0, aggregators=0, groups=1, optimiser=None, **arguments):
    workers = Workers(
        runners=runners,
        worlds_per_runner=worlds,
        world_groups=groups,
        fragment_length=length,
        learners=learners,
        aggregators=aggregators,
    )
    return trial(objective=objective(kind, **arguments), workers=workers, optimiser=optimiser or OptimiserSettings())


def build_q_team():
    torch.set_num_threads(1)
    return small_qmix.room_team(epsilon=1.0)


def qmix_plan(worlds=6, learners=0):
    learned = small_qmix.objective(epsilon=Schedule.linear(1.0, 0.0, 144))
    workers = Workers(worlds_per_runner=worlds, fragment_length=12, learners=learners)
    return trial(objective=learned, workers=workers, make_world=small_qmix.rooms, build_policy=build_q_team)


def train_until_learned(one, env_steps):
    """Train until so many env steps were learned from; the last numbers logged."""
    row, start = {}, time.monotonic()
    while one.progress().env_steps < env_steps:
        assert time.monotonic() - start < TIMEOUT_SECONDS, f"stuck at {one.progress()}"
        row |= one.train()
    return row
