"""Features of pairs of things from a document: is one of them mentioned beside the other? Part of `matching.py`.

1. Words. One table holds a vector of every word, for names and documents alike. Different words begin nearly
   orthogonal, and a word with itself gives about 1. The vector of a name or goal n is the sum of its words:

       e_n = sum over its words w of E[w]                                                                (1)

2. Mentions. The match of a thing with every word j of the document; where the thing is mentioned; and how much of that
   is in each sentence s:

       M[n, j] = e_n . E[j]                                                                              (2)
       a[n, j] = softmax over j of beta M[n, j],   a[n, s] = sum over j in s of a[n, j]                  (3)

3. Pairs. Is m mentioned o words after n, and in the same sentence as n? Both comparisons are of words with words, with
   no learned projection in between, so they hold for documents that were never seen:

       r_o(n, m) = sum over j of a[n, j] M[m, j + o],   o = -R .. R                                      (4)
       s(n, m)   = sum over s of a[n, s] (sum over j in s of M[m, j])                                    (5)
       f(n, m)   = [r(n, m), r(m, n), e_n . e_m, (s(n, m) + s(m, n)) / 2]                                (6)

A thing of a document, and a pair of them, are computed once, in however many frames they occur.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from rl_models.networks.texts import Encoded, EncodedTexts

_NEVER = -1e9
"""Score of padding. Its weight is 0 in every precision; it is finite, so an empty document gives no NaN."""


@dataclass(frozen=True)
class PairFeatures:
    """Features of all pairs of things that occur in K frames.

    Attributes:
        features: [U, F] float32, f of every distinct pair of things of a document.
        of_frames: [K, X, X] int64, row in `features` of each pair (n, m) of a frame's X things.
        attention: [P, L] float32, where each distinct thing of a document is mentioned.
        attention_of_frames: [K, X] int64, row in `attention` of each thing of a frame.
    """

    features: Tensor
    of_frames: Tensor
    attention: Tensor
    attention_of_frames: Tensor


class Mentions(nn.Module):
    """Compares things with the words of documents, and pairs of things through what stands beside their mentions.

    Attributes:
        num_features: F, numbers of a pair.
    """

    def __init__(self, vocabulary: int, word_features: int, window: int = 4, sharpness: float = 4.0) -> None:
        """Draw the words.

        Args:
            vocabulary: V, number of words; word 0 is the padding.
            word_features: width of a word's vector.
            window: R, number of words to either side of a mention that are compared.
            sharpness: beta at first; it is learned.
        """
        super().__init__()
        self.words = nn.Embedding(vocabulary, word_features, padding_idx=0)
        nn.init.normal_(self.words.weight, std=word_features**-0.5)
        with torch.no_grad():
            self.words.weight[0] = 0
        self.sharpness = nn.Parameter(torch.tensor(sharpness))
        self.window = window
        self.num_features = 2 * (2 * window + 1) + 2

    def vectors(self, tokens: Tensor) -> Tensor:
        """Names or goals [K, L] int, padded with 0 -> their vectors e (eq. 1), [K, F] float32."""
        return self.words(tokens.long()).sum(1)

    def forward(self, document: EncodedTexts, things: Tensor, shown: Tensor) -> PairFeatures:
        """Features of all pairs of things in K frames.

        Args:
            document: the documents' `words` and `sentences` [D, L] int64, by `document_words`.
            things: [Q, F] float32, vectors of all things.
            shown: [K, X] int64, things of each frame, as rows of `things`.
        """
        keys, of_frames = (document.rows[:, None] * len(things) + shown).unique(return_inverse=True)
        texts, numbers = keys.div(len(things), rounding_mode="floor"), keys % len(things)
        words, sentences = (document.encoded[name].index_select(0, texts) for name in ("words", "sentences"))
        matches, attention = self._mentions(things.index_select(0, numbers), words)
        pairs, of_pairs = (of_frames[:, :, None] * len(keys) + of_frames[:, None]).unique(return_inverse=True)
        one, other = pairs.div(len(keys), rounding_mode="floor"), pairs % len(keys)
        swapped = torch.searchsorted(pairs, other * len(keys) + one)
        beside = self._beside(attention.index_select(0, one), matches, other)
        same = (_by_sentence(attention, sentences)[one] * _by_sentence(matches, sentences)[other]).sum(-1)
        equal = (things @ things.T)[numbers[one], numbers[other]]
        single = torch.stack([equal, (same + same[swapped]) / 2], -1)
        features = torch.cat([beside, beside.index_select(0, swapped), single], -1)
        return PairFeatures(features, of_pairs, attention, of_frames)

    def _mentions(self, things: Tensor, words: Tensor) -> tuple[Tensor, Tensor]:
        """Matches M and attention a (eqs. 2 and 3) of P things [P, F] with P documents [P, L], [P, L] float32 each."""
        is_padding = words == 0
        matches = (things @ self.words.weight.T).gather(1, words).masked_fill(is_padding, 0.0)
        return matches, (self.sharpness * matches).masked_fill(is_padding, _NEVER).softmax(-1)

    def _beside(self, attention: Tensor, matches: Tensor, others: Tensor) -> Tensor:
        """R of U pairs (eq. 4), [U, 2 R + 1] float32.

        Args:
            attention: [U, L] float32, of the first thing of each pair.
            matches: [P, L] float32, of all things.
            others: [U] int64, the second thing of each pair.
        """
        length = attention.shape[1]
        padded = nn.functional.pad(matches, (self.window, self.window)).index_select(0, others)
        shifts = range(2 * self.window + 1)
        return torch.stack([(attention * padded[:, shift : shift + length]).sum(-1) for shift in shifts], -1)


def document_words(tokens: Tensor, sentence_end: int) -> Encoded:
    """What `Mentions` needs of D documents: `words`, and the number of the sentence in which each of them stands.

    Args:
        tokens: [D, L] int, 0 for padding.
        sentence_end: the word that ends a sentence and belongs to it.

    Returns:
        `words` and `sentences`, [D, L] int64 each.
    """
    words = tokens.long()
    is_end = words == sentence_end
    return {"words": words, "sentences": is_end.cumsum(1) - is_end.long()}


def _by_sentence(values: Tensor, sentences: Tensor) -> Tensor:
    """Sums over the words of each sentence: [P, L] float32 and the words' sentences [P, L] -> [P, L] float32."""
    return torch.zeros_like(values).scatter_add(1, sentences, values)
