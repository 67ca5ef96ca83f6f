"""The row `qmix` in multi-agent RTFM: a joint learner that reads no document, beside EnDi's independent readers.

Worlds, budgets, validation and tests are those of the other rows.
"""

from __future__ import annotations

import dataclasses
import functools

from rl_models.algorithms.optimiser import OptimiserSettings
from rl_models.algorithms.qmix import Qmix
from rl_models.networks.qmix_encoders import RoomConfig
from rl_models.policy import TeamPolicy
from rl_models.rllib.workers import Workers
from rl_models.schedule import Schedule
from rl_models.teams.qmix_team import PAPER_OPTIMISER, QmixConfig, qmix_room_team
from tune_experiments.endi.qmix_config import QmixSettings
from tune_experiments.endi.rtfm_config import EndiRtfmConfig
from tune_experiments.experiment.plan import TrialPlan
from tune_experiments.rtfm.config import make_world
from tune_experiments.rtfm.trials import sizes

QMIX = "qmix"


def qmix_stage(config: EndiRtfmConfig, seed: int, stage: TrialPlan) -> TrialPlan:
    """A stage of the other rows, learned by QMIX.

    Args:
        config: of the run.
        seed: of the initial weights.
        stage: what is played, validated and kept, and for how long.
    """
    return dataclasses.replace(
        stage,
        build_policy=functools.partial(build_policy, config, seed),
        objective=_objective(config.qmix, config.learner.gamma, config.workers),
        optimiser=_optimiser(config.qmix, config.learner.final_learning_rate_share, stage.budget_env_steps),
    )


def build_policy(config: EndiRtfmConfig, seed: int) -> TeamPolicy:
    """The team with its initial weights."""
    actions, side = make_world(config.task).action_spec, config.task.size
    assert isinstance(actions, int)
    return qmix_room_team(_team(config.qmix), sizes(config.task), (side, side), actions, seed)


def _team(settings: QmixSettings) -> QmixConfig:
    room = RoomConfig(settings.word_features, settings.cell_features, sees_goal=settings.sees_goal)
    return QmixConfig(room, settings.hidden_size, settings.mixing_hidden_size)


def _objective(settings: QmixSettings, gamma: float, workers: Workers) -> Qmix:
    worlds = max(workers.runners, 1) * workers.worlds_per_runner
    return Qmix(
        gamma=gamma,
        epsilon=Schedule.linear(1.0, settings.final_epsilon, settings.epsilon_env_steps),
        capacity=settings.capacity,
        fragments=settings.fragments,
        updates=max(1, worlds * workers.fragment_length // settings.env_steps_per_update),
        target_every_updates=settings.target_every_updates,
        texts=_team(settings).texts,
    )


def _optimiser(settings: QmixSettings, final_share: float, budget_env_steps: int) -> OptimiserSettings:
    constants = PAPER_OPTIMISER if settings.optimiser == "rmsprop" else OptimiserSettings()
    rate = Schedule.linear(settings.learning_rate, settings.learning_rate * final_share, budget_env_steps)
    return dataclasses.replace(constants, learning_rate=rate, clip=settings.clip_gradient)
