"""The row `qmix` in multi-agent RTFM: a joint learner that reads no document, beside EnDi's independent readers.

Worlds, budgets, validation and tests are those of the other rows.
"""

from __future__ import annotations

import dataclasses
import functools

from rl_models.algorithms.optimiser import optimiser_settings
from rl_models.algorithms.qmix import qmix_objective
from rl_models.networks.qmix_encoders import RoomConfig
from rl_models.policy import TeamPolicy
from rl_models.teams.qmix_team import QmixConfig, qmix_room_team
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
    batch = config.workers.worlds * config.workers.fragment_length
    return dataclasses.replace(
        stage,
        build_policy=functools.partial(build_policy, config, seed),
        objective=qmix_objective(config.qmix, config.learner.gamma, batch, _team(config.qmix).texts),
        optimiser=optimiser_settings(config.qmix, config.qmix.learning_rate, stage.budget_env_steps),
    )


def build_policy(config: EndiRtfmConfig, seed: int) -> TeamPolicy:
    """The team with its initial weights."""
    actions, side = make_world(config.task).action_spec, config.task.size
    assert isinstance(actions, int)
    return qmix_room_team(_team(config.qmix), sizes(config.task), (side, side), actions, seed)


def _team(settings: QmixSettings) -> QmixConfig:
    room = RoomConfig(settings.word_features, settings.cell_features, sees_goal=settings.sees_goal)
    return QmixConfig(room, settings.hidden_size, settings.mixing_hidden_size)
