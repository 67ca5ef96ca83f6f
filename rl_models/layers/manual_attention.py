"""Attention of sprites over the sentences of a manual (EMMA, section 4).

A sprite is an object in a cell of the grid. The sprites of one cell share the mean of their queries, as in the released
code. Only occupied cells are computed, because an empty cell has no query. This file must not know what the sentences'
values are.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor


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
    """Attention scores q k / sqrt(d) of symbols and sentences: queries [V, d] and keys [U, d] -> [V, U] float32."""
    return queries @ keys.T / math.sqrt(keys.shape[-1])


def attend_to_manual(table: Tensor, symbols: Tensor, shares: Tensor, manual: Tensor) -> Tensor:
    """Attention of sprites over the sentences of their frame's manual.

    Args:
        table: [V, U] float32, as `score_table` returns it, so each score is computed once for all frames.
        symbols: [K, T, S] int, sprites of K frames with T moments each.
        shares: [K, T, S, S] float32, as `shares_of_cells` returns it.
        manual: [K, n] int64, the manual's sentences among the U.

    Returns:
        [K, T, S, n] float32, attention of each sprite's cell; it sums to 1, also for sprites that are gone.
    """
    place = symbols.long()[..., None] * table.shape[1] + manual[:, None, None]
    scores = table.flatten().gather(0, place.flatten()).view(place.shape)
    # The mean of the queries of a cell gives the mean of their scores.
    return torch.matmul(shares, scores).softmax(-1)
