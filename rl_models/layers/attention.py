"""Attention over the words of texts (RTFM, section 4.2): self-attention and attention to a query.

Many frames of an episode look at the same text. `TextGroups` lays them out so that frames of one text share a matrix
product, instead of each having a copy of the text's states.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

_FRAMES_TOGETHER = 8
"""Most frames that share one copy of a text's states."""


def attend(states: Tensor, padding: Tensor, queries: Tensor) -> tuple[Tensor, Tensor]:
    """Dot-product attention to queries (eqs. 14-16).

    Args:
        states: [D, L, F] float32, h_i of every word.
        padding: [D, 1, L] float32, 0 on words and minus infinity behind them.
        queries: [D, Q, F] float32.

    Returns:
        contexts [D, Q, F]; weights [D, Q, L].
    """
    weights = torch.baddbmm(padding, queries, states.mT).softmax(-1)
    return weights @ states, weights


def padding_of(states: Tensor, lengths: Tensor) -> Tensor:
    """States [D, L, F], lengths [D] -> [D, 1, L], what is added to scores: 0 on words, minus infinity behind them."""
    behind = torch.arange(states.shape[1], device=lengths.device) >= lengths[:, None]
    return states.new_zeros(behind.shape).masked_fill_(behind, -torch.inf)[:, None]


class SelfAttention(nn.Module):
    """Fixed-length summary of a text, selfattn(H) (eqs. 10-12). The softmax ignores the bias that eq. 10 prints."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.score = nn.Linear(features, 1)

    def forward(self, states: Tensor, lengths: Tensor) -> Tensor:
        """States [D, L, F] and lengths [D] -> summaries [D, F]."""
        scores = self.score(states).mT + padding_of(states, lengths)
        return (scores.softmax(-1) @ states).squeeze(1)


class TextGroups:
    """Which frames look at the same text, in groups of at most eight.

    Attributes:
        texts: [G] int64, the text of each group.
    """

    def __init__(self, rows: Tensor) -> None:
        """Arrange frames.

        Args:
            rows: [K] int64, the text that each frame looks at.
        """
        count = rows.bincount()
        present = int((count > 0).sum())
        self._size = max(1, min(_FRAMES_TOGETHER, len(rows) // max(present, 1)))
        groups = (count + self._size - 1) // self._size
        order = rows.argsort(stable=True)
        ordered = rows[order]
        place = torch.arange(len(rows), device=rows.device) - (count.cumsum(0) - count)[ordered]
        self._slot = torch.empty_like(rows)
        self._slot[order] = (groups.cumsum(0) - groups)[ordered] * self._size + place
        self.texts = torch.arange(len(count), device=rows.device).repeat_interleave(groups)

    def attend(self, states: Tensor, padding: Tensor, queries: Tensor) -> tuple[Tensor, Tensor]:
        """Every frame attends to its own text.

        Args:
            states: [G, L, F] float32, of the text of each group.
            padding: [G, 1, L] float32, as `attend` takes it.
            queries: [K, F] float32, one a frame.

        Returns:
            contexts [K, F]; weights [K, L].
        """
        slots = queries.new_zeros(len(self.texts) * self._size, queries.shape[1])
        grouped = slots.index_copy(0, self._slot, queries).unflatten(0, (-1, self._size))
        contexts, weights = attend(states, padding, grouped)
        return contexts.flatten(0, 1).index_select(0, self._slot), weights.flatten(0, 1).index_select(0, self._slot)
