"""The teams that learn in the salad kitchen, and a kitchen with the scripted teacher's messages instead of theirs."""

import dataclasses
import functools
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rl_envs.core.spec import Array, Arrays, ArraySpec
from rl_envs.salad.tasks import TASKS
from rl_envs.salad.teacher import all_messages, messages
from rl_envs.salad.text import Narrator
from rl_envs.salad.world import Salad
from rl_models.llm.base_model import LanguageModelError
from rl_models.llm.llm_config import Normalisation
from rl_models.llm.messages import Writer
from rl_models.llm.network import LanguageNetwork
from rl_models.policy import TeamPolicy
from rl_models.runtime.added_observations import MESSAGES
from rl_models.teams.llm_team import language_team
from rl_models.teams.vector_team import vector_team
from tune_experiments.core.errors import UserError
from tune_experiments.verco.config import VercoConfig, make_world
from tune_experiments.verco.supervised_stages import corpus

Heard = Literal["messages", "silence", "shuffled"]


def language_policy(
    config: VercoConfig,
    seed: int,
    trial_folder: Path | None = None,
    heard: Heard = "messages",
    normalisation: Normalisation | None = None,
) -> TeamPolicy:
    """Two cooks on one language model, a small one from the trial's folder; a UserError if it cannot be loaded.

    `heard` is as in `MessageSettings`; `normalisation` is the divisor of an action's log-probability, or None for the
    run's.
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


class TaughtSalad(Salad):
    """The same game with one more observation: token ids of the teacher's message for every agent."""

    def __init__(self, num_worlds: int, first_world: int, ids: dict[str, Array], **arguments: Any) -> None:
        """Prepare the worlds; `ids` are the token ids [L] of every message of the teacher's grammar."""
        self._ids = ids
        super().__init__(num_worlds, first_world, **arguments)

    def _specs(self) -> dict[str, ArraySpec]:
        shape = next(iter(self._ids.values())).shape
        highest = int(max(ids.max() for ids in self._ids.values()))
        spec = ArraySpec(shape, "int32", -1, highest, "token ids of the agent's message, -1 after the end")
        return super()._specs() | {MESSAGES: spec}

    def _observe(self, rows: Array) -> Arrays:
        sent = messages(self)
        ids = np.array([[self._ids[message] for message in sent[row]] for row in rows], np.int32)
        width = self.observation_spec[MESSAGES].shape
        return super()._observe(rows) | {MESSAGES: ids.reshape(len(rows), self.num_agents, *width)}


def taught_world(config: VercoConfig, writer: Writer, num_worlds: int = 1, first_world: int = 0) -> TaughtSalad:
    """Kitchens of a run with a teacher whose messages are written in `writer`'s tokens."""
    texts = all_messages()
    ids = dict(zip(texts, writer.from_texts(texts), strict=True))
    return TaughtSalad(num_worlds, first_world, ids, **TASKS[config.task] | config.changes)


def make_taught_world(
    config: VercoConfig, trial_folder: Path | None, num_worlds: int = 1, first_world: int = 0
) -> TaughtSalad:
    """The same for a trial without its team."""
    return taught_world(config, get_writer(language_policy(config, 0, trial_folder)), num_worlds, first_world)


def get_writer(policy: TeamPolicy) -> Writer:
    """Writer of the messages of a language team."""
    assert isinstance(policy.network, LanguageNetwork)
    return policy.network.writer
