"""One training run on FurnLift, built from settings, and its evaluation (A Cordial Sync, section 6)."""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rl_envs import World, make
from rl_envs.furnlift.guided import GuidedFurnLift
from rl_envs.furnlift.world import DIFFICULTIES
from rl_envs.furnmove.ithor import LABEL
from rl_envs.furnmove.room import Room
from rl_models.algorithms.configured import make_objective
from rl_models.algorithms.imitation_learning import ImitationLearning
from rl_models.algorithms.objective import Objective
from rl_models.algorithms.optimiser import optimiser_settings
from rl_models.losses.cordial import CoordinationLoss, CoordinationProbe
from rl_models.losses.extra_loss import ExtraLoss
from rl_models.losses.imitation import Imitation
from rl_models.policy import TeamPolicy
from rl_models.schedule import Schedule
from rl_models.teams.tbone_team import central_team, tbone_team
from tune_experiments.cordial_sync.config import FamilySettings
from tune_experiments.cordial_sync.evaluation import (
    EVALUATION_SEED,
    check_apart,
    coordination_set,
    has_inferred_masks,
    named_rooms,
    room_names,
)
from tune_experiments.cordial_sync.lifting_config import LAPTOP, PAPER, Family, LiftConfig
from tune_experiments.cordial_sync.trials import adapted
from tune_experiments.experiment.curriculum import Curriculum
from tune_experiments.experiment.plan import Episodes, Stage, TrialPlan, play_episodes

WARM_START, REINFORCEMENT = "warm_start", "reinforcement"


def plan(config: LiftConfig, method: Family, seed: int) -> Curriculum:
    """One method with one seed: the warm start, if it has a budget, and reinforcement learning."""
    last = Stage(name=REINFORCEMENT, plan=_reinforcement(config, method, seed))
    if not config.warm_start.budget_env_steps:
        return Curriculum((last,))
    first = Stage(
        name=WARM_START,
        plan=_warm_start(config, method, seed),
        evaluate=functools.partial(evaluate_stage, config),
    )
    return Curriculum((first, last))


def make_world(
    config: LiftConfig, rooms: str | Sequence[Room], num_worlds: int = 1, first_world: int = 0, **more: Any
) -> World:
    """Worlds in some rooms, with frames."""
    return make("furnlift-v0", num_worlds, first_world=first_world, **world_arguments(config, rooms), **more)


def world_arguments(config: LiftConfig, rooms: str | Sequence[Room]) -> dict[str, Any]:
    """Arguments of the world."""
    return {
        "rooms": rooms,
        "room_size": config.room_size,
        "max_episode_steps": config.max_episode_steps,
        "min_separation_cells": config.min_separation_cells,
        "agents_visible": config.agents_visible,
        "heading_ring": config.heading_ring,
        "bootstrap_at_limit": config.bootstrap_at_limit,
        "observations": ("frame",),
        "frame_pixels": config.frame_pixels,
    }


def guided_world(config: LiftConfig, num_worlds: int = 1, first_world: int = 0) -> World:
    """Training worlds in which the expert sometimes acts."""
    settings = config.warm_start
    return GuidedFurnLift(
        num_worlds,
        first_world,
        settings.expert_probability,
        settings.decline_episodes / config.workers.worlds,
        **world_arguments(config, config.train_rooms),
    )


def build_policy(config: LiftConfig, method: Family, seed: int) -> TeamPolicy:
    """The team of one method with its initial weights."""
    network = adapted(config.network, getattr(config, method).last_convolution, method != "no_communication")
    world = make_world(config, config.valid_rooms)
    sizes = world.num_agents, world.observation_spec["frame"].shape, int(world.action_spec)  # type: ignore[arg-type]
    if method == "central":
        return central_team(network, *sizes, seed)  # type: ignore[arg-type]
    return tbone_team(network, *sizes, config.components if method == "sync" else 1, seed)  # type: ignore[arg-type]


def _warm_start(config: LiftConfig, method: Family, seed: int) -> TrialPlan:
    objective = ImitationLearning(
        num_epochs=config.warm_start.num_epochs,
        num_minibatches=config.learner.num_minibatches,
        gradient_accumulation_steps=config.learner.gradient_accumulation_steps,
        extra_losses=_extra_losses(config, has_expert=True),
    )
    stage = config.warm_start
    worlds = functools.partial(guided_world, config)
    return _trial(config, method, seed, worlds, objective, stage.learning_rate, stage.budget_env_steps)


def _reinforcement(config: LiftConfig, method: Family, seed: int) -> TrialPlan:
    settings: FamilySettings = getattr(config, method)
    learner = config.learner
    if method == "central":
        # One probability and one value for both agents: see trials.py.
        learner = dataclasses.replace(learner, joint_ratio=True, value_coef=learner.value_coef * 2)
    objective = make_objective(
        learner,
        Schedule.constant(settings.entropy_coef),
        _extra_losses(config, config.imitation_after_warm_start),
        entropy_kind="component" if method == "central" else "marginal",
    )
    shows_expert = config.imitation_after_warm_start
    worlds = functools.partial(make_world, config, config.train_rooms, shows_expert=shows_expert)
    return _trial(config, method, seed, worlds, objective, settings.learning_rate, config.budget_env_steps)


def _trial(
    config: LiftConfig,
    method: Family,
    seed: int,
    make_world: Callable[..., World],
    objective: Objective,
    learning_rate: float,
    budget_env_steps: int,
) -> TrialPlan:
    return TrialPlan(
        make_world=make_world,
        build_policy=functools.partial(build_policy, config, method, seed),
        objective=objective,
        optimiser=optimiser_settings(config.learner, learning_rate, budget_env_steps),
        seed=seed,
        **config.plan_arguments(budget_env_steps),
        validate=functools.partial(validate, config),
    )


def _extra_losses(config: LiftConfig, has_expert: bool) -> tuple[ExtraLoss, ...]:
    coordination = coordination_set(make_world(config, config.valid_rooms))
    cordial = CoordinationLoss(coordination, Schedule.constant(config.cordial_coef))
    return (cordial, Imitation(Schedule.constant(config.imitation_coef))) if has_expert else (cordial,)


def validate(config: LiftConfig, policy: TeamPolicy) -> Episodes:
    """Validation metrics for the (dashed) curves."""
    return play(make_world(config, config.valid_rooms, config.valid_episodes), policy)


def evaluate(config: LiftConfig, policy: TeamPolicy) -> dict[str, Episodes]:
    """Results for the table: all test episodes, and those of each class of difficulty."""
    played = _play_test(config, policy)
    name, found = world_name(config), {}
    for number, difficulty in enumerate(DIFFICULTIES):
        rows = played["difficulty"] == number
        if rows.any():
            found[f"{name}-{difficulty}"] = {metric: values[rows] for metric, values in played.items()}
    return {name: played} | found


def evaluate_stage(config: LiftConfig, policy: TeamPolicy) -> dict[str, Episodes]:
    """The same test after the warm start alone."""
    return {world_name(config): _play_test(config, policy)}


def world_name(config: LiftConfig) -> str:
    """Name of the test in tables: rooms, image size, and what differs from the paper's task."""
    rooms = LABEL if has_inferred_masks(_test_rooms(config)) else config.room_size
    if config.test_rooms not in (LAPTOP.test_rooms, PAPER.test_rooms):
        rooms += f"-{Path(config.test_rooms).stem}"
    frames = f"-{config.frame_pixels}_pixel_frames"
    return f"furnlift-{rooms}{frames}{'-visible_agents' * config.agents_visible}{_separation(config)}"


def check_rooms_apart(config: LiftConfig) -> None:
    """Check that no room is used twice, else raise UserError."""
    named = {
        "--train-rooms": config.train_rooms,
        "--valid-rooms": config.valid_rooms,
        "--test-rooms": config.test_rooms,
    }
    check_apart({flag: room_names(config.room_size, (rooms,)) for flag, rooms in named.items()})


def _separation(config: LiftConfig) -> str:
    cells = config.min_separation_cells
    return "" if cells == LAPTOP.min_separation_cells else f"-{cells}_cells_apart" if cells else "-unconstrained"


def _test_rooms(config: LiftConfig) -> Sequence[Room]:
    """The named test rooms; none of a stream."""
    return named_rooms(config.room_size, (config.test_rooms,))


def _play_test(config: LiftConfig, policy: TeamPolicy) -> Episodes:
    """The test's episodes, equally many in each named room or one more."""
    rooms, episodes = _test_rooms(config), config.test_episodes
    if not rooms:
        return play(make_world(config, config.test_rooms, episodes), policy)
    ends = [episodes * number // len(rooms) for number in range(len(rooms) + 1)]
    played = [
        play(make_world(config, (room,), end - first, first_world=first), policy)
        for room, first, end in zip(rooms, ends[:-1], ends[1:], strict=True)
        if end > first
    ]
    return {name: np.concatenate([some[name] for some in played]) for name in played[0]}


def play(world: World, policy: TeamPolicy) -> Episodes:
    """Play the first episode of each world: metric -> [K] float64; `return` is the team's sum."""
    return play_episodes(world, EVALUATION_SEED, policy, probe=CoordinationProbe(coordination_set(world)))
