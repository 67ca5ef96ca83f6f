"""Token ids for texts of custom environments: per word, so that a network can embed each, or per character.

A word that is not listed gets an id by hashing, the same in every process. Two such words can get the same id, which is
logged: among 100 words with a probability of 70 %. A listed word, as in the attribute `vocabulary` of a custom
environment, has an id of its own.
"""

import re
import sys
import zlib
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from rl_envs.core.errors import warn_once
from rl_envs.core.spec import Array

SPARE_WORDS = 4096
"""Number of ids for words that are not listed."""
MAX_TEXTS = 2**16
"""Number of texts after which those before are forgotten, but for as many that `decode` knows."""
_PIECE = re.compile(r"\w+(?:'\w+)?|[^\w\s]")


class TextNumbers(Protocol):
    """Interface of a tokenizer: text to ids and back."""

    vocabulary: int  # V, size of the vocabulary; 0 is padding

    def tokens(self, text: str, length: int) -> Array:
        """Ids of a text, [length] int32, padded with 0; ValueError if it is longer."""

    def decode(self, tokens: Array) -> str:
        """The text that had these numbers, [L] int."""


class Characters:
    """Ids of characters, from which any process can recover the text, for example for a language model.

    The `vocabulary` is Unicode's code points, each plus 1, and 0 for padding.
    """

    vocabulary = sys.maxunicode + 2

    def tokens(self, text: str, length: int) -> Array:
        """Ids of the characters of a text, [length] int32, padded with 0."""
        if len(text) > length:
            raise ValueError(
                f"a text has {len(text)} characters and only {length} fit: raise max_words (--max-words), or "
                f"max_length of the environment's Text space; it begins {text[:60]!r}"
            )
        row = np.zeros(length, np.int32)
        row[: len(text)] = [ord(character) + 1 for character in text]
        return row

    def decode(self, tokens: Array) -> str:
        """The text that has these numbers, [L] int."""
        return "".join(chr(number - 1) for number in np.asarray(tokens).tolist() if number)


class WordIds:
    """Ids below `vocabulary` of words: 0 is padding, then the listed words, then the spare ids."""

    def __init__(self, words: Sequence[str] = ()) -> None:
        """Store the listed words, which are compared in lower case."""
        self._numbers = {word: number for number, word in enumerate(dict.fromkeys(map(str.lower, words)), start=1)}
        self._listed = len(self._numbers) + 1
        self.vocabulary = self._listed + SPARE_WORDS
        self._rows: dict[tuple[str, int], Array] = {}
        self._texts: dict[bytes, str] = {}
        self._older: dict[bytes, str] = {}
        self._hashed, self._has_warned = dict[int, str](), False

    def tokens(self, text: str, length: int) -> Array:
        """Ids of the words and punctuation marks of a text, [length] int32, padded with 0."""
        if (text, length) not in self._rows:
            pieces = _PIECE.findall(text.lower())
            if len(pieces) > length:
                raise ValueError(
                    f"a text has {len(pieces)} words and only {length} fit: raise max_words (--max-words); it begins "
                    f"{text[:60]!r}"
                )
            row = np.zeros(length, np.int32)
            row[: len(pieces)] = [self._number(piece) for piece in pieces]
            if len(self._rows) >= MAX_TEXTS:
                self._rows.clear()
                self._texts, self._older = {}, self._texts
            self._rows[text, length] = row
            self._texts.setdefault(row.tobytes(), text)
        return self._rows[text, length]

    def decode(self, tokens: Array) -> str:
        """The text that had these tokens [L] int32, as the environment wrote it; an empty one if not seen lately."""
        key = np.asarray(tokens, np.int32).tobytes()
        return self._texts.get(key) or self._older.get(key, "")

    def _number(self, word: str) -> int:
        if word not in self._numbers:
            number = self._numbers[word] = self._listed + zlib.crc32(word.encode()) % SPARE_WORDS
            if (other := self._hashed.setdefault(number, word)) != word and not self._has_warned:
                self._has_warned = True
                warn_once(
                    f"the words {other!r} and {word!r} of the environment's texts have one id, as others may, so that "
                    "no network can tell them apart: list all words in an attribute `vocabulary` of the environment"
                )
        return self._numbers[word]
