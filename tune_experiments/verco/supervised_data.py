"""What language teams read before they act: the small model's corpus, and lessons of a teacher for the message adapter.

The corpus comes from play of scripted cooks that often err; lessons from theirs, too, or from that of the team itself,
which has not learned to act yet (Verco, section 4.2). All of it in worlds that training does not use.
"""

from __future__ import annotations

import functools

import numpy as np

from rl_envs.salad.corpus import Teacher, collect_corpus
from rl_envs.salad.narrator import Narrator
from rl_envs.salad.tasks import READ
from rl_envs.salad.teacher import messages
from rl_envs.salad.world import Salad
from rl_models.llm.distillation import Pair
from rl_models.policy import TeamPolicy
from rl_models.training.collector import Collector
from tune_experiments.verco.config import (
    FIRST_WORLD_OF_LESSONS,
    CorpusSettings,
    VercoConfig,
    make_kitchens,
    make_world,
)

_CORPUS_SEED = 0
"""Of the corpus, whatever the run's: one small model serves all runs."""


@functools.lru_cache(4)
def corpus(settings: CorpusSettings) -> tuple[Pair, ...]:
    """What is said and done in the tasks to be read about, the same in every process."""
    pairs: list[Pair] = []
    for task in READ:
        world = make_kitchens(task, settings.worlds, FIRST_WORLD_OF_LESSONS)
        pairs += collect_corpus(
            world,
            settings.env_steps,
            seed=_CORPUS_SEED,
            error=settings.error,
            sense=settings.sense,
            heed=settings.heed,
        ).pairs()
    return tuple(pairs)


def lesson(config: VercoConfig, seed: int, number: int, teacher: Teacher | None = None) -> list[Pair]:
    """Prompts of speakers and what their teacher writes, from one round of play of scripted cooks.

    Args:
        config: task and settings of lessons.
        seed: of the run.
        number: of the round, from 0.
        teacher: who writes; the scripted one by default.
    """
    settings = config.lessons
    world = _world_of(config, number)
    heard = collect_corpus(world, settings.env_steps, seed=seed, error=settings.error, teacher=teacher)
    return list(heard.messages)


def lesson_of_policy(
    config: VercoConfig, policy: TeamPolicy, seed: int, number: int, teacher: Teacher | None = None
) -> list[Pair]:
    """The same about play of a team, whose members hear what their message adapter writes by now.

    Args:
        config: as above.
        policy: who plays.
        seed: as above.
        number: as above.
        teacher: as above.
    """
    world = _world_of(config, number)
    narrator, collector = Narrator(world), Collector(world, policy, fragment_length=1, needs_values=False)
    collector.reset(seed)
    spoken: dict[Pair, None] = {}
    for _ in range(config.lessons.env_steps):
        said, codes = messages(world), world.observe()["situation"]
        told = said if teacher is None else teacher(codes, said)
        for row, agent in np.ndindex(codes.shape[:2]):
            spoken[narrator.message_prompt(codes[row, agent]), told[row][agent]] = None
        collector.collect()
    return list(spoken)


def _world_of(config: VercoConfig, number: int) -> Salad:
    """Kitchens of a round."""
    worlds = config.lessons.worlds
    return make_world(config, worlds, FIRST_WORLD_OF_LESSONS + (number + 1) * worlds)
