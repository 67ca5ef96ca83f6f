"""Attention over words of texts (RTFM, section 4.2) and of sprites over sentences of a manual (EMMA, section 4).

Many frames of an episode attend to the same text. `TextGroups` arranges them so that the frames of one text share a
matrix product, and not every frame needs a copy of the text's states.

`SentenceReader` computes a key and a value for every sentence, from two learned weightings of its tokens. The weights
sum to 1, so averaging the tokens before the projection gives the same result and needs no matrix product a token. The
biases of scores and keys have no effect before a softmax; they exist because the released code has them.

A sprite is an object in a cell of the grid. The sprites of one cell share the mean of their queries, as in the released
code. Only occupied cells are computed, because an empty cell has no query.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from rl_models.runtime.device import count_rows

_FRAMES_TOGETHER = 8
"""Largest number of frames that share one copy of a text's states."""


def attend(states: Tensor, padding: Tensor, queries: Tensor) -> tuple[Tensor, Tensor]:
    """Dot-product attention of queries over words (RTFM, eqs. 14-16).

    Args:
        states: [D, L, F] float32, h_i of every word.
        padding: [D, 1, L] float32, as `padding_scores` returns it.
        queries: [D, Q, F] float32.

    Returns:
        contexts [D, Q, F] float32; attention weights [D, Q, L] float32, which sum to 1 over L.
    """
    weights = torch.baddbmm(padding, queries, states.mT).softmax(-1)
    return weights @ states, weights


def padding_scores(states: Tensor, lengths: Tensor) -> Tensor:
    """Scores that mask the padding of texts; they are added to attention scores.

    Args:
        states: [D, L, F] float32, states of the words; only shape, type and device matter.
        lengths: [D] int64, number of words of each text.

    Returns:
        [D, 1, L] float32, 0 on words and minus infinity on padding.
    """
    is_padding = torch.arange(states.shape[1], device=lengths.device) >= lengths[:, None]
    return states.new_zeros(is_padding.shape).masked_fill_(is_padding, -torch.inf)[:, None]


class SelfAttention(nn.Module):
    """Fixed-length summary of a text, selfattn(H) (RTFM, eqs. 10-12).

    The bias in eq. 10 has no effect, because a softmax follows; it is counted as a parameter.
    """

    def __init__(self, features: int) -> None:
        super().__init__()
        self.score = nn.Linear(features, 1)

    def forward(self, states: Tensor, lengths: Tensor) -> Tensor:
        """States [D, L, F] float32 and lengths [D] int64 -> summaries [D, F] float32."""
        scores = self.score(states).mT + padding_scores(states, lengths)
        return (scores.softmax(-1) @ states).squeeze(1)


class TextGroups:
    """Groups of at most eight frames that attend to the same text.

    Attributes:
        texts: [G] int64, the text of each group.
    """

    def __init__(self, rows: Tensor, num_texts: int) -> None:
        """Group the frames.

        Args:
            rows: [K] int64, the text of each frame.
            num_texts: D. On an accelerator, which knows alone how many of them are shown, the number of groups is the
                largest that there can be.
        """
        count = count_rows(rows, num_texts)
        is_here = rows.device.type == "cpu"
        present = int((count > 0).sum()) if is_here else num_texts
        self._size = max(1, min(_FRAMES_TOGETHER, len(rows) // max(present, 1)))
        groups = (count + self._size - 1) // self._size
        order = rows.argsort(stable=True)
        ordered = rows[order]
        index_in_text = torch.arange(len(rows), device=rows.device) - (count.cumsum(0) - count)[ordered]
        self._slot = torch.empty_like(rows)
        self._slot[order] = (groups.cumsum(0) - groups)[ordered] * self._size + index_in_text
        if is_here:
            self.texts = torch.arange(num_texts).repeat_interleave(groups)
        else:
            most = torch.arange(len(rows) // self._size + min(len(rows), num_texts), device=rows.device)
            self.texts = torch.searchsorted(groups.cumsum(0), most, right=True).clamp(max=num_texts - 1)

    def attend(self, states: Tensor, padding: Tensor, queries: Tensor) -> tuple[Tensor, Tensor]:
        """Attention of every frame over its own text.

        Args:
            states: [G, L, F] float32, word states of the text of each group.
            padding: [G, 1, L] float32, as `padding_scores` returns it.
            queries: [K, F] float32, one query a frame.

        Returns:
            contexts [K, F] float32; attention weights [K, L] float32.
        """
        slots = queries.new_zeros(len(self.texts) * self._size, queries.shape[1])
        grouped = slots.index_copy(0, self._slot, queries).unflatten(0, (-1, self._size))
        contexts, weights = attend(states, padding, grouped)
        return contexts.flatten(0, 1).index_select(0, self._slot), weights.flatten(0, 1).index_select(0, self._slot)


# ---------------------------------------------------------------------------------- sentences of a manual (EMMA)


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


def shares_of_cells(symbols: Tensor, cells: Tensor, dtype: torch.dtype, shown: Tensor | None = None) -> Tensor:
    """The share of every sprite in the cell of every sprite.

    Args:
        symbols: [..., S] int, 0 for a sprite that is gone.
        cells: [..., S] int, cell of each sprite.
        dtype: type of the result.
        shown: [..., S] bool, sprites that count in the rows of others; None for all. A hidden sprite counts in its own
            row.

    Returns:
        [..., S, S]: row s is 1 / n for each of the n sprites in the cell of sprite s, which is one of them, and 0 for
        all other sprites; the row of a sprite that is gone is 0.
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
    """Scores of queries with the sentences of their frame's manual.

    Args:
        table: [V, U] float32, as `score_table` returns it.
        queries: [K, T, S] int, which of the V queries.
        manual: [K, n] int64, the manual's sentences among the U.

    Returns:
        [K, T, S, n] float32.
    """
    place = queries.long()[..., None] * table.shape[1] + manual[:, None, None]
    return table.flatten().gather(0, place.flatten()).view(place.shape)


def attend_to_manual(table: Tensor, symbols: Tensor, shares: Tensor, manual: Tensor) -> Tensor:
    """Attention of sprites over the sentences of their frame's manual.

    Args:
        table: [V, U] float32, as `score_table` returns it, so each score is computed once for all frames.
        symbols: [K, T, S] int, which of the V queries each sprite of K frames with T moments has; mostly its symbol.
        shares: [K, T, S, S] float32, as `shares_of_cells` returns it.
        manual: [K, n] int64, the manual's sentences among the U.

    Returns:
        [K, T, S, n] float32, attention of each sprite's cell; it sums to 1, also for sprites that are gone.
    """
    # The mean of the queries of a cell gives the mean of their scores.
    return torch.matmul(shares, scores_in_manual(table, symbols, manual)).softmax(-1)
