"""Gumbel-softmax over two classes, made hard with a straight-through gradient (Jang et al., 2017; EnDi, section 4.1).

The difference of two Gumbel variables is logistic, so one uniform an element draws between two classes.
"""

from __future__ import annotations

import torch
from torch import Tensor

_NEAREST = 1e-6
"""How near to 0 and 1 a uniform may come, so that its logarithms are finite."""


def choose_first(logits: Tensor, uniforms: Tensor | None, temperature: float = 1.0) -> Tensor:
    """Whether the first of two classes is drawn.

    Args:
        logits: [..., 2] float, of both classes.
        uniforms: [...] in [0, 1]; None takes the likelier class.
        temperature: tau; it changes the gradient, not what is drawn.

    Returns:
        [...] float, exactly 0 or 1, with the gradient of the soft sample.
    """
    margin = logits[..., 0] - logits[..., 1]
    if uniforms is not None:
        inside = uniforms.to(margin.dtype).clamp(_NEAREST, 1 - _NEAREST)
        margin = margin + inside.logit()
    soft = torch.sigmoid(margin / temperature)
    # The difference is exactly 0, whatever a float rounds.
    return (margin > 0).to(soft.dtype) + (soft - soft.detach())
