"""Convolution over time steps of a nearly empty grid, computed from its sprites only.

It equals `nn.Conv2d` over all cells with time steps as channels. `project` computes what a feature adds to the outputs
around its cell, and `lay_out` adds these shares up at the cells of the sprites. Both are linear, so a caller may mix
features linearly after `project` instead of before it.
"""

import torch
from torch import Tensor, nn


class SparseConvolution(nn.Module):
    """k x k convolution without padding over a square grid.

    Attributes:
        positions: P, number of output cells, row by row.
        shares: width of the result of `project`.
    """

    def __init__(self, features: int, channels: int, side: int, moments: int, kernel: int = 2) -> None:
        """Build the convolution; a dense input would have `moments` * F channels, oldest first."""
        super().__init__()
        self.convolution = nn.Conv2d(moments * features, channels, kernel)
        self._features, self._moments, self._window = features, moments, kernel * kernel
        self.positions = (side - kernel + 1) ** 2
        self.shares = moments * self._window * channels
        self._channels = channels
        self.output_cells = nn.Buffer(_output_cells(side, kernel), persistent=False)

    def project(self, features: Tensor) -> Tensor:
        """Shares of features in the output cells around them at each time step: [..., F] -> [..., `shares`] float32."""
        kernel = self.convolution.weight.unflatten(1, (self._moments, self._features))
        rows = kernel.permute(1, 3, 4, 0, 2).reshape(self.shares, self._features)
        return nn.functional.linear(features, rows)

    def by_moment(self, shares: Tensor) -> Tensor:
        """The part of each time step: [..., `shares`] -> [..., T, window * C]."""
        return shares.unflatten(-1, (self._moments, -1))

    def lay_out(self, shares: Tensor, cells: Tensor) -> Tensor:
        """Add up the shares [K, S, window * C] of sprites in cells [K, S]: [K, P, C], the convolution with its bias."""
        frames = len(cells)
        first = torch.arange(frames, device=cells.device)[:, None, None] * self.positions
        output_cell = self.output_cells[cells.long()]
        # Shares outside the grid are added to one more row, which is dropped.
        rows = torch.where(output_cell < 0, frames * self.positions, first + output_cell)
        assert self.convolution.bias is not None
        empty = self.convolution.bias.to(shares.dtype).expand(frames * self.positions + 1, self._channels)
        output = empty.index_add(0, rows.flatten(), shares.reshape(-1, self._channels))
        return output[:-1].view(frames, self.positions, self._channels)


def _output_cells(side: int, kernel: int) -> Tensor:
    """[side * side, window] int64, output cells whose window holds an input cell, by offset; -1 if there is none."""
    cells, offsets = torch.arange(side), torch.arange(kernel)
    corners = cells[:, None] - offsets  # [side, kernel]
    out = side - kernel + 1
    row, column = corners[:, None, :, None], corners[None, :, None, :]
    is_inside = (row >= 0) & (row < out) & (column >= 0) & (column < out)
    return torch.where(is_inside, row * out + column, -1).view(side * side, kernel * kernel)
