"""Sprites ask a manual: attention of every sprite over the sentences (EMMA, section 4).

A sprite is whatever stands in a cell of the grid; a cell with several has the mean of their queries, as in the released
code. Only occupied cells are computed: an empty one has no query. This file must not know what sentences become.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor


def shares_of_cells(symbols: Tensor, cells: Tensor, dtype: torch.dtype, shown: Tensor | None = None) -> Tensor:
    """How sprites make up the cells that they stand in.

    Args:
        symbols: [..., S] int, 0 for a sprite that is gone.
        cells: [..., S] int.
        dtype: of the result.
        shown: [..., S] bool, sprites that others see; all by default. A hidden one's own row is as if it were shown.

    Returns:
        [..., S, S]: row s holds 1 / n for each of the n sprites in the cell of sprite s, itself among them, and
        0 elsewhere; all 0 for a sprite that is gone.
    """
    is_here = symbols != 0
    together = (cells[..., :, None] == cells[..., None, :]) & is_here[..., :, None] & is_here[..., None, :]
    if shown is not None:
        together &= shown[..., None, :] | torch.eye(shown.shape[-1], dtype=torch.bool, device=shown.device)
    return together.to(dtype) / together.sum(-1, keepdim=True).clamp(min=1)


def score_table(queries: Tensor, keys: Tensor) -> Tensor:
    """Scores q k / sqrt(d) of every symbol and every sentence: [V, d] and [U, d] -> [V, U]."""
    return queries @ keys.T / math.sqrt(keys.shape[-1])


def attend_to_manual(table: Tensor, symbols: Tensor, shares: Tensor, manual: Tensor) -> Tensor:
    """Attention of sprites over the sentences of their frame's manual.

    Args:
        table: [V, U], `score_table`: each score is computed once, however many sprites of however many frames need it.
        symbols: [K, T, S] int, sprites of K frames with T moments each.
        shares: [K, T, S, S], `shares_of_cells`.
        manual: [K, n] int64, the manual's sentences among the U.

    Returns:
        [K, T, S, n] float32, of the cell of each sprite; sums to 1, for sprites that are gone too.
    """
    place = symbols.long()[..., None] * table.shape[1] + manual[:, None, None]
    scores = table.flatten().gather(0, place.flatten()).view(place.shape)
    # Queries of a cell are averaged, and scores are linear in them.
    return torch.matmul(shares, scores).softmax(-1)
