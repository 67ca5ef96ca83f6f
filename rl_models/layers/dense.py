"""Linear layers, each with an activation after it."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from torch import nn


def dense(widths: Sequence[int], activation: type[nn.Module], bias: bool = True) -> nn.Sequential:
    """Layers of these widths, the input's first."""
    return nn.Sequential(*_layers(widths, activation, bias))


def _layers(widths: Sequence[int], activation: type[nn.Module], bias: bool) -> Iterator[nn.Module]:
    for inputs, outputs in pairwise(widths):
        yield nn.Linear(inputs, outputs, bias)
        yield activation()
