"""The built-in text encoder: one vector a word, learned with the policy. It needs no download and no minutes.

Words that training sentences do not have are left out, because nothing is ever learned about them. This file must not
know which sentences mean what.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

_FIRST_SPREAD = 0.1
"""Standard deviation of word vectors before they are learned."""
_WORD = re.compile(r"[a-z0-9]+(?:'[a-z]+)?")


class VocabularyError(ValueError):
    """There are no words to learn."""


@dataclass(frozen=True)
class Vocabulary:
    """Words by number, from 1; number 0 stands behind the end of a sentence.

    Attributes:
        words: V - 1 of them, in alphabetical order.
    """

    words: tuple[str, ...]

    @classmethod
    def of(cls, sentences: Iterable[str]) -> Vocabulary:
        """Every word of these sentences.

        Raises:
            VocabularyError: they have none.
        """
        words = {word for sentence in sentences for word in words_of(sentence)}
        if not words:
            raise VocabularyError("the training sentences hold no word; a text encoder needs some to learn")
        return cls(tuple(sorted(words)))

    def __len__(self) -> int:
        """V."""
        return len(self.words) + 1

    def tokens(self, sentences: Sequence[str]) -> Tensor:
        """Sentences as [D, L] int64, without unknown words, padded with 0; L is at least 1."""
        number = {word: index for index, word in enumerate(self.words, start=1)}
        rows = [[number[word] for word in words_of(sentence) if word in number] for sentence in sentences]
        lengths = np.array([len(row) for row in rows])
        table = np.zeros((len(rows), max(1, lengths.max())), np.int64)
        is_word = np.arange(table.shape[1]) < lengths[:, None]
        table[is_word] = np.fromiter(itertools.chain.from_iterable(rows), np.int64, lengths.sum())
        return torch.from_numpy(table)


def words_of(sentence: str) -> list[str]:
    """Lower-case words without punctuation, in order."""
    return _WORD.findall(sentence.lower())


class WordEncoder(nn.Module):
    """A learned vector for each word, whatever stands around it.

    Attributes:
        num_sentences, features, length: as `SentenceEncoder` has them.
    """

    def __init__(self, sentences: Sequence[str], vocabulary: Vocabulary, features: int) -> None:
        """Tabulate the sentences.

        Args:
            sentences: D of them.
            vocabulary: of the training sentences.
            features: F.
        """
        super().__init__()
        tokens = vocabulary.tokens(sentences)
        self.num_sentences, self.length = tokens.shape
        self.features = features
        self.words = nn.Embedding(len(vocabulary), features, padding_idx=0)
        with torch.no_grad():  # rare words keep much of what they begin with, so begin with little
            self.words.weight *= _FIRST_SPREAD
        self.tokens: Tensor
        self.lengths: Tensor
        self.register_buffer("tokens", tokens, persistent=False)
        # A sentence of unknown words alone has one token, whose vector is 0.
        self.register_buffer("lengths", (tokens != 0).sum(-1).clamp(min=1), persistent=False)

    def forward(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """Numbers [U] -> states [U, l, F] and lengths [U]."""
        lengths = self.lengths[ids.long()]
        return self.words(self.tokens[ids.long(), : int(lengths.max())]), lengths
