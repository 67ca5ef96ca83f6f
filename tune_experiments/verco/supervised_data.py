"""Supervised data: the small model's corpus, and a teacher's messages for the message adapter.

The corpus is from rollouts of scripted cooks with errors in generated kitchens, never in a tested one. The warm start
is from rollouts in the run's own kitchen, by such cooks or by the team before it learns to act (Verco, section 4.2).
Prompts that test the message adapter are left out of both. All worlds differ from those of training.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np

from rl_envs.salad.corpus import Corpus, Decisions, PlayOptions, Teacher, collect_corpus, collect_decisions
from rl_envs.salad.narrator import Narrator
from rl_envs.salad.procedural import procedural_kitchen
from rl_envs.salad.teacher import messages
from rl_envs.salad.world import Salad
from rl_models.llm.distillation import Pair, is_held_out
from rl_models.policy import TeamPolicy
from rl_models.training.collector import Collector
from tune_experiments.verco.config import (
    FIRST_WARM_START_WORLD,
    CorpusSettings,
    VercoConfig,
    make_world,
    salad_world,
)

_CORPUS_SEED = 0
"""Seed of the corpus, the same for all runs, so that they share one small model."""


@functools.lru_cache(4)
def _read(settings: CorpusSettings, held_out: float) -> tuple[Corpus, ...]:
    """Corpus of each generated kitchen, without the share of prompts that test the message adapter."""
    corpora = []
    for world in _read_kitchens(settings):
        found = collect_corpus(world, settings.env_steps, **_options(settings))
        written = tuple(pair for pair in found.messages if not is_held_out(pair[0], held_out))
        corpora.append(Corpus(written, found.actions))
    return tuple(corpora)


def corpus(config: VercoConfig) -> tuple[Pair, ...]:
    """All pairs of the corpus of a run's small model."""
    return tuple(pair for one in _read(config.corpus, config.distillation.held_out) for pair in one.pairs())


def read_corpus(config: VercoConfig) -> Corpus:
    """The corpus, split into messages and actions."""
    some = _read(config.corpus, config.distillation.held_out)
    return Corpus(
        tuple(pair for one in some for pair in one.messages), tuple(pair for one in some for pair in one.actions)
    )


def expert_decisions(settings: CorpusSettings) -> Decisions:
    """The corpus' decisions without messages, for teams with vector observations."""
    some = [collect_decisions(world, settings.env_steps, **_options(settings)) for world in _read_kitchens(settings)]
    return Decisions(*(np.concatenate([getattr(one, name) for one in some]) for name in ("vectors", "legal", "chosen")))


def _options(settings: CorpusSettings) -> PlayOptions:
    return {
        "seed": _CORPUS_SEED,
        "error": settings.error,
        "expert_share": settings.expert_share,
        "follow_share": settings.follow_share,
    }


def _read_kitchens(settings: CorpusSettings) -> Iterator[Salad]:
    for number in range(settings.kitchens):
        first_world = FIRST_WARM_START_WORLD + number * settings.worlds
        yield salad_world(procedural_kitchen(number), settings.worlds, first_world)


def message_pairs(config: VercoConfig, seed: int, number: int, teacher: Teacher | None = None) -> list[Pair]:
    """Prompts and the teacher's messages, from one round of rollouts of scripted cooks.

    Args:
        config: task and settings of the warm start.
        seed: seed of the run.
        number: number of the round, from 0.
        teacher: teacher; by default the scripted one.
    """
    settings = config.warm_start
    world = _make_round_world(config, number)
    heard = collect_corpus(world, settings.env_steps, seed=seed, error=settings.error, teacher=teacher)
    return list(heard.messages)


def message_pairs_of_policy(
    config: VercoConfig, policy: TeamPolicy, seed: int, number: int, teacher: Teacher | None = None
) -> list[Pair]:
    """The same from rollouts of a team, with the messages of its present adapter.

    Args:
        config: as above.
        policy: policy that acts.
        seed: as above.
        number: as above.
        teacher: as above.
    """
    world = _make_round_world(config, number)
    narrator, collector = Narrator(world), Collector(world, policy, fragment_length=1, needs_values=False)
    collector.reset(seed)
    written: dict[Pair, None] = {}
    for _ in range(config.warm_start.env_steps):
        sent, codes = messages(world), world.observe()["situation"]
        taught = sent if teacher is None else teacher(codes, sent)
        for row, agent in np.ndindex(codes.shape[:2]):
            written[narrator.message_prompt(codes[row, agent]), taught[row][agent]] = None
        collector.collect()
    return list(written)


def _make_round_world(config: VercoConfig, number: int) -> Salad:
    """Kitchens of a round."""
    worlds = config.warm_start.worlds
    return make_world(config, worlds, FIRST_WARM_START_WORLD + (number + 1) * worlds)
