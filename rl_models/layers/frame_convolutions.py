"""Convolutions over camera frames (A Cordial Sync, section 4.1, in the form of the authors' code).

Each layer is a convolution, a maximum over 2 x 2 pixels and a ReLU. The first layer reads raw bytes: division by 255
and the usual mean and deviation of ImageNet are folded into its weights, and it pads with the mean colour, which is
what zero padding after the normalisation means. Frames arrive as [height, width, colours], which is channels-last
memory order, so they are never rearranged.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

_LAYERS = ((5, 2), (5, 1), (4, 1), (3, 1), (3, 1))
"""Kernel size and padding of each layer."""

_MEAN, _DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
_COLOURS, _LARGEST_BYTE = 3, 255.0


class FrameConvolutions(nn.Module):
    """Frames of bytes -> features.

    Attributes:
        features: width of the result: pixels that are left times channels of the last layer.
    """

    mean: Tensor
    deviation: Tensor

    def __init__(self, channels: tuple[int, ...], pixels: int) -> None:
        """Build the layers.

        Args:
            channels: output channels of each of at most five layers.
            pixels: P, side of a frame.

        Raises:
            ValueError: so many layers leave nothing of a frame of this size.
        """
        super().__init__()
        shapes = _LAYERS[: len(channels)]
        left = pixels_left(len(channels), pixels)
        inputs = (_COLOURS, *channels[:-1])
        self.convolutions = nn.ModuleList(
            nn.Conv2d(before, after, size, padding=padding)
            for before, after, (size, padding) in zip(inputs, channels, shapes, strict=True)
        )
        for layer in self.convolutions:
            layer.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.pixels, self.features = pixels, left * left * channels[-1]
        self.register_buffer("mean", _LARGEST_BYTE * torch.tensor(_MEAN), persistent=False)
        self.register_buffer("deviation", _LARGEST_BYTE * torch.tensor(_DEVIATION), persistent=False)

    def forward(self, frames: Tensor) -> Tensor:
        """Frames [K, P, P, 3] uint8 -> features [K, features] float32."""
        first, *others = self.convolutions
        assert isinstance(first, nn.Conv2d) and first.bias is not None
        weight = first.weight / self.deviation[:, None, None]
        bias = first.bias - (weight * self.mean[:, None, None]).sum((1, 2, 3))
        image = _thinned(nn.functional.conv2d(self._padded(frames, _LAYERS[0][1]), weight, bias))
        for layer in others:
            image = _thinned(layer(image))
        return image.permute(0, 2, 3, 1).flatten(1)

    def _padded(self, frames: Tensor, margin: int) -> Tensor:
        """[K, 3, P + 2 margin, P + 2 margin] float32 in channels-last memory order, the margin in the mean colour."""
        count, side = len(frames), self.pixels + 2 * margin
        image = self.mean.expand(count, side, side, _COLOURS).clone(memory_format=torch.contiguous_format)
        image[:, margin:-margin, margin:-margin] = frames
        return image.permute(0, 3, 1, 2)


def pixels_left(num_layers: int, pixels: int) -> int:
    """Side of the image after so many layers.

    Raises:
        ValueError: there are more than five layers or none, or nothing is left.
    """
    if not 1 <= num_layers <= len(_LAYERS):
        raise ValueError(f"frames go through 1 to {len(_LAYERS)} convolutions, got {num_layers}: correct the channels")
    left = pixels
    for size, padding in _LAYERS[:num_layers]:
        left = (left + 2 * padding - size + 1) // 2
    if left < 1:
        raise ValueError(
            f"{num_layers} convolutions leave nothing of a frame of {pixels} x {pixels} pixels: use fewer channels or "
            "larger frames"
        )
    return left


def _thinned(image: Tensor) -> Tensor:
    """Maximum over 2 x 2 pixels, then ReLU: [K, C, H, W] -> [K, C, H / 2, W / 2]."""
    return nn.functional.max_pool2d(image, 2).relu_()
