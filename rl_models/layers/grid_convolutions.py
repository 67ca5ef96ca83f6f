"""The convolutions of A Cordial Sync's agents over a view of 15 x 15 cells (appendix A.4)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

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


def see_in_parts(see: Callable[[Tensor], Tensor], frames: Tensor) -> Tensor:
    """`see` applied to frames [K, ...] -> [K, F], in parts that a CPU's caches hold."""
    parts = frames.split(_FRAMES_AT_ONCE) if frames.device.type == "cpu" else (frames,)
    return torch.cat([see(part) for part in parts])
