"""One training run of a role method in Overcooked, built from settings (QMIX, ROMA, LDSA, MASER).

A chef observes the flattened planes of the whole kitchen, as in SAMA's text. Shaped points keep their weight
in all of training, because a replay holds old rewards.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import cast

from rl_envs.overcooked.words import ACTIONS
from rl_models.algorithms.objective import Objective
from rl_models.algorithms.optimiser import optimiser_settings
from rl_models.algorithms.qmix import qmix_objective
from rl_models.algorithms.role_objectives import role_objective
from rl_models.networks.qmix_encoders import FirstAgentState, VectorEncoder
from rl_models.networks.role_team_config import RoleMethod
from rl_models.policy import TeamPolicy
from rl_models.teams.constant_team import uniform_team
from rl_models.teams.role_team import role_team
from tune_experiments.experiment.plan import RANDOM, Episodes, Tested, Tests, TrialPlan
from tune_experiments.overcooked.config import make_world
from tune_experiments.overcooked.evaluation import EVALUATION_SEED, VALIDATION_SEED, play_team
from tune_experiments.overcooked.evaluation import evaluate as evaluate_ppo
from tune_experiments.overcooked.role_config import ALL_Q_METHODS, SPARSE, OvercookedRolesConfig
from tune_experiments.overcooked.trials import MethodParts, make_plan
from tune_experiments.overcooked.trials import plan as plan_ppo

SAMPLED = "reward_sampled"
"""Metric: reward of an episode whose actions are sampled."""
_PLANES = "lossless"


def plan(config: OvercookedRolesConfig, row: str, seed: int) -> TrialPlan:
    """One method with one seed."""
    if row not in ALL_Q_METHODS:
        return plan_ppo(config, row, seed)
    method = cast(RoleMethod, row.removesuffix(SPARSE))
    learner, workers = config.learner_settings(method), config.worker_settings(method)
    own = MethodParts(
        make_world=make_world,
        is_shaped=False,  # its weight would fall
        world={} if row.endswith(SPARSE) else {"shaping": 1.0},
        build_policy=functools.partial(build_team, method=method),
        objective=functools.partial(build_objective, method=method),
    )
    return dataclasses.replace(
        make_plan(config, own, seed),
        optimiser=optimiser_settings(learner, learner.learning_rate, config.budget_env_steps),
        workers=workers,
        validate=functools.partial(play, config, config.valid_episodes, seed=VALIDATION_SEED),
        kept_checkpoints=1,  # each holds the replay
    )


def build_team(config: OvercookedRolesConfig, seed: int, *, method: RoleMethod) -> TeamPolicy:
    """The team of a method with its initial weights."""
    world = make_world(config)
    planes = math.prod(world.observation_spec[_PLANES].shape)
    encoder, state = VectorEncoder(_PLANES, planes), FirstAgentState(_PLANES, planes)
    return role_team(config.roles.team, method, encoder, state, world.num_agents, len(ACTIONS), seed)


def build_objective(config: OvercookedRolesConfig, *, method: RoleMethod) -> Objective:
    """Objective that a method minimises."""
    learner, workers = config.learner_settings(method), config.worker_settings(method)
    qmix = qmix_objective(learner, learner.gamma, workers.env_steps_of_update)
    return role_objective(config.roles.team, method, qmix)


def play(config: OvercookedRolesConfig, episodes: int, policy: TeamPolicy, seed: int = EVALUATION_SEED) -> Episodes:
    """Episodes with greedy actions, and each agent's mean role or most probable sub-task; metrics as `play_team`."""
    return play_team(make_world(config, episodes), policy, is_greedy=True, draws_noise=False, seed=seed)


def evaluate(config: OvercookedRolesConfig, policy: TeamPolicy) -> Tests:
    """Results for the table of a Q-learning method, and of uniform actions.

    A kitchen is deterministic, so all greedy episodes are equal. `reward_sampled` is that of episodes with the last
    epsilon of training, as self-play is tested with sampled actions.
    """
    uniform = uniform_team(policy.num_agents, len(ACTIONS))
    random = play_team(make_world(config, config.test_episodes), uniform)
    sampled = play_team(make_world(config, config.test_episodes), policy, draws_noise=False)
    played = play(config, config.test_episodes, policy) | {SAMPLED: sampled["reward"]}
    random |= {SAMPLED: random["reward"]}
    return {Tested(config.task): played, Tested(config.task, method=RANDOM): random}


def evaluate_sampled(config: OvercookedRolesConfig, policy: TeamPolicy) -> Tests:
    """The same for a method that is tested with sampled actions only."""
    return {test: played | {SAMPLED: played["reward"]} for test, played in evaluate_ppo(config, policy).items()}
