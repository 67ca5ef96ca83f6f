"""FiLM² layer: the text modulates the visual features, and they modulate the text (RTFM, section 4.1).

Without its second half the layer is FiLM (Perez et al., 2018; Bahdanau et al., 2019), which the FiLM baseline and the
ablation no_text_mod use. The three convolutions have the same input and run as one, and so do the three projections of
the text.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Film2(nn.Module):
    """FiLM² layer: visual features [K, H, W, inputs] and text [K, text features] -> [K, H, W, C]."""

    def __init__(
        self, inputs: int, text_features: int, channels: int, modulates_text: bool = True, kernel_size: int = 3
    ) -> None:
        """Build the layer.

        Args:
            inputs: channels of the visual features.
            text_features: width of the text features.
            channels: C, channels of the output.
            modulates_text: False leaves out eqs. 4-6, and the layer is FiLM.
            kernel_size: side of the convolutions' kernels, an odd number; 1 for a grid of one cell.
        """
        super().__init__()
        self.channels = channels
        self.modulates_text = modulates_text
        outputs = channels * (3 if modulates_text else 1)
        self.convolutions = nn.Conv2d(inputs, outputs, kernel_size, padding=kernel_size // 2)
        self.projections = nn.Linear(text_features, channels * (3 if modulates_text else 2))

    def forward(self, visual: Tensor, text: Tensor) -> tuple[Tensor, Tensor]:
        """Modulated features and their summary.

        Args:
            visual: X_vis, [K, H, W, inputs] float32.
            text: x_text, [K, text features] float32.

        Returns:
            V [K, H, W, C] float32 (eq. 7) and its maximum over the grid, s [K, C] float32 (eq. 8).
        """
        images = _convolve(self.convolutions, visual).split(self.channels, -1)
        vectors = self.projections(text)[:, None, None].split(self.channels, -1)
        output = _modulated(images[0], vectors[0], vectors[1])
        if self.modulates_text:
            output = output + _modulated(vectors[2], images[1], images[2])
        return output, largest_on_grid(output)


def largest_on_grid(cells: Tensor) -> Tensor:
    """Maximum over the whole grid (RTFM, eq. 8): [K, H, W, C] -> [K, C]."""
    # The gradient of max_pool2d is cheaper than that of amax.
    return nn.functional.max_pool2d(cells.permute(0, 3, 1, 2), cells.shape[1:3]).flatten(1)


def _modulated(features: Tensor, gain: Tensor, shift: Tensor) -> Tensor:
    """ReLU((1 + gain) * features + shift): eq. 3 for the visual features, eq. 6 for the text."""
    return torch.addcmul(shift, gain + 1, features).relu_()


def _convolve(convolution: nn.Conv2d, grid: Tensor) -> Tensor:
    """Convolution of [K, H, W, channels]; a view of channels-last memory, so nothing is copied."""
    output: Tensor = convolution(grid.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)
    return output
