"""Embedding of grids whose cells have binary channels (A Cordial Sync, appendix A.4)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

_EPSILON = 1e-3


class ChannelEmbedding(nn.Module):
    """Mean of the learned vectors of a cell's active channels: sum / (number of active channels + 0.001).

    Attributes:
        weight: [C, F] float32, one vector a channel.
    """

    def __init__(self, channels: int, features: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(channels, features))

    def shares(self, grid: Tensor) -> Tensor:
        """The weight of each channel in the mean of its cell.

        Args:
            grid: [K, C, H, W] uint8 or float, 0 or 1.

        Returns:
            [K, C, H, W] float32, 0 where the channel is not active.
        """
        active = grid.to(self.weight.dtype)
        return active / (active.sum(1, keepdim=True) + _EPSILON)

    def forward(self, grid: Tensor) -> Tensor:
        """Embed every cell.

        Args:
            grid: [K, C, H, W] uint8 or float, 0 or 1.

        Returns:
            [K, F, H, W] float32, in channels-last memory order.
        """
        return (self.shares(grid).movedim(1, -1) @ self.weight).movedim(-1, 1)
