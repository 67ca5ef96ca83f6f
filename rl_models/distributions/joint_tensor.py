"""Functions that joint policies share: tensors over all joint actions, with one axis an agent, and sampling."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


def outer(vectors: Tensor, combine: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """Outer product or outer sum of one vector an agent, [..., A, ..., A] with N action axes.

    Args:
        vectors: [..., N, A] float32, one vector an agent.
        combine: `torch.mul` for the outer product, `torch.add` for the outer sum.
    """
    total = vectors[..., 0, :]
    for agent in range(1, vectors.shape[-2]):
        total = combine(total[..., None], vectors[..., agent, :].reshape(*vectors.shape[:-2], *[1] * agent, -1))
    return total


def l1_to_product(joint: Tensor, marginals: Tensor) -> Tensor:
    """L1 distance between a joint policy and the product of its marginals, [...] float32 in [0, 2].

    Half of it is the total variation that the authors' code reports (A Cordial Sync, section 6.2). The paper defines
    the distance to the nearest rank-one tensor, and this distance is an upper bound of it.

    Args:
        joint: [..., A, ..., A] float32, Pi with N action axes.
        marginals: [..., N, A] float32, the marginals of Pi.
    """
    return (joint - outer(marginals, torch.mul)).abs().flatten(-marginals.shape[-2]).sum(-1)


def inverse_cdf(log_probabilities: Tensor, uniform: Tensor) -> Tensor:
    """Sample by inverse CDF, [...] int64: the index of the interval that holds the uniform number.

    Args:
        log_probabilities: [..., K] float32, of K outcomes.
        uniform: [...] in [0, 1).
    """
    # In single precision a uniform number just below 1 rounds up to 1 and picks the last index, whatever its
    # probability. In double precision it stays below the total, to which it is scaled because rounding moves that too.
    cumulative = log_probabilities.double().exp().cumsum(-1)
    index = (cumulative <= (uniform * cumulative[..., -1])[..., None]).sum(-1)
    return index.clamp_(max=log_probabilities.shape[-1] - 1)
