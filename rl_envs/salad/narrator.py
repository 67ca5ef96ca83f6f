"""Strings for agents that read and speak: the three prompts of Verco (section 4), and what actions are called.

A code is one agent's observation `situation`: numbers of sentences, then numbers of phrases. What is seen and what is
ordered are apart, since messages stand between them. This file must not know about language models or tokens.
"""

from __future__ import annotations

from collections.abc import Sequence

from rl_envs.core.spec import Array
from rl_envs.salad.grammar import ROOMS
from rl_envs.salad.symbols import AGENT_NAMES
from rl_envs.salad.world import Salad


class Narrator:
    """Puts situations of one kind of kitchen into words. It keeps the words, not the world."""

    def __init__(self, world: Salad) -> None:
        """Take over sentences and phrases.

        Raises:
            ValueError: the world tells nothing.
        """
        if "situation" not in world.observation_spec:
            raise ValueError("this world puts nothing into words: make it with text=True")
        self._sentences, self._phrases = world.sentences, world.phrases
        self._num_sentences = world.num_sentences

    def speaker(self, code: Array) -> int:
        """Number of the agent whose situation this is."""
        return (int(code[0]) - 1) // len(ROOMS)

    def scene(self, code: Array) -> str:
        """All that an agent sees."""
        told = (self._sentences[number] for number in code[: self._num_sentences - 1].tolist())
        return " ".join(filter(None, told))

    def order(self, code: Array) -> str:
        """What the guests want, as far as an agent knows."""
        return self._sentences[int(code[self._num_sentences - 1])]

    def actions(self, code: Array) -> tuple[str, ...]:
        """What each of the A actions is called now."""
        return tuple(self._phrases[number] for number in code[self._num_sentences :].tolist())

    def message_prompt(self, code: Array) -> str:
        """What a speaker continues with its message: the paper's rho_m."""
        me, mate = self._names(code)
        return f"{self.scene(code)} {self.order(code)} {me} tells {mate}:"

    def action_prompt(self, code: Array, heard: Sequence[str] = ()) -> str:
        """What an agent continues with its action, after the messages that it heard: the paper's rho_u."""
        me, mate = self._names(code)
        said = "".join(f' {mate} says: "{message}"' for message in heard if message)
        return f"{self.scene(code)}{said} {self.order(code)} Now {me} should"

    def teacher_prompt(self, codes: Sequence[Array], max_words: int) -> str:
        """What a large language model is asked, with the situations of all agents: the paper's rho_tch."""
        views = "\n".join(
            f"{AGENT_NAMES[self.speaker(code)]} is told: {self.scene(code)} {self.order(code)}" for code in codes
        )
        wanted = "\n".join(f"{name}: <message>" for name in AGENT_NAMES)
        return (
            f"You guide {len(AGENT_NAMES)} cooks, {' and '.join(AGENT_NAMES)}, who make a salad together in a small "
            "kitchen. Foods are chopped on a cutting board, go into a bowl when they are chopped, and the bowl is "
            "served at the delivery. A cook holds one thing at a time, sees only what is near, and may be unable to "
            f"reach the other room: then things are passed over the middle counter.\n{views}\n"
            f"Write the one message that each cook should now send to the other, at most {max_words} words each, so "
            "that they share the work and do not get into each other's way. Answer with these lines and nothing "
            f"else:\n{wanted}"
        )

    def _names(self, code: Array) -> tuple[str, str]:
        me = self.speaker(code)
        return AGENT_NAMES[me], AGENT_NAMES[1 - me]
