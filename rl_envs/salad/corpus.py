"""Supervised data for language models: prompts with messages and with actions, from play of cooks that often err.

A message model learns from the messages; a small language model is pretrained on messages and actions. Each decision
occurs twice, with and without a message before it. Actions are random legal ones; a given share comes from a scripted
cook that mostly follows the message, which gives a small model some of the prior knowledge of a large one. This file
must not know about language models.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from rl_envs.core.spec import Array
from rl_envs.salad.cook import ScriptedCooks
from rl_envs.salad.narrator import Narrator
from rl_envs.salad.teacher import messages, parse_message
from rl_envs.salad.world import Salad

Teacher: TypeAlias = Callable[[Array, list[list[str]]], Sequence[Sequence[str]]]
"""From situations [B, N, F] and the scripted teacher's messages `[B][N]` to messages `[B][N]`."""


@dataclass(frozen=True)
class Corpus:
    """Pairs of a prompt and its continuation, in order of first occurrence; pairs of messages are distinct.

    Attributes:
        messages: prompts of speakers, and the teacher's messages.
        actions: prompts of deciding agents, with and without the received message, and the phrase of an action;
            repeated as often as they occurred, so that a model learns their frequency.
    """

    messages: tuple[tuple[str, str], ...]
    actions: tuple[tuple[str, str], ...]

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Messages and actions together."""
        return self.messages + self.actions


def collect_corpus(
    world: Salad,
    env_steps: int,
    *,
    seed: int = 0,
    error: float = 0.4,
    sense: float = 0.0,
    heed: float = 0.0,
    teacher: Teacher | None = None,
) -> Corpus:
    """Play and record prompts with messages and actions.

    Args:
        world: kitchens with macro actions and text; they are reset.
        env_steps: number of env steps to play.
        seed: seed of the games and errors.
        error: share of played decisions that are random instead of the scripted cooks'.
        sense: share of recorded actions that come from a scripted cook; the others are random legal ones.
        heed: share of a cook's actions after a message that follow it; the others, and those without a message, come
            from a cook without messages.
        teacher: source of the recorded messages; the scripted teacher by default, which the cooks hear in any case.
    """
    narrator, random = Narrator(world), np.random.default_rng(seed)
    cooks, deaf_cooks = ScriptedCooks(world), ScriptedCooks(world)
    spoken: dict[tuple[str, str], None] = {}
    done: list[tuple[str, str]] = []
    observations = world.reset(seed)
    for _ in range(env_steps):
        said = messages(world)
        scripted = cooks.act([[parse_message(team[1], 0), parse_message(team[0], 1)] for team in said])
        legal = observations["legal"]
        any_legal = (random.random(legal.shape) * legal).argmax(-1)
        actions = np.where(random.random(scripted.shape) < error, any_legal, scripted)
        deaf = deaf_cooks.act()
        sensible = np.where(random.random(scripted.shape) < heed, scripted, deaf)
        has_sense = random.random(scripted.shape) < sense
        heeding, alone = (np.where(has_sense, chosen, any_legal) for chosen in (sensible, deaf))
        recorded = said if teacher is None else teacher(observations["situation"], said)
        for row, agent in np.ndindex(actions.shape):
            code = observations["situation"][row, agent]
            spoken[narrator.message_prompt(code), recorded[row][agent]] = None
            if observations["decides"][row, agent]:
                phrases = narrator.actions(code)
                done.append((narrator.action_prompt(code, [recorded[row][1 - agent]]), phrases[heeding[row, agent]]))
                done.append((narrator.action_prompt(code, []), phrases[alone[row, agent]]))
        observations = world.step(actions)[0]
    return Corpus(tuple(spoken), tuple(done))
