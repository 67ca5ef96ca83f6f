"""Strings for agents that read and speak: situations, the three prompts of Verco (section 4), actions to choose from.

A situation is two pieces of text, since messages stand between them: what is seen, and what is ordered. Strings are put
together once for each distinct row of numbers. An action's text continues the action prompt after a space. This file
must not know about language models or tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rl_envs.core.spec import Array, Arrays
from rl_envs.salad.symbols import AGENT_NAMES
from rl_envs.salad.world import Salad


@dataclass(frozen=True)
class Situation:
    """What one agent is told without messages.

    Attributes:
        scene: all that it sees.
        order: what the guests want, as far as it knows.
    """

    scene: str
    order: str


@dataclass(frozen=True)
class Choice:
    """A decision to be made.

    Attributes:
        world: number of the kitchen.
        agent: number of the agent.
        actions: legal actions.
        texts: what they are called.
    """

    world: int
    agent: int
    actions: tuple[int, ...]
    texts: tuple[str, ...]


class Speech:
    """The strings of one kind of kitchen. It keeps what it wrote, not the world."""

    def __init__(self, world: Salad) -> None:
        """Take over sentences and phrases.

        Raises:
            ValueError: the world tells nothing.
        """
        if "sentences" not in world.observation_spec:
            raise ValueError("this world observes no sentences: make it with text=True")
        self._sentences, self._phrases = world.sentences, world.phrases
        self._situations: dict[bytes, Situation] = {}
        self._actions: dict[bytes, tuple[tuple[int, ...], tuple[str, ...]]] = {}

    def situation(self, numbers: Array) -> Situation:
        """The text of one observation `sentences`, [S]."""
        key = numbers.tobytes()
        if key not in self._situations:
            *scene, order = (self._sentences[number] for number in numbers.tolist())
            self._situations[key] = Situation(" ".join(filter(None, scene)), order)
        return self._situations[key]

    def situations(self, observations: Arrays) -> list[list[Situation]]:
        """[B][N], of all agents: everybody speaks before anybody acts."""
        return [[self.situation(numbers) for numbers in team] for team in observations["sentences"]]

    def choices(self, observations: Arrays) -> list[Choice]:
        """Decisions of the agents that choose now, by world and agent."""
        places = np.argwhere(observations["decides"]).tolist()
        return [Choice(world, agent, *self._legal(observations, world, agent)) for world, agent in places]

    def _legal(self, observations: Arrays, world: int, agent: int) -> tuple[tuple[int, ...], tuple[str, ...]]:
        legal, phrases = observations["legal"][world, agent], observations["phrases"][world, agent]
        key = legal.tobytes() + phrases.tobytes()
        if key not in self._actions:
            actions = tuple(np.flatnonzero(legal).tolist())
            self._actions[key] = actions, tuple(self._phrases[phrases[action]] for action in actions)
        return self._actions[key]


def message_prompt(speaker: int, situation: Situation) -> str:
    """What a speaker continues with its message: the paper's rho_m."""
    me, mate = AGENT_NAMES[speaker], AGENT_NAMES[1 - speaker]
    return f"{situation.scene} {situation.order} {me} tells {mate}:"


def action_prompt(agent: int, situation: Situation, heard: str = "") -> str:
    """What an agent continues with its action, after the message that it heard: the paper's rho_u."""
    me, mate = AGENT_NAMES[agent], AGENT_NAMES[1 - agent]
    said = f' {mate} says: "{heard}"' if heard else ""
    return f"{situation.scene}{said} {situation.order} Now {me} should"


def teacher_prompt(situations: Sequence[Situation], max_words: int) -> str:
    """What a large language model is asked, with the views of all agents: the paper's rho_tch."""
    cooks = " and ".join(AGENT_NAMES)
    views = "\n".join(
        f"{name} is told: {one.scene} {one.order}" for name, one in zip(AGENT_NAMES, situations, strict=True)
    )
    wanted = "\n".join(f"{name}: <message>" for name in AGENT_NAMES)
    return (
        f"You guide {len(AGENT_NAMES)} cooks, {cooks}, who make a salad together in a small kitchen. Foods are chopped "
        "on a cutting board, go into a bowl when they are chopped, and the bowl is served at the delivery. A cook "
        "holds one thing at a time, sees only what is near, and may be unable to reach the other room: then things "
        f"are passed over the middle counter.\n{views}\n"
        f"Write the one message that each cook should now send to the other, at most {max_words} words each, so that "
        f"they share the work and do not get into each other's way. Answer with these lines and nothing else:\n{wanted}"
    )
