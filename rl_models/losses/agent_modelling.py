"""Agent modelling: cross-entropy of what an agent expects of the others with what they did (EnDi, section 4.2).

This file must not know where the expectations come from.
"""

from __future__ import annotations

import torch
from torch import Tensor


def of_others(values: Tensor) -> Tensor:
    """What each agent's others have: [..., N] -> [..., N, N - 1], those of agents i + 1, i + 2, ... modulo N."""
    agents = torch.arange(values.shape[-1], device=values.device)
    return values[..., (agents[:, None] + agents[1:]) % len(agents)]


def modelling_error(logits: Tensor, actions: Tensor) -> Tensor:
    """Minus the log-probability of what the others did in the same step.

    Args:
        logits: [..., N, N - 1, A] float, of what agent i expects of agents i + 1, i + 2, ...
        actions: [..., N] int64, what all did.

    Returns:
        [..., N, N - 1].
    """
    return -torch.take_along_dim(logits.log_softmax(-1), of_others(actions)[..., None], -1).squeeze(-1)


def modelling_hits(logits: Tensor, actions: Tensor) -> Tensor:
    """[..., N, N - 1] bool, whether the likeliest action was taken; arguments as above."""
    return logits.argmax(-1) == of_others(actions)
