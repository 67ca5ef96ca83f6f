"""A 3 x 3 convolution over a grid that is empty nearly everywhere, read only where something stands.

Equal there to `nn.Conv2d` over all cells with a border of zeros. This file must not know what features are.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


class NeighbourConvolution(nn.Module):
    """Features of sprites -> outputs at the sprites' cells."""

    def __init__(self, features: int, outputs: int) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(features, outputs, 3, padding=1)

    def forward(self, features: Tensor, cells: Tensor, side: int) -> Tensor:
        """Convolve.

        Args:
            features: [K, S, F] float, 0 for sprites that are gone; a cell has the sum of those in it.
            cells: [K, S] int, row * side + column.
            side: cells along a side of the grid.

        Returns:
            [K, S, outputs].
        """
        convolution = self.convolution
        kernel = convolution.weight.flatten(2).permute(2, 0, 1)  # [9, outputs, F]
        shares = torch.einsum("ksf,wof->kswo", features, kernel)
        places = torch.stack([cells.long() // side, cells.long() % side], -1)
        apart = places[:, None] - places[:, :, None]  # from the sprite that reads to the one that is read
        is_near = (apart.abs() <= 1).all(-1)
        window = ((apart[..., 0] + 1) * 3 + apart[..., 1] + 1).where(is_near, 0)
        sprite = torch.arange(cells.shape[1], device=cells.device)
        read = shares[torch.arange(len(cells), device=cells.device)[:, None, None], sprite, window]
        assert convolution.bias is not None
        return (read * is_near[..., None]).sum(2) + convolution.bias
