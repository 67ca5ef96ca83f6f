"""Embedding of cells with binary channels, and convolutions over a view of 15 x 15 of them.

A Cordial Sync, section 6.1 (the view) and the authors' code.
"""

import math
from collections.abc import Callable, Sequence
from typing import cast

import torch
from torch import Tensor, nn

_EPSILON = 1e-3


class ChannelEmbedding(nn.Module):
    """Mean of the learned vectors of a cell's active channels: sum / (number of active channels + 0.001)."""

    def __init__(self, channels: int, features: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(channels, features))

    def shares(self, grid: Tensor) -> Tensor:
        """The weight of each channel in its cell's mean, [K, C, H, W] float32, channels last, 0 where it is not active.

        The grid [K, C, H, W] uint8 or float holds 0 and 1.
        """
        # Cells of bytes are put in this order: to reorder the floats later costs more, and convolutions would do it.
        active = grid.contiguous(memory_format=torch.channels_last).to(self.weight.dtype)
        return active / (active.sum(1, keepdim=True) + _EPSILON)

    def forward(self, grid: Tensor) -> Tensor:
        """Embed every cell: [K, C, H, W] of 0 and 1 -> [K, F, H, W] float32, in channels-last memory order."""
        return (self.shares(grid).movedim(1, -1) @ self.weight).movedim(-1, 1)


VALUES_AT_ONCE = 2**19
"""Cells or pixels times channels of the frames in one chunk on a CPU. With more of them the convolutions do not fit
into the caches: chunks of 512 frames take 10 % more time in FurnMove's grid and 15 % more with frames of 42 x 42."""


def whole_input_convolution(x: Tensor, kernel: Tensor, bias: Tensor | None) -> Tensor:
    """Convolution [F, C, H, W] over a whole input [K, C, H, W] -> [K, F], as one matrix product, in half the time.

    All are float32, input and kernel in channels-last memory order; the bias is [F] or None.
    """
    flat, weight = (tensor.permute(0, 2, 3, 1).flatten(1) for tensor in (x, kernel))
    return nn.functional.linear(flat, weight, bias)


class _WholeInputConvolution(nn.Conv2d):
    """A layer of `whole_input_convolution`."""

    def forward(self, x: Tensor) -> Tensor:
        """[K, channels, 3, 3] in channels-last memory order -> [K, F]."""
        return whole_input_convolution(x, self.weight, self.bias)


def grid_convolutions(inputs: int, channels: tuple[int, int, int, int]) -> nn.Sequential:
    """Four convolutions, 15 x 15 -> 15 x 15 -> 7 x 7 -> 3 x 3 -> features, with a ReLU after each."""
    first, second, third, fourth = channels
    layers = (
        nn.Conv2d(inputs, first, 3, padding=1),
        nn.Conv2d(first, second, 3, stride=2),
        nn.Conv2d(second, third, 3, stride=2),
        _WholeInputConvolution(third, fourth, 3),
    )
    return nn.Sequential(*[part for layer in layers for part in (layer, nn.ReLU(inplace=True))])


def leaky_convolutions(inputs: int, channels: Sequence[int], first_kernel: int = 3) -> nn.Sequential:
    """Convolutions of 3 x 3, the last one without padding, with a leaky ReLU after each.

    The first of several has a kernel of side `first_kernel`, an odd number.
    """
    layers: list[nn.Module] = []
    for number, width in enumerate(channels, start=1):
        kernel = first_kernel if number == 1 < len(channels) else 3
        layers += [nn.Conv2d(inputs, width, kernel, padding=kernel // 2 * (number < len(channels))), nn.LeakyReLU()]
        inputs = width
    return nn.Sequential(*layers)


def embed_and_convolve(embedding: ChannelEmbedding, convolutions: nn.Sequential, grid: Tensor) -> Tensor:
    """`convolutions(embedding(grid))` [K, F] float32, the first of which is computed with the embedding.

    The grid [K, C, 15, 15] uint8 or float holds 0 and 1, and the convolutions are those of `grid_convolutions`.
    """
    features = embedded_convolution(embedding, cast(nn.Conv2d, convolutions[0]), grid)
    for layer in list(convolutions)[1:]:
        features = layer(features)
    return features


def embedded_convolution(embedding: ChannelEmbedding, convolution: nn.Conv2d, grid: Tensor) -> Tensor:
    """`convolution(embedding(grid))`, computed as one convolution, because both are linear.

    From a grid [K, C, H, W] uint8 or float of 0 and 1 to [K, F, H, W] float32, channels last. The embedded grid is
    never built, so none of its cells needs a gradient.
    """
    kernel = torch.einsum("ofhw,cf->ochw", convolution.weight, embedding.weight)
    # The result has the kernel's memory order, and the layers after it are fastest with channels last.
    kernel = kernel.contiguous(memory_format=torch.channels_last)
    return nn.functional.conv2d(embedding.shares(grid), kernel, convolution.bias, padding=convolution.padding)


def apply_in_chunks(function: Callable[[Tensor], Tensor], frames: Tensor) -> Tensor:
    """`function` applied to frames [K, ...] -> [K, F]; on a CPU in chunks that fit into its caches."""
    if frames.device.type != "cpu":
        return function(frames)
    at_once = max(1, VALUES_AT_ONCE // math.prod(frames.shape[1:]))
    return torch.cat([function(chunk) for chunk in frames.split(at_once)])
