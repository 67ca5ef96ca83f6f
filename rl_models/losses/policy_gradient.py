"""Policy losses of PPO and IMPALA, value losses, and masked means.

Tensors are [B, T, 1] in a team's joint form and [B, T, N] in the per-agent form; M below is 1 or N. As in the authors'
code of A Cordial Sync, losses are summed over agents and averaged over steps, so a term has the same weight in both
forms and for any number of agents.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import torch
from torch import Tensor

OverLearners: TypeAlias = Callable[[Tensor], Tensor]
"""Sums a tensor over all learners, [...] -> [...]; learners may have different numbers of worlds."""


def masked_mean(x: Tensor, mask: Tensor | None) -> Tensor:
    """Mean over the entries that count, a scalar; 0 if no entry counts.

    Args:
        x: [...] float32.
        mask: [...] bool, entries that count; None for all.
    """
    if mask is None:
        return x.mean()
    return (x * mask).sum() / mask.sum().clamp(min=1)


def team_mean(x: Tensor, mask: Tensor | None) -> Tensor:
    """Sum over agents and mean over the steps at which at least one agent counts, a scalar.

    Args:
        x: [B, T, M] float32.
        mask: [B, T, M] bool, entries that count; None for all.
    """
    if mask is None:
        return x.sum(-1).mean()
    return (x * mask).sum() / mask.any(-1).sum().clamp(min=1)


def alone(x: Tensor) -> Tensor:
    """The sum over a single learner: x [...] -> [...], unchanged."""
    return x


def standardise(x: Tensor, mask: Tensor | None, over_learners: OverLearners = alone) -> Tensor:
    """Subtract the mean and divide by the standard deviation of the entries that count, [...] float32.

    Args:
        x: [...] float32.
        mask: [...] bool, entries that count; None for all.
        over_learners: sums over learners; mean and deviation are then those of all learners' entries.
    """
    mean = _mean_over_learners(x, mask, over_learners)
    return (x - mean) / (_mean_over_learners((x - mean) ** 2, mask, over_learners).sqrt() + 1e-8)


def _mean_over_learners(x: Tensor, mask: Tensor | None, over_learners: OverLearners) -> Tensor:
    """`masked_mean` over the entries of all learners together; a learner may have none."""
    counts = torch.ones_like(x, dtype=torch.bool) if mask is None else mask
    total, number = over_learners(torch.stack([(x * counts).sum().double(), counts.sum().double()]))
    return (total / number.clamp(min=1)).to(x.dtype)


def ppo_surrogate(log_ratio: Tensor, advantages: Tensor, clip: float, mask: Tensor | None = None) -> Tensor:
    """Clipped surrogate loss of PPO (Schulman et al. 2017, eq. 7), a scalar.

    Args:
        log_ratio: [B, T, M] float32, log of the present over the old probability of the actions.
        advantages: [B, T, M] float32, constants.
        clip: clip range of the ratio, epsilon in the paper.
        mask: [B, T, M] bool, entries that count; None for all.
    """
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1.0 - clip, 1.0 + clip)
    return -team_mean(torch.minimum(ratio * advantages, clipped * advantages), mask)


def policy_gradient_loss(log_prob: Tensor, advantages: Tensor, mask: Tensor | None = None) -> Tensor:
    """Policy gradient loss -log pi(a) * advantage, a scalar.

    Args:
        log_prob: [B, T, M] float32, log-probabilities of the actions.
        advantages: [B, T, M] float32, taken as constants.
        mask: [B, T, M] bool, entries that count; None for all.
    """
    return -team_mean(log_prob * advantages.detach(), mask)


def value_loss(values: Tensor, targets: Tensor, mask: Tensor | None = None) -> Tensor:
    """Squared error of the values without a factor of one half, a scalar.

    Args:
        values: [B, T, M] float32.
        targets: [B, T, M] float32, taken as constants.
        mask: [B, T, M] bool, entries that count; None for all.
    """
    return team_mean((values - targets.detach()) ** 2, mask)


def clipped_value_loss(
    values: Tensor, targets: Tensor, old_values: Tensor, clip: float, mask: Tensor | None = None
) -> Tensor:
    """The larger of the squared errors of the value and of the clipped value, a scalar.

    Verco's eq. 5 takes the smaller error, which would reward values that move away; the code of its base method takes
    the larger error.

    Args:
        values: [B, T, M] float32.
        targets: [B, T, M] float32, taken as constants.
        old_values: [B, T, M] float32, values at the time of acting.
        clip: largest distance of the clipped value from the old one.
        mask: [B, T, M] bool, entries that count; None for all.
    """
    clipped = old_values + (values - old_values).clamp(-clip, clip)
    targets = targets.detach()
    return team_mean(torch.maximum((values - targets) ** 2, (clipped - targets) ** 2), mask)


def approximate_kl(log_ratio: Tensor, mask: Tensor | None = None) -> Tensor:
    """Mean of r - 1 - log r, a scalar: it is never negative, and its expectation is KL(old || new), in nats.

    Args:
        log_ratio: [B, T, M] float32, log r, where r is the present over the old probability of the actions.
        mask: [B, T, M] bool, entries that count; None for all.
    """
    return masked_mean(log_ratio.exp() - 1 - log_ratio, mask)
