"""A key and a value for every sentence: two learned ways to weigh its tokens, two projections (EMMA, section 4).

Weights sum to 1, so tokens are averaged first and projected afterwards, which is the same and costs a token's width
instead of a matrix product a token. Biases of scores and of keys change nothing where a softmax follows; the released
code has them, and so they are counted. This file must not know who asks for keys.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from rl_models.layers.attention import padding_of


@dataclass(frozen=True)
class SentenceVectors:
    """What a reader makes of U sentences.

    Attributes:
        keys, values: [U, F] float32.
        key_words, value_words: [U, L] float32, how much each token counts for them.
    """

    keys: Tensor
    values: Tensor
    key_words: Tensor
    value_words: Tensor


class SentenceReader(nn.Module):
    """alpha = softmax(w u + b) over a sentence's tokens u; key or value = W (sum of alpha u) + c."""

    def __init__(self, inputs: int, features: int) -> None:
        """Build both halves.

        Args:
            inputs: width of a token's vector.
            features: F, width of keys and values.
        """
        super().__init__()
        self.key_score, self.key_projection = nn.Linear(inputs, 1), nn.Linear(inputs, features)
        self.value_score, self.value_projection = nn.Linear(inputs, 1), nn.Linear(inputs, features)

    def forward(self, states: Tensor, lengths: Tensor) -> SentenceVectors:
        """Token vectors [U, L, inputs] and lengths [U] -> keys and values."""
        weight = torch.cat([self.key_score.weight, self.value_score.weight])
        bias = torch.cat([self.key_score.bias, self.value_score.bias])
        # Both ways of weighing go over the tokens together: reading them is what takes the time.
        scores = nn.functional.linear(states, weight, bias).mT
        words = (scores + padding_of(states, lengths)).softmax(-1)
        of_key, of_value = (words @ states).unbind(1)
        return SentenceVectors(self.key_projection(of_key), self.value_projection(of_value), *words.unbind(1))
