"""The method `matching`: the mention-matching reader, our network, with its own settings.

It learns from reward only, by PPO with many worlds, short fragments and small minibatches. The equations are
in `rl_models/networks/mentions.py` and `matching.py`.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from rl_envs.rtfm.arena import Arena
from rl_envs.rtfm.lexicon import KIND_AGENT, YOU
from rl_models.schedule import Schedule
from tune_experiments.experiment.plan import TrialPlan
from tune_experiments.rtfm.config import MatchingRunConfig, Task, make_world
from tune_experiments.rtfm.matching_config import CHANGES, MatchingRow, MatchingSettings

if TYPE_CHECKING:
    from rl_models.losses.extra_loss import ExtraLoss
    from rl_models.networks.matching import MatchingSizes
    from rl_models.policy import TeamPolicy

MatchingRun = TypeVar("MatchingRun", bound=MatchingRunConfig)
MATCHING = "matching"
MATCHING_NOTE = (
    "methods of the mention-matching reader: our network, with its own learner and budget. "
    "It is given which names are monsters and items, and learns from reward only unless the method's name adds a loss"
)


def matching_plan(
    config: MatchingRunConfig, row: MatchingRow, seed: int, extra_losses: tuple[ExtraLoss, ...] = ()
) -> TrialPlan:
    """A method with one seed.

    Args:
        config: configuration of the run.
        row: the reader, or an ablation.
        seed: seed of the initial weights.
        extra_losses: losses in addition to the method's.
    """
    from rl_models.losses.mention_contrast import MentionContrast
    from tune_experiments.rtfm.trials import plan as plan_one

    settings: MatchingSettings = dataclasses.replace(config.matching, **CHANGES[row])
    own = as_learned(dataclasses.replace(config, matching=settings), budget_env_steps=settings.budget_env_steps)
    weight = settings.contrastive_coef
    losses = (*extra_losses, *[MentionContrast(Schedule.constant(weight))] * (weight > 0))
    build = functools.partial(build_matching, config.task, settings, seed)
    return dataclasses.replace(plan_one(own, "txt2pi", seed, losses), build_policy=build)


def as_learned(config: MatchingRun, **changes: Any) -> MatchingRun:
    """The configuration with the reader's learner and workers and other changes."""
    return dataclasses.replace(config, learner=config.matching.learner, workers=config.matching.workers, **changes)


def build_matching(task: Task, settings: MatchingSettings, seed: int) -> TeamPolicy:
    """The team with its initial weights."""
    from rl_models.teams.reader_team import ReaderTeamConfig, reader_team

    actions = make_world(task).action_spec
    assert isinstance(actions, int)
    config = ReaderTeamConfig(settings.network(), shares_network=settings.shares_network)
    return reader_team(config, matching_sizes(task), actions, seed)


def matching_sizes(task: Task) -> MatchingSizes:
    """Sizes of a task's worlds for the network: agents but the viewer, monsters and items are nodes."""
    import torch

    from rl_models.networks.matching import MatchingSizes
    from tune_experiments.rtfm.trials import sizes

    world, shared = make_world(task), sizes(task)
    assert isinstance(world, Arena)
    kinds = world.tables["name_kinds"].astype(np.int64)
    kinds[kinds < KIND_AGENT] = kinds[YOU] = 0
    (end,) = world.lexicon.encode(".")
    words = shared.vocabulary, shared.names
    return MatchingSizes(shared.num_agents, *words, torch.from_numpy(kinds), end, world.most_shown)
