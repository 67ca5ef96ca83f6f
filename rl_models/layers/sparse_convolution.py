"""A convolution over moments of a grid that is empty nearly everywhere, computed from what stands in it.

Equal to `nn.Conv2d` over all cells with moments as channels. Both parts are linear and may be exchanged with whatever
mixes features linearly before them: `project` gives a feature's share in the window of cells around it, and `lay_out`
adds such shares up where the sprites stand. This file must not know what features are.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


class SparseConvolution(nn.Module):
    """k x k convolution without padding over a square grid.

    Attributes:
        positions: P, output cells, row by row.
        shares: width of what `project` returns.
    """

    def __init__(self, features: int, maps: int, side: int, moments: int, kernel: int = 2) -> None:
        """Build the convolution.

        Args:
            features: F of one moment; a dense input would have `moments` * F channels, oldest first.
            maps: M, output channels.
            side: cells along a side of the grid.
            moments: T.
            kernel: k.
        """
        super().__init__()
        self.convolution = nn.Conv2d(moments * features, maps, kernel)
        self._features, self._moments, self._window = features, moments, kernel * kernel
        self.positions = (side - kernel + 1) ** 2
        self.shares = moments * self._window * maps
        self._maps = maps
        self.places: Tensor
        self.register_buffer("places", _places(side, kernel), persistent=False)

    def project(self, features: Tensor) -> Tensor:
        """What features [..., F] add to the output cells around them, at each moment: [..., `shares`]."""
        kernel = self.convolution.weight.unflatten(1, (self._moments, self._features))
        rows = kernel.permute(1, 3, 4, 0, 2).reshape(self.shares, self._features)
        return nn.functional.linear(features, rows)

    def by_moment(self, shares: Tensor) -> Tensor:
        """[..., `shares`] -> [..., T, window M], one moment's part for sprites of that moment."""
        return shares.unflatten(-1, (self._moments, -1))

    def lay_out(self, shares: Tensor, cells: Tensor) -> Tensor:
        """Add up the shares of all sprites of all moments.

        Args:
            shares: [K, S, window M], what sprites add around them, 0 for those that are gone.
            cells: [K, S] int, row * side + column.

        Returns:
            [K, P, M], the convolution's output with its bias.
        """
        frames = len(cells)
        first = torch.arange(frames, device=cells.device)[:, None, None] * self.positions
        place = self.places[cells.long()]
        # What falls off the grid is added to one more row, which nobody reads.
        rows = torch.where(place < 0, frames * self.positions, first + place)
        assert self.convolution.bias is not None
        empty = self.convolution.bias.expand(frames * self.positions + 1, self._maps)
        output = empty.index_add(0, rows.flatten(), shares.reshape(-1, self._maps))
        return output[:-1].view(frames, self.positions, self._maps)


def _places(side: int, kernel: int) -> Tensor:
    """[side * side, window] int64, output cells whose window holds an input cell, by offset; -1 where there is none."""
    cells, offsets = torch.arange(side), torch.arange(kernel)
    places = cells[:, None] - offsets  # [side, kernel]
    out = side - kernel + 1
    row, column = places[:, None, :, None], places[None, :, None, :]
    is_inside = (row >= 0) & (row < out) & (column >= 0) & (column < out)
    return torch.where(is_inside, row * out + column, -1).view(side * side, kernel * kernel)
