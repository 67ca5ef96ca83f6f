"""Strings for language agents: the three prompts of Verco (section 4), and the phrases of actions.

A code [F] int16 is one agent's observation `situation`: ids of sentences, then ids of phrases. The scene and the order
are separate, because messages stand between them.
"""

from collections.abc import Sequence

from rl_envs.core.spec import Array
from rl_envs.salad.grammar import ROOMS
from rl_envs.salad.symbols import AGENT_NAMES
from rl_envs.salad.world import Salad


class Narrator:
    """Turns situation codes of one kind of kitchen into text. It keeps the sentences, not the world."""

    def __init__(self, world: Salad) -> None:
        """Copy sentences and phrases of a world."""
        if "situation" not in world.observation_spec:
            raise ValueError("this world has no text: make it with text=True")
        self._sentences, self._phrases = world.sentences, world.phrases
        self._num_sentences = world.num_sentences

    def speaker(self, code: Array) -> int:
        """Number of the agent to which this code [F] int16 belongs."""
        return (int(code[0]) - 1) // len(ROOMS)

    def scene(self, code: Array) -> str:
        """Description of everything that the agent of a code [F] int16 sees."""
        sentences = (self._sentences[number] for number in code[: self._num_sentences - 1].tolist())
        return " ".join(filter(None, sentences))

    def order(self, code: Array) -> str:
        """The sentence about the order, as far as the agent of a code [F] int16 knows it."""
        return self._sentences[int(code[self._num_sentences - 1])]

    def actions(self, code: Array) -> tuple[str, ...]:
        """Phrases of the A actions of a code [F] int16."""
        return tuple(self._phrases[number] for number in code[self._num_sentences :].tolist())

    def message_prompt(self, code: Array) -> str:
        """Prompt that the speaker of a code [F] int16 continues with its message: the paper's rho_m."""
        me, mate = self._names(code)
        return f"{self.scene(code)} {self.order(code)} {me} tells {mate}:"

    def action_prompt(self, code: Array, heard: Sequence[str] = ()) -> str:
        """Prompt that an agent continues with its action, after the received messages: the paper's rho_u.

        `code` [F] int16 is its situation; an empty text is no message.
        """
        me, mate = self._names(code)
        messages = "".join(f' {mate} says: "{message}"' for message in heard if message)
        return f"{self.scene(code)}{messages} {self.order(code)} Now {me} should"

    def teacher_prompt(self, codes: Sequence[Array], max_words: int) -> str:
        """Prompt for a large language model as teacher: the paper's rho_tch; `codes` [F] are N agents' situations."""
        situations = "\n".join(
            f"{AGENT_NAMES[self.speaker(code)]} is told: {self.scene(code)} {self.order(code)}" for code in codes
        )
        wanted = "\n".join(f"{name}: <message>" for name in AGENT_NAMES)
        return (
            f"You guide {len(AGENT_NAMES)} cooks, {' and '.join(AGENT_NAMES)}, who make a salad together in a small "
            "kitchen. Foods are chopped on a cutting board, go into a bowl when they are chopped, and the bowl is "
            "served at the delivery. A cook holds one thing at a time, sees only what is near, and may be unable to "
            f"reach the other room: then things are passed over the middle counter.\n{situations}\n"
            f"Write the one message that each cook should now send to the other, at most {max_words} words each, so "
            "that they share the work and do not get into each other's way. Answer with these lines and nothing "
            f"else:\n{wanted}"
        )

    def _names(self, code: Array) -> tuple[str, str]:
        me = self.speaker(code)
        return AGENT_NAMES[me], AGENT_NAMES[1 - me]
