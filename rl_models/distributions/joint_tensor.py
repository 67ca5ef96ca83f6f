"""Tensors over all joint actions, one axis an agent, and the draw from a table: what every joint policy shares."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


def outer(vectors: Tensor, combine: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """One vector an agent, every entry with every other: [..., N, A] -> [..., A, ..., A] with N action axes.

    Args:
        vectors: [..., N, A].
        combine: `torch.mul` for the outer product, `torch.add` for the outer sum.
    """
    total = vectors[..., 0, :]
    for agent in range(1, vectors.shape[-2]):
        total = combine(total[..., None], vectors[..., agent, :].reshape(*vectors.shape[:-2], *[1] * agent, -1))
    return total


def l1_to_product(joint: Tensor, marginals: Tensor) -> Tensor:
    """L1 distance between Pi [..., A, ..., A] and the product of its own marginals [..., N, A], [...].

    Half of it is the total variation that the authors' code reports. The paper speaks of the nearest rank-one
    tensor; this is an upper bound of that distance.
    """
    return (joint - outer(marginals, torch.mul)).abs().flatten(-marginals.shape[-2]).sum(-1)


def inverse_cdf(log_probabilities: Tensor, uniform: Tensor) -> Tensor:
    """Index of the interval of the cumulative distribution that holds `uniform`: [..., K], [...] -> [...] int64."""
    # In single precision a uniform number just under 1 would round up to 1, and pick the last index whatever its
    # probability. In double precision it stays under the total, to which it is scaled because rounding moves that too.
    cumulative = log_probabilities.double().exp().cumsum(-1)
    index = (cumulative <= (uniform * cumulative[..., -1])[..., None]).sum(-1)
    return index.clamp_(max=log_probabilities.shape[-1] - 1)
