"""The teams that learn in the salad kitchen: two cooks on one language model, or two with vector observations."""

from __future__ import annotations

import dataclasses
import functools
from pathlib import Path
from typing import Literal

from rl_envs.salad.narrator import Narrator
from rl_models.llm.base_model import LanguageModelError
from rl_models.llm.llm_config import Normalisation
from rl_models.policy import TeamPolicy
from rl_models.teams.llm_team import language_team
from rl_models.teams.vector_team import vector_team
from tune_experiments.core.errors import UserError
from tune_experiments.verco.config import VercoConfig, make_world
from tune_experiments.verco.supervised_data import corpus

Heard = Literal["messages", "silence", "shuffled"]


def language_policy(
    config: VercoConfig,
    seed: int,
    trial_folder: Path | None = None,
    heard: Heard = "messages",
    normalisation: Normalisation | None = None,
) -> TeamPolicy:
    """Two cooks on one language model.

    Args:
        config: configuration of the run.
        seed: seed of the initial weights.
        trial_folder: folder of the small model.
        heard: messages that agents receive, as in `MessageSettings`.
        normalisation: divisor of an action's log-probability; None: the run's.

    Raises:
        UserError: the model cannot be loaded.
    """
    team = config.language_team(trial_folder)
    messages = dataclasses.replace(team.messages, heard=heard)
    team = dataclasses.replace(team, messages=messages, normalisation=normalisation or team.normalisation)
    world = make_world(config)
    try:
        return language_team(
            team,
            Narrator(world),
            world.num_agents,
            len(world.macros),
            functools.partial(corpus, config),
            seed,
        )
    except LanguageModelError as error:
        raise UserError(str(error)) from error


def symbolic_policy(config: VercoConfig, seed: int, trial_folder: Path | None = None, rounds: int = 0) -> TeamPolicy:
    """Two cooks with vector observations."""
    world = make_world(config)
    scale = world.tables["vector_scale"].tolist()
    return vector_team(config.symbolic, world.num_agents, scale, len(world.macros), rounds, seed)
