"""A key and a value for every sentence, from two learned weightings of its tokens (EMMA, section 4).

The weights sum to 1, so averaging the tokens before the projection gives the same result and needs no matrix product a
token. The biases of scores and keys have no effect before a softmax; they exist because the released code has them.
This file must not know what queries the keys.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from rl_models.layers.attention import padding_scores


@dataclass(frozen=True)
class SentenceVectors:
    """Keys and values of U sentences.

    Attributes:
        keys, values: [U, F] float32.
        key_words, value_words: [U, L] float32, weight of each token in key and value.
    """

    keys: Tensor
    values: Tensor
    key_words: Tensor
    value_words: Tensor


class SentenceReader(nn.Module):
    """alpha = softmax(w u + b) over a sentence's tokens u; key or value = W (sum of alpha u) + c."""

    def __init__(self, inputs: int, features: int) -> None:
        """Build scores and projections.

        Args:
            inputs: width of a token's vector.
            features: F, width of keys and values.
        """
        super().__init__()
        self.key_score, self.key_projection = nn.Linear(inputs, 1), nn.Linear(inputs, features)
        self.value_score, self.value_projection = nn.Linear(inputs, 1), nn.Linear(inputs, features)

    def forward(self, states: Tensor, lengths: Tensor) -> SentenceVectors:
        """Keys and values of U sentences.

        Args:
            states: [U, L, inputs] float32, vectors of the tokens.
            lengths: [U] int64, number of tokens of each sentence.
        """
        weight = torch.cat([self.key_score.weight, self.value_score.weight])
        bias = torch.cat([self.key_score.bias, self.value_score.bias])
        # Both scores are computed in one pass, because reading the tokens takes most of the time.
        scores = nn.functional.linear(states, weight, bias).mT
        words = (scores + padding_scores(states, lengths)).softmax(-1)
        of_key, of_value = (words @ states).unbind(1)
        return SentenceVectors(self.key_projection(of_key), self.value_projection(of_value), *words.unbind(1))
