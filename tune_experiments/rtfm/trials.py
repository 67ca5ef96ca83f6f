"""One training run, built from settings: worlds, team, loss, optimiser."""

from __future__ import annotations

import functools

import numpy as np
import torch

from rl_envs.rtfm.arena import Arena
from rl_models.algorithms.configured import make_objective
from rl_models.algorithms.optimiser import optimiser_settings
from rl_models.losses.extra_loss import ExtraLoss
from rl_models.networks.reading import ReadingSizes
from rl_models.policy import TeamPolicy
from rl_models.teams.reader_team import reader_team
from rl_models.text.token_states import WordStates
from tune_experiments.experiment.plan import TrialPlan
from tune_experiments.rtfm.config import MethodName, RunConfig, Task, make_world
from tune_experiments.rtfm.evaluation import validate
from tune_experiments.rtfm.methods import team_config


def plan(config: RunConfig, method: MethodName, seed: int, extra_losses: tuple[ExtraLoss, ...] = ()) -> TrialPlan:
    """One method with one seed."""
    learner, budget = config.learner, config.budget_env_steps
    return TrialPlan(
        make_world=functools.partial(make_world, config.task),
        build_policy=functools.partial(build_policy, config, method, seed),
        objective=make_objective(learner, learner.entropy_schedule(budget), extra_losses),
        optimiser=optimiser_settings(learner, learner.learning_rate, budget),
        seed=seed,
        **config.plan_arguments(),
        validate=functools.partial(validate, config),
    )


def build_policy(config: RunConfig, method: MethodName, seed: int) -> TeamPolicy:
    """The team of one method with its initial weights."""
    world = make_world(config.task)
    action_spec = world.action_spec
    assert isinstance(action_spec, int)
    return reader_team(
        team_config(method, config.network), sizes(config.task, config.network.text_encoder), action_spec, seed
    )


def sizes(task: Task, text_encoder: str = "") -> ReadingSizes:
    """Sizes of a task's worlds for a reading network, whose words are learned or read by a frozen encoder."""
    world = make_world(task)
    assert isinstance(world, Arena)
    names = torch.from_numpy(world.tables["name_words"].astype(np.int64))
    states = functools.partial(WordStates, text_encoder, world.vocabulary) if text_encoder else None
    return ReadingSizes(world.num_agents, len(world.vocabulary), names, make_states=states)
