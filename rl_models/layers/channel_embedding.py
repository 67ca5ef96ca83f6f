"""Embedding of grids whose cells carry a set of binary channels (A Cordial Sync, appendix A.4)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

_EPSILON = 1e-3


class ChannelEmbedding(nn.Module):
    """Mean of the learned vectors of a cell's active channels: sum / (number active + 0.001).

    Attributes:
        weight: [C, F] one vector a channel.
    """

    def __init__(self, channels: int, features: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(channels, features))

    def shares(self, grid: Tensor) -> Tensor:
        """What each active channel counts for in its cell.

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
