"""What agents write: prompts to messages, greedy ones kept for as long as the message adapter stays as it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rl_models.llm.adapters import AdaptedModel
from rl_models.llm.generation import generate
from rl_models.llm.llm_config import MessageSettings
from rl_models.llm.lru_cache import LRUCache
from rl_models.llm.trie import Ids

Array = NDArray[Any]

PADDING = -1
"""Behind the end of a message; every token id is 0 or more."""
_MESSAGES_KEPT = 2**16


class Writer:
    """Writes messages with the message adapter, which learns nothing from it.

    Attributes:
        memory: greedy messages by prompt.
    """

    def __init__(self, language: AdaptedModel, settings: MessageSettings) -> None:
        self._language, self._settings = language, settings
        self.memory: LRUCache[Ids, Ids] = LRUCache(_MESSAGES_KEPT)

    def write(self, prompts: Sequence[Ids], uniforms: Tensor | None = None) -> list[Ids]:
        """A message behind each prompt: the most likely tokens one by one, or drawn with uniforms [R, L]."""
        if uniforms is not None:
            return self._generate(prompts, uniforms)
        return self.memory.of(prompts, self._language.weights("message"), self._generate)

    def text(self, message: Ids) -> str:
        """What is read of a message: its first line, no more words than are allowed."""
        return self._language.tokens.text(message, self._settings.max_words)

    def table(self, messages: Sequence[Ids]) -> Array:
        """Messages as [R, L] int32, cut off at L tokens."""
        table = np.full((len(messages), self._settings.max_tokens), PADDING, np.int32)
        for row, message in enumerate(messages):
            some = self.cut(message)
            table[row, : len(some)] = some
        return table

    def cut(self, message: Ids) -> Ids:
        """The part of a message that travels."""
        return message[: self._settings.max_tokens]

    def from_texts(self, texts: Sequence[str]) -> Array:
        """Given texts (a teacher's) as messages, [R, L] int32."""
        return self.table([self._language.tokens.behind(text) if text else () for text in texts])

    def _generate(self, prompts: Sequence[Ids], uniforms: Tensor | None = None) -> list[Ids]:
        language, most = self._language, self._settings.max_tokens
        for prompt in prompts:
            language.tokens.check_length(prompt, most)
        with torch.no_grad(), language.using("message"):
            return generate(language.base, prompts, most, language.tokens.end, uniforms)


def message_of(row: Array) -> Ids:
    """The token ids of one row of a table."""
    return tuple(row[row != PADDING].tolist())
