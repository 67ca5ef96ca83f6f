"""The convolutions of A Cordial Sync's agents over a view of 15 x 15 cells (appendix A.4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import torch
from torch import Tensor, nn

from rl_models.layers.channel_embedding import ChannelEmbedding

_FRAMES_AT_ONCE = 512
"""Frames that go through the convolutions together on a CPU: more of them leave its caches (a quarter slower)."""


class _WholeInputConvolution(nn.Conv2d):
    """A convolution with one position, whose kernel covers its input: one matrix product, at twice the speed."""

    def forward(self, x: Tensor) -> Tensor:
        """[K, channels, 3, 3] in channels-last memory order -> [K, features]."""
        seen, kernel = (tensor.permute(0, 2, 3, 1).flatten(1) for tensor in (x, self.weight))
        return nn.functional.linear(seen, kernel, self.bias)


def grid_convolutions(inputs: int, channels: tuple[int, int, int, int]) -> nn.Sequential:
    """15 x 15 -> 15 x 15 -> 7 x 7 -> 3 x 3 -> features, a ReLU after each."""
    first, second, third, fourth = channels
    layers = (
        nn.Conv2d(inputs, first, 3, padding=1),
        nn.Conv2d(first, second, 3, stride=2),
        nn.Conv2d(second, third, 3, stride=2),
        _WholeInputConvolution(third, fourth, 3),
    )
    return nn.Sequential(*[part for layer in layers for part in (layer, nn.ReLU(inplace=True))])


def see_embedded(embedding: ChannelEmbedding, convolutions: nn.Sequential, grid: Tensor) -> Tensor:
    """`convolutions(embedding(grid))` with the embedding and the first convolution as one.

    Args:
        embedding: of the cells.
        convolutions: as `grid_convolutions`.
        grid: [K, C, 15, 15] uint8 or float, 0 or 1.

    Returns:
        [K, features].
    """
    seen = first_convolution(embedding, cast(nn.Conv2d, convolutions[0]), grid)
    for layer in list(convolutions)[1:]:
        seen = layer(seen)
    return seen


def first_convolution(embedding: ChannelEmbedding, convolution: nn.Conv2d, grid: Tensor) -> Tensor:
    """`convolution(embedding(grid))`: both are linear, so they are one convolution of the channels' shares.

    The embedded grid is never built, and no gradient is computed for every cell of it.
    """
    kernel = torch.einsum("ofhw,cf->ochw", convolution.weight, embedding.weight)
    # The kernel's memory order is that of the result, and the layers after it are fastest with channels last.
    kernel = kernel.contiguous(memory_format=torch.channels_last)
    return nn.functional.conv2d(embedding.shares(grid), kernel, convolution.bias, padding=convolution.padding)


def see_in_parts(see: Callable[[Tensor], Tensor], frames: Tensor) -> Tensor:
    """`see` applied to frames [K, ...] -> [K, F], in parts that a CPU's caches hold."""
    parts = frames.split(_FRAMES_AT_ONCE) if frames.device.type == "cpu" else (frames,)
    return torch.cat([see(part) for part in parts])
