"""Samples made from uniform numbers, with gradients to what they are drawn from.

The uniforms are observations (`runtime/added_observations.py`), so a sample is the same when acting and in every epoch
of learning.
"""

import math

import torch
from torch import Tensor

_EPSILON = 1e-6
"""Smallest distance of a uniform number from 0 and 1, so that the result is finite."""


def standard_normal(uniforms: Tensor) -> Tensor:
    """Standard normal numbers by the inverse distribution function: [...] in [0, 1] -> [...] float32."""
    inside = uniforms.float().clamp(_EPSILON, 1 - _EPSILON)
    return math.sqrt(2) * torch.erfinv(2 * inside - 1)


def choose_one(logits: Tensor, uniforms: Tensor | None) -> Tensor:
    """Draw one of K classes by straight-through Gumbel-softmax with a temperature of 1 (Jang et al., 2017).

    Logits and uniforms in [0, 1], [..., K] each, -> [..., K] float32, exactly one 1 in each row and otherwise 0, with
    the gradient of the soft sample; without uniforms the most probable class.
    """
    if uniforms is not None:
        inside = uniforms.to(logits.dtype).clamp(_EPSILON, 1 - _EPSILON)
        logits = logits - (-inside.log()).log()
    soft = logits.softmax(-1)
    hard = torch.zeros_like(soft).scatter(-1, logits.argmax(-1, keepdim=True), 1.0)
    # The difference is exactly 0, so the result is exactly 0 or 1.
    return hard + (soft - soft.detach())
