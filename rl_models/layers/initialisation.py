"""Initial weights of the papers' code: Glorot-uniform weights, in A Cordial Sync with a gain for convolutions."""

import math

import torch
from torch import nn


def glorot_(module: nn.Module) -> None:
    """Set Glorot-uniform weights and zero biases of linear, convolutional and recurrent layers, in place.

    Weights of convolutions have a gain of sqrt(2), for the ReLU that follows them.
    """
    for layer in module.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.xavier_uniform_(layer.weight, gain=math.sqrt(2.0))
            _zero(layer.bias)
        elif isinstance(layer, nn.Linear):
            nn.init.xavier_uniform_(layer.weight)
            _zero(layer.bias)
        elif isinstance(layer, nn.LSTMCell):
            for name, parameter in layer.named_parameters():
                nn.init.zeros_(parameter) if name.startswith("bias") else nn.init.xavier_uniform_(parameter)


def glorot_matrices_(module: nn.Module) -> None:
    """Set Glorot-uniform matrices and kernels in place, and leave PyTorch's biases (MESSENGER's released code)."""
    for parameter in module.parameters():
        if parameter.ndim > 1:
            nn.init.xavier_uniform_(parameter)


def normalise_rows_(weight: torch.Tensor, norm: float) -> None:
    """Scale every row of `weight` [outputs, inputs] to the Euclidean norm `norm`, in place."""
    with torch.no_grad():
        weight.mul_(norm / weight.norm(dim=1, keepdim=True))


def _zero(bias: torch.Tensor | None) -> None:
    if bias is not None:
        nn.init.zeros_(bias)
