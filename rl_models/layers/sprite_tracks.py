"""Which sprite of an earlier moment is which sprite of the newest one.

Lists of sprites say nothing of that: each moment has an order of its own, and two entities may look alike. Sprites of
one symbol are matched moment by moment, nearest ones first, each with one at most. This file must not know what symbols
mean.
"""

from __future__ import annotations

import torch
from torch import Tensor

_FAR = 10_000


def tracks(symbols: Tensor, cells: Tensor, side: int) -> Tensor:
    """The newest moment's sprite that each sprite is.

    Args:
        symbols: [K, T, S] int, oldest moment first, 0 for a sprite that is gone.
        cells: [K, T, S] int, row * side + column.
        side: cells along a side of the grid.

    Returns:
        [K, T, S] int64, places in the newest moment; S for what is gone now, or then.
    """
    places = torch.stack([cells.long() // side, cells.long() % side], -1)
    sprites = symbols.shape[-1]
    newest = torch.arange(sprites, device=symbols.device).expand(len(symbols), -1)
    found = [newest.where(symbols[:, -1] > 0, sprites)]
    for moment in range(symbols.shape[1] - 2, -1, -1):
        then, now = moment, moment + 1
        costs = (places[:, then, :, None] - places[:, now, None]).abs().sum(-1)
        alike = (symbols[:, then, :, None] == symbols[:, now, None]) & (symbols[:, then] > 0)[..., None]
        later = torch.nn.functional.pad(found[0], (0, 1), value=sprites)
        found.insert(0, later.gather(1, _matched(costs.masked_fill(~alike, _FAR))))
    return torch.stack(found, 1)


def _matched(costs: Tensor) -> Tensor:
    """Rows to columns, cheapest pairs first: [K, S, S] int64 -> [K, S] int64, S for a row without a column."""
    sprites = costs.shape[-1]
    match = torch.full(costs.shape[:2], sprites, device=costs.device)
    for _ in range(sprites):
        cost, pair = costs.flatten(1).min(-1, keepdim=True)
        row, column = pair // sprites, pair % sprites
        # A row that is left over stays without a column, and one that is found keeps it.
        match = match.scatter(1, row, column.where(cost < _FAR, match.gather(1, row)))
        costs = costs.scatter(1, row[..., None].expand(-1, -1, sprites), _FAR)
        costs = costs.scatter(2, column[..., None].expand(-1, sprites, -1), _FAR)
    return match
