"""Any game of texts for a language model: what an agent reads is a prompt, what its actions are called its phrases.

`TextGame` is a narrator for any game: it takes the observation keys that hold texts and functions that decode them. A
code is an agent's index, one-hot, then the numbers of its texts, then those of its actions' texts where these change
from step to step.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from rl_models.llm.messages import Array

UNNAMED = "-"
"""Name of an action without a text, such as one of an agent that is out of the game."""


@dataclass(frozen=True)
class GameText:
    """Texts of an agent's observation under one key.

    Attributes:
        key: observation key; it holds rows [B, T, N] or [B, T, N, K] of a table of texts.
        length: L, numbers of a text.
        count: K, number of texts.
    """

    key: str
    length: int
    count: int = 1

    @property
    def size(self) -> int:
        """Numbers of all of them."""
        return self.count * self.length


class TextGame:
    """A `Narrator` of what agents read.

    Attributes:
        situation: observation keys of a code, for `LanguageTeamSettings.situation`: `agent`, an agent's index,
            [B, T, N, N] one-hot, then those of the texts.
    """

    def __init__(
        self,
        agents: Sequence[str],
        texts: Sequence[GameText],
        actions: GameText | Sequence[Sequence[str]],
        decode: Callable[[Array], str],
    ) -> None:
        """Lay out a code of N agents.

        The texts of the A actions are what is observed of them, or N lists of A fixed ones. `decode` gives the text
        that has some numbers [L] int, the same in every process.
        """
        self._agents, self._texts, self._actions, self._decode = tuple(agents), tuple(texts), actions, decode
        shown = (*texts, actions) if isinstance(actions, GameText) else tuple(texts)
        self.situation: tuple[str, ...] = ("agent", *(text.key for text in shown))
        self._ends = list(accumulate([len(agents), *(text.size for text in shown)]))

    def message_prompt(self, code: Array) -> str:
        """Prompt that an agent continues with its message."""
        return f"{self._scene(code)}\nMessage:"

    def action_prompt(self, code: Array, heard: Sequence[str]) -> str:
        """Prompt that an agent continues with its action: the texts that it observes and the messages received."""
        messages = "".join(f"\nYou hear: {message}" for message in heard if message)
        return f"{self._scene(code)}{messages}\nAction:"

    def actions(self, code: Array) -> tuple[str, ...]:
        """Names of the A actions, as texts."""
        if isinstance(self._actions, GameText):
            return tuple(text or UNNAMED for text in self._read(self._actions, self._parts(code)[-1]))
        return tuple(text or UNNAMED for text in self._actions[self._agent(code)])

    def _scene(self, code: Array) -> str:
        """The agent's name, and a line for each key with a text."""
        parts = self._parts(code)[1:]
        lines = [" ".join(filter(None, self._read(text, part))) for text, part in zip(self._texts, parts, strict=False)]
        return "\n".join([f"You are {self._agents[self._agent(code)]}.", *filter(None, lines)])

    def _agent(self, code: Array) -> int:
        return int(np.argmax(code[: len(self._agents)]))

    def _parts(self, code: Array) -> list[Array]:
        return np.split(code, self._ends[:-1])

    def _read(self, text: GameText, part: Array) -> list[str]:
        return [self._decode(row) for row in part.reshape(text.count, text.length)]
