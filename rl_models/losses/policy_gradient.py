"""Surrogate losses of PPO and IMPALA, the value loss, and means over the steps that count.

Shapes are [B, T, 1] for a team's joint form and [B, T, N] for the per-agent form. As in the authors' code of A Cordial
Sync, agents are summed and steps averaged, so a term keeps its weight whatever the form and the number of agents.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import torch
from torch import Tensor

OverLearners: TypeAlias = Callable[[Tensor], Tensor]
"""A learner's tensor -> the sum of all learners' tensors; their shares of the worlds may differ."""


def masked_mean(x: Tensor, mask: Tensor | None) -> Tensor:
    """Mean over entries where `mask` (same shape, bool) is true; over all without one; 0 if none counts."""
    if mask is None:
        return x.mean()
    return (x * mask).sum() / mask.sum().clamp(min=1)


def team_mean(x: Tensor, mask: Tensor | None) -> Tensor:
    """Sum over agents, mean over the steps at which anybody counts; x [B, T, 1 or N], mask of the same shape."""
    if mask is None:
        return x.sum(-1).mean()
    return (x * mask).sum() / mask.any(-1).sum().clamp(min=1)


def alone(x: Tensor) -> Tensor:
    """`OverLearners` where there is one."""
    return x


def standardise(x: Tensor, mask: Tensor | None, over_learners: OverLearners = alone) -> Tensor:
    """Subtract the mean and divide by the standard deviation of the entries that count.

    Args:
        x: of any shape.
        mask: entries that count; None for all.
        over_learners: for entries that are shared out; mean and deviation are then those of all learners.
    """
    mean = _mean_over_learners(x, mask, over_learners)
    return (x - mean) / (_mean_over_learners((x - mean) ** 2, mask, over_learners).sqrt() + 1e-8)


def _mean_over_learners(x: Tensor, mask: Tensor | None, over_learners: OverLearners) -> Tensor:
    """`masked_mean` of all learners' entries together, of which one learner may have none."""
    counts = torch.ones_like(x, dtype=torch.bool) if mask is None else mask
    total, number = over_learners(torch.stack([(x * counts).sum().double(), counts.sum().double()]))
    return (total / number.clamp(min=1)).to(x.dtype)


def ppo_surrogate(log_ratio: Tensor, advantages: Tensor, clip: float, mask: Tensor | None = None) -> Tensor:
    """Clipped surrogate loss (Schulman et al. 2017, eq. 7), a scalar to minimise."""
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1.0 - clip, 1.0 + clip)
    return -team_mean(torch.minimum(ratio * advantages, clipped * advantages), mask)


def policy_gradient(log_prob: Tensor, advantages: Tensor, mask: Tensor | None = None) -> Tensor:
    """-log pi(a) * advantage, a scalar to minimise; advantages are constants."""
    return -team_mean(log_prob * advantages.detach(), mask)


def value_error(values: Tensor, targets: Tensor, mask: Tensor | None = None) -> Tensor:
    """Squared error of the values, without a factor of one half."""
    return team_mean((values - targets.detach()) ** 2, mask)


def clipped_value_error(
    values: Tensor, targets: Tensor, recorded: Tensor, clip: float, mask: Tensor | None = None
) -> Tensor:
    """The larger of the squared errors of the value and of the value held within `clip` of the recorded one.

    Verco's eq. 5 has the smaller one, which would pay for moving away; its base method's code has the larger one.
    """
    held = recorded + (values - recorded).clamp(-clip, clip)
    targets = targets.detach()
    return team_mean(torch.maximum((values - targets) ** 2, (held - targets) ** 2), mask)


def approximate_kl(log_ratio: Tensor, mask: Tensor | None = None) -> Tensor:
    """Mean of r - 1 - log r over the choices that count: never negative, and its expectation is KL(old || new)."""
    return masked_mean(log_ratio.exp() - 1 - log_ratio, mask)
