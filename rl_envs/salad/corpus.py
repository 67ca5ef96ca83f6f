"""Supervised data for language models: prompts with messages or actions, from rollouts of cooks that often err.

A message model learns from the messages; a small language model is pretrained on messages and actions. Each decision
occurs twice, with and without a message before it. Actions are random legal ones; a given share comes from a scripted
cook that mostly follows the message, which gives a small model some of the prior knowledge of a large one.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypedDict, Unpack

import numpy as np

from rl_envs.core.spec import Array, Arrays
from rl_envs.salad.cook import ScriptedCooks
from rl_envs.salad.macro_actions import NUM_MACROS
from rl_envs.salad.teacher import messages, parse_message
from rl_envs.salad.text import Narrator
from rl_envs.salad.world import Salad

Teacher: TypeAlias = Callable[[Array, list[list[str]]], Sequence[Sequence[str]]]
"""Function of situations [B, N, F] and the scripted teacher's messages `[B][N]`; it gives messages `[B][N]`."""


@dataclass(frozen=True)
class Corpus:
    """Pairs of a prompt and its continuation, in order of first occurrence; pairs of messages are distinct."""

    messages: tuple[tuple[str, str], ...]  # prompts of speakers, and the teacher's messages
    # prompts of deciding agents, with and without the received message, and the phrase of an action; repeated as often
    # as they occurred, so that a model learns their frequency
    actions: tuple[tuple[str, str], ...]

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Messages and actions together."""
        return self.messages + self.actions


@dataclass(frozen=True)
class Decisions:
    """Decisions of cooks that receive no messages, as arrays: the same data for teams with vector observations."""

    vectors: Array  # [K, 30] uint8, observations
    legal: Array  # [K, macro actions] bool, what the cook could choose
    chosen: Array  # [K] int64, numbers of the macro actions


@dataclass(frozen=True)
class _Moment:
    """An env step of all worlds: observations, messages, and the recorded actions with and without a message."""

    seen: Arrays
    sent: list[list[str]]
    heeding: Array
    alone: Array


class PlayOptions(TypedDict, total=False):
    """How scripted cooks play, and which actions are recorded; all of it may be left out."""

    seed: int  # seed of the games and errors; by default 0
    error: float  # share of played decisions that are random instead of the scripted cooks'; by default 0.4
    # share of recorded actions that come from a scripted cook; the others are random legal ones, as all are by default
    expert_share: float
    # share of a cook's actions after a message that follow it, by default none; the others, and those without a
    # message, come from a cook without messages
    follow_share: float


def collect_corpus(
    world: Salad, env_steps: int, *, teacher: Teacher | None = None, **options: Unpack[PlayOptions]
) -> Corpus:
    """Play and record prompts with messages and actions in kitchens with macro actions and text, which are reset.

    The teacher writes the recorded messages, by default the scripted one, whose messages the cooks receive in any case.
    """
    narrator = Narrator(world)
    written: dict[tuple[str, str], None] = {}
    done: list[tuple[str, str]] = []
    for moment in _play(world, env_steps, **options):
        codes = moment.seen["situation"]
        recorded = moment.sent if teacher is None else teacher(codes, moment.sent)
        for row, agent in np.ndindex(moment.alone.shape):
            code = codes[row, agent]
            written[narrator.message_prompt(code), recorded[row][agent]] = None
            if moment.seen["decides"][row, agent]:
                phrases, heard = narrator.actions(code), [recorded[row][1 - agent]]
                done.append((narrator.action_prompt(code, heard), phrases[moment.heeding[row, agent]]))
                done.append((narrator.action_prompt(code, []), phrases[moment.alone[row, agent]]))
    return Corpus(tuple(written), tuple(done))


def collect_decisions(world: Salad, env_steps: int, **options: Unpack[PlayOptions]) -> Decisions:
    """The actions without a message of the same rollouts; arguments as for `collect_corpus`."""
    vectors, legal, chosen = [], [], []
    for moment in _play(world, env_steps, **options):
        decides = moment.seen["decides"]
        vectors.append(moment.seen["vector"][decides])
        legal.append(np.zeros((int(decides.sum()), NUM_MACROS), bool))
        legal[-1][:, world.macros] = moment.seen["legal"][decides]
        chosen.append(world.macros[moment.alone[decides]])
    return Decisions(np.concatenate(vectors), np.concatenate(legal), np.concatenate(chosen))


def _play(
    world: Salad,
    env_steps: int,
    seed: int = 0,
    error: float = 0.4,
    expert_share: float = 0.0,
    follow_share: float = 0.0,
) -> Iterator[_Moment]:
    """Rollouts of scripted cooks that receive the scripted teacher's messages and make errors."""
    random = np.random.default_rng(seed)
    cooks, deaf_cooks = ScriptedCooks(world), ScriptedCooks(world)
    seen = world.reset(seed)
    for _ in range(env_steps):
        sent = messages(world)
        actions, scripted, any_legal = erring_actions(cooks, seen["legal"], sent, error, random)
        deaf = deaf_cooks.act()
        sensible = np.where(random.random(scripted.shape) < follow_share, scripted, deaf)
        is_expert = random.random(scripted.shape) < expert_share
        heeding, alone = (np.where(is_expert, chosen, any_legal) for chosen in (sensible, deaf))
        yield _Moment(seen, sent, heeding, alone)
        seen = world.step(actions)[0]


def erring_actions(
    cooks: ScriptedCooks, legal: Array, sent: Sequence[Sequence[str]], error: float, random: np.random.Generator
) -> tuple[Array, Array, Array]:
    """Actions of cooks that receive the messages `sent` `[B][N]`, a share `error` of them random.

    Gives the actions, those without errors, and random legal ones, [B, N] int64 each.
    """
    scripted = cooks.act([[parse_message(team[1], 0), parse_message(team[0], 1)] for team in sent])
    any_legal = (random.random(legal.shape) * legal).argmax(-1)
    return np.where(random.random(scripted.shape) < error, any_legal, scripted), scripted, any_legal
