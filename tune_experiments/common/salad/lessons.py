"""What language teams read before they act: the small model's corpus, and lessons of a teacher for the message adapter.

Both come from play of scripted cooks that often err, in worlds that training does not use.
"""

from __future__ import annotations

import functools

from rl_envs.salad.corpus import Teacher, listen
from rl_envs.salad.tasks import TASKS
from rl_models.language_policy.distillation import Pair
from tune_experiments.common.salad.config import (
    FIRST_WORLD_OF_LESSONS,
    LessonSettings,
    VercoConfig,
    make_kitchens,
    make_world,
)

_CORPUS_SEED = 0
"""Of the corpus, whatever the run's: one small model serves all runs."""


@functools.lru_cache(4)
def corpus(settings: LessonSettings) -> tuple[str, ...]:
    """Texts of all tasks, the same in every process."""
    texts: list[str] = []
    for task in TASKS:
        world = make_kitchens(task, settings.worlds, FIRST_WORLD_OF_LESSONS)
        texts += listen(world, settings.env_steps, seed=_CORPUS_SEED, error=settings.error).texts()
    return tuple(texts)


def lesson(config: VercoConfig, seed: int, number: int, teacher: Teacher | None = None) -> list[Pair]:
    """Prompts of speakers and what their teacher writes, from one round of play.

    Args:
        config: task and settings of lessons.
        seed: of the run.
        number: of the round, from 0.
        teacher: who writes; the scripted one by default.
    """
    settings = config.lessons
    world = make_world(config, settings.worlds, FIRST_WORLD_OF_LESSONS + (number + 1) * settings.worlds)
    heard = listen(world, settings.env_steps, seed=seed, error=settings.error, teacher=teacher)
    return list(heard.messages)
