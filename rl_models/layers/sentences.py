"""Attention of sprites over the sentences of a manual (EMMA, section 4).

`SentenceReader` computes a key and a value for every sentence, from two learned weightings of its tokens. The weights
sum to 1, so averaging the tokens before the projection gives the same result and needs no matrix product a token. The
biases of scores and keys have no effect before a softmax; they exist because the released code has them.

A sprite is an object in a cell of the grid. The sprites of one cell share the mean of their queries, as in the released
code. Only occupied cells are computed, because an empty cell has no query.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from rl_models.layers.words import padding_scores


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
        super().__init__()
        self.key_score, self.key_projection = nn.Linear(inputs, 1), nn.Linear(inputs, features)
        self.value_score, self.value_projection = nn.Linear(inputs, 1), nn.Linear(inputs, features)

    def forward(self, states: Tensor, lengths: Tensor) -> SentenceVectors:
        """Keys and values of U sentences with tokens [U, L, inputs] and lengths [U]."""
        weight = torch.cat([self.key_score.weight, self.value_score.weight])
        bias = torch.cat([self.key_score.bias, self.value_score.bias])
        # Both scores are computed in one pass, because reading the tokens takes most of the time.
        scores = nn.functional.linear(states, weight, bias).mT
        words = (scores + padding_scores(states, lengths)).softmax(-1)
        of_key, of_value = (words @ states).unbind(1)
        return SentenceVectors(self.key_projection(of_key), self.value_projection(of_value), *words.unbind(1))


def shares_of_cells(symbols: Tensor, cells: Tensor, dtype: torch.dtype, shown: Tensor | None = None) -> Tensor:
    """The share of every sprite in the cell of every sprite.

    From symbols [..., S], 0 for a sprite that is gone, and cells [..., S] to [..., S, S]: row s is 1 / n for each of
    the n sprites in the cell of sprite s, which is one of them, and 0 for all others; that of a sprite that is gone is
    0. Sprites that are not `shown` [..., S] count in their own row alone.
    """
    is_here = symbols != 0
    together = (cells[..., :, None] == cells[..., None, :]) & is_here[..., :, None] & is_here[..., None, :]
    if shown is not None:
        together &= shown[..., None, :] | torch.eye(shown.shape[-1], dtype=torch.bool, device=shown.device)
    return together.to(dtype) / together.sum(-1, keepdim=True).clamp(min=1)


def score_table(queries: Tensor, keys: Tensor) -> Tensor:
    """Attention scores q k / sqrt(d) of queries and sentences: queries [V, d] and keys [U, d] -> [V, U] float32."""
    return queries @ keys.T / math.sqrt(keys.shape[-1])


def scores_in_manual(table: Tensor, queries: Tensor, manual: Tensor) -> Tensor:
    """Scores [K, T, S, n] of queries [K, T, S] with the sentences of their frame's manual [K, n] int64.

    The table [V, U] float32 is that of `score_table`.
    """
    place = queries.long()[..., None] * table.shape[1] + manual[:, None, None]
    return table.flatten().gather(0, place.flatten()).view(place.shape)


def attend_to_manual(table: Tensor, symbols: Tensor, shares: Tensor, manual: Tensor) -> Tensor:
    """Attention of sprites over the sentences of their frame's manual, [K, T, S, n] float32.

    It is that of each sprite's cell, and sums to 1, also for sprites that are gone. Each score is computed once for all
    frames.

    Args:
        table: [V, U] float32, as `score_table` returns it.
        symbols: [K, T, S] int, which of the V queries each sprite of K frames with T moments has; mostly its symbol.
        shares: [K, T, S, S] float32, as `shares_of_cells` returns it.
        manual: [K, n] int64, the manual's sentences among the U.
    """
    # The mean of the queries of a cell gives the mean of their scores.
    return torch.matmul(shares, scores_in_manual(table, symbols, manual)).softmax(-1)
