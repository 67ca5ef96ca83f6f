"""From settings to one training run: worlds, team, loss, optimiser."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import torch

from rl_models.algorithms.objective import Impala, Objective, Ppo
from rl_models.algorithms.optimiser import OptimiserSettings
from rl_models.networks.reading import Sizes
from rl_models.policy import TeamPolicy
from rl_models.schedule import Schedule
from rl_models.teams.reader_team import reading_team
from tune_experiments.experiment.plan import TrialPlan
from tune_experiments.rtfm.config import LearnerSettings, MethodName, RunConfig, Task, make_world
from tune_experiments.rtfm.evaluation import validate
from tune_experiments.rtfm.methods import team_config

_RMSPROP_ALPHA = 0.99


def plan(config: RunConfig, method: MethodName, seed: int) -> TrialPlan:
    """One method with one seed."""
    return TrialPlan(
        make_world=functools.partial(make_world, config.task),
        build_policy=functools.partial(build_policy, config, method, seed),
        objective=_objective(config.learner),
        optimiser=_optimiser(config.learner, config.budget_env_steps),
        workers=config.workers,
        seed=seed,
        budget_env_steps=config.budget_env_steps,
        validate_every_env_steps=config.validate_every_env_steps,
        checkpoint_every_env_steps=config.checkpoint_every_env_steps,
        validate=functools.partial(validate, config),
    )


def build_policy(config: RunConfig, method: MethodName, seed: int) -> TeamPolicy:
    """The team of one method with its initial weights."""
    world = make_world(config.task)
    action_spec = world.action_spec
    assert isinstance(action_spec, int)
    return reading_team(team_config(method, config.network), sizes(config.task), action_spec, seed)


def sizes(task: Task) -> Sizes:
    """What a reading network must know of a task's worlds."""
    world = make_world(task)
    names = torch.from_numpy(world.tables["name_words"].astype(np.int64))
    return Sizes(world.num_agents, world.text_spec["document"].vocabulary, names)


def _objective(learner: LearnerSettings) -> Objective:
    shared: dict[str, Any] = {
        "gamma": learner.gamma,
        "value_weight": learner.value_weight,
        "entropy_weight": Schedule.constant(learner.entropy_weight),
    }
    if learner.algorithm == "impala":
        return Impala(**shared, sums_steps=True)
    epochs, minibatches = learner.epochs, learner.minibatches
    return Ppo(**shared, lambda_=learner.lambda_, clip=learner.clip, epochs=epochs, minibatches=minibatches)


def _optimiser(learner: LearnerSettings, budget_env_steps: int) -> OptimiserSettings:
    start = learner.learning_rate
    return OptimiserSettings(
        kind=learner.optimiser,
        learning_rate=Schedule.linear(start, start * learner.final_learning_rate_share, budget_env_steps),
        epsilon=learner.epsilon,
        betas=(0.9, _RMSPROP_ALPHA if learner.optimiser == "rmsprop" else 0.999),
        clip=learner.clip_gradient,
    )
