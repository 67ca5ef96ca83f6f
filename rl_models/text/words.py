"""The built-in text encoder: one vector per word, which is learned with the policy. It needs no download.

Words that do not occur in the training sentences are left out, because nothing can be learned about them.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from rl_models.errors import InputError
from rl_models.runtime.device import longest

_INITIAL_DEVIATION = 0.1
"""Standard deviation of the initial word vectors."""
_WORD = re.compile(r"[^\W_]+(?:'[^\W\d_]+)?")


class VocabularyError(InputError):
    """There are no words to learn."""


@dataclass(frozen=True)
class Vocabulary:
    """Words in alphabetical order and their numbers from 1; number 0 is padding."""

    words: tuple[str, ...]

    @classmethod
    def of(cls, sentences: Iterable[str]) -> Vocabulary:
        """The vocabulary of all words in these sentences; raises VocabularyError where they have none."""
        words = {word for sentence in sentences for word in split_words(sentence)}
        if not words:
            raise VocabularyError("the training sentences have no words; a text encoder needs words to learn")
        return cls(tuple(sorted(words)))

    def __len__(self) -> int:
        """V, the number of words and one for padding."""
        return len(self.words) + 1

    def tokens(self, sentences: Sequence[str]) -> Tensor:
        """Word ids of D sentences, [D, L] int64, without unknown words, padded with 0; L is at least 1."""
        number = {word: index for index, word in enumerate(self.words, start=1)}
        rows = [[number[word] for word in split_words(sentence) if word in number] for sentence in sentences]
        lengths = np.array([len(row) for row in rows])
        table = np.zeros((len(rows), max(1, lengths.max())), np.int64)
        is_word = np.arange(table.shape[1]) < lengths[:, None]
        table[is_word] = np.fromiter(itertools.chain.from_iterable(rows), np.int64, lengths.sum())
        return torch.from_numpy(table)


def split_words(sentence: str) -> list[str]:
    """The words of a sentence in order, in lower case and without punctuation."""
    return _WORD.findall(sentence.lower())


class WordEncoder(nn.Module):
    """A learned vector for each word, independent of the other words in a sentence."""

    def __init__(self, sentences: Sequence[str], vocabulary: Vocabulary, features: int) -> None:
        """Store D sentences and build the embedding of the training sentences' words."""
        super().__init__()
        tokens = vocabulary.tokens(sentences)
        self.num_sentences, self.length = tokens.shape
        self.features = features
        self.words = nn.Embedding(len(vocabulary), features, padding_idx=0)
        with torch.no_grad():  # rare words keep most of their initial vector, so it should be small
            self.words.weight *= _INITIAL_DEVIATION
        self.tokens = nn.Buffer(tokens, persistent=False)
        # A sentence with unknown words only has one token, whose vector is 0.
        self.lengths = nn.Buffer((tokens != 0).sum(-1).clamp(min=1), persistent=False)

    def forward(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """Sentence ids [U] int -> states [U, l, F] float32 and lengths [U] int64."""
        lengths = self.lengths[ids.long()]
        return self.words(self.tokens[ids.long(), : longest(lengths, self.tokens.shape[1])]), lengths
