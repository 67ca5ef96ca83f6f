"""What is said in kitchens: prompts with the teacher's messages and with actions, from play of cooks that often err.

Messages are what a message model learns from; both together are a small language model's first reading. Each decision
is told twice, behind a message and in silence. Actions are legal ones at random, or to some share those of a cook, who
mostly heeds what was said: as much sense as a language model brings along that has read about kitchens and about people
who ask for things. This file must not know about language models.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from rl_envs.core.spec import Array
from rl_envs.salad.cook import ScriptedCooks
from rl_envs.salad.narrator import Narrator
from rl_envs.salad.teacher import hear, messages
from rl_envs.salad.world import Salad

Teacher: TypeAlias = Callable[[Array, list[list[str]]], Sequence[Sequence[str]]]
"""From situations [B, N, F] and the scripted teacher's messages `[B][N]` to messages `[B][N]`."""


@dataclass(frozen=True)
class Corpus:
    """Pairs of a prompt and what follows it, in the order in which they turned up; those of messages are distinct.

    Attributes:
        messages: prompts of speakers and what the teacher lets them say.
        actions: prompts of those who decide, behind the message that they heard and in silence, and what an action is
            called; as often as it happened, so that what is frequent is learned as likely.
    """

    messages: tuple[tuple[str, str], ...]
    actions: tuple[tuple[str, str], ...]

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """All of them."""
        return self.messages + self.actions


def listen(
    world: Salad,
    env_steps: int,
    *,
    seed: int = 0,
    error: float = 0.4,
    sense: float = 0.0,
    heed: float = 0.0,
    teacher: Teacher | None = None,
) -> Corpus:
    """Play and write down what is said.

    Args:
        world: kitchens with macro actions and text; they are reset.
        env_steps: how long to play.
        seed: of the games and errors.
        error: share of decisions that are random instead of the scripted cooks'.
        sense: share of written-down actions that a scripted cook would take; the others are any legal ones.
        heed: share of those behind a message that he would take who hears it; the others, and those in silence, are a
            deaf cook's.
        teacher: who says what is written down, in place of the scripted teacher, whom the cooks hear in any case.
    """
    narrator, random = Narrator(world), np.random.default_rng(seed)
    cooks, deaf_cooks = ScriptedCooks(world), ScriptedCooks(world)
    spoken: dict[tuple[str, str], None] = {}
    done: list[tuple[str, str]] = []
    observations = world.reset(seed)
    for _ in range(env_steps):
        said = messages(world)
        scripted = cooks.act([[hear(team[1], 0), hear(team[0], 1)] for team in said])
        legal = observations["legal"]
        any_legal = (random.random(legal.shape) * legal).argmax(-1)
        actions = np.where(random.random(scripted.shape) < error, any_legal, scripted)
        deaf = deaf_cooks.act()
        sensible = np.where(random.random(scripted.shape) < heed, scripted, deaf)
        has_sense = random.random(scripted.shape) < sense
        heeding, alone = (np.where(has_sense, chosen, any_legal) for chosen in (sensible, deaf))
        told = said if teacher is None else teacher(observations["situation"], said)
        for row, agent in np.ndindex(actions.shape):
            code = observations["situation"][row, agent]
            spoken[narrator.message_prompt(code), told[row][agent]] = None
            if observations["decides"][row, agent]:
                phrases = narrator.actions(code)
                done.append((narrator.action_prompt(code, [told[row][1 - agent]]), phrases[heeding[row, agent]]))
                done.append((narrator.action_prompt(code, []), phrases[alone[row, agent]]))
        observations = world.step(actions)[0]
    return Corpus(tuple(spoken), tuple(done))
