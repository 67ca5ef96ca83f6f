"""Linear layers and convolutions with weight normalisation (Salimans and Kingma, 2016): w = g v / |v|.

A linear layer has one gain g, or one for each output (as a 1x1 convolution has); a convolution has one for each output
channel. PyTorch's own parametrisation refuses to be pickled, which processes that exchange modules do.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional


class NormalisedLinear(nn.Linear):
    """A linear layer whose weights have a learned length."""

    def __init__(self, inputs: int, outputs: int, per_output: bool = False) -> None:
        """Begin with the weights of `nn.Linear`, with one gain or one for each output."""
        super().__init__(inputs, outputs)
        self._per_output = per_output
        self.gain = nn.Parameter(self._length().detach().clone())

    def _length(self) -> Tensor:
        """Length of the weights, [outputs, 1] or a scalar."""
        return self.weight.norm(dim=1, keepdim=True) if self._per_output else self.weight.norm()

    def forward(self, inputs: Tensor) -> Tensor:
        """[..., inputs] -> [..., outputs] float32."""
        return functional.linear(inputs, self.weight * (self.gain / self._length()), self.bias)


class NormalisedConvolution(nn.Conv2d):
    """A 3x3 convolution that keeps height and width, with one gain for each output channel."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs, 3, padding=1)
        self.gain = nn.Parameter(self._length().detach().clone())

    def _length(self) -> Tensor:
        """[outputs, 1, 1, 1]."""
        return torch.linalg.vector_norm(self.weight, dim=(1, 2, 3), keepdim=True)

    def forward(self, images: Tensor) -> Tensor:
        """[K, inputs, H, W] -> [K, outputs, H, W] float32."""
        return self._conv_forward(images, self.weight * (self.gain / self._length()), self.bias)
