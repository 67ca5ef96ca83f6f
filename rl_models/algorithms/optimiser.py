"""Optimisers by name with a scheduled learning rate, gradient clipping and a check that gradients are finite.

RLlib 2.60 silently ignores `opt_type` and always builds Adam; its learners use this file instead.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor, nn

from rl_models.schedule import Progress, Schedule

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class OptimiserSettings:
    """Which optimiser, with which constants."""

    kind: Literal["adam", "rmsprop"] = "adam"
    learning_rate: Schedule = field(default_factory=lambda: Schedule.constant(1e-3))
    critic_learning_rate: Schedule | None = None
    """Of the value head, which then is a group of parameters of its own; None: the same as of all others."""
    epsilon: float = 1e-5
    betas: tuple[float, float] = (0.9, 0.999)
    """Adam's decay rates; RMSProp uses the second as its alpha."""
    amsgrad: bool = False
    clip: float = 1.0
    """Gradients are scaled down together until their global norm is at most this: Euclidean, or the largest entry."""
    clip_by: Literal["norm", "largest"] = "norm"


def make_optimiser(
    settings: OptimiserSettings, parameters: Iterable[nn.Parameter], critic: Iterable[nn.Parameter] = ()
) -> torch.optim.Optimizer:
    """Build the optimiser over those parameters that require a gradient.

    Args:
        settings: which one.
        parameters: all of them.
        critic: those among them that have a learning rate of their own, if the settings name one.
    """
    trainable = [parameter for parameter in parameters if parameter.requires_grad]
    groups = _groups(trainable, {id(one) for one in critic} if settings.critic_learning_rate else set())
    rate = settings.learning_rate.at(Progress())
    optimiser: torch.optim.Optimizer
    if settings.kind == "rmsprop":
        optimiser = torch.optim.RMSprop(groups, lr=rate, alpha=settings.betas[1], eps=settings.epsilon)
    else:
        optimiser = torch.optim.Adam(
            groups, lr=rate, betas=settings.betas, eps=settings.epsilon, amsgrad=settings.amsgrad
        )
    set_learning_rate(optimiser, settings, Progress())
    return optimiser


def _groups(trainable: list[nn.Parameter], critic: set[int]) -> list[dict[str, Any]]:
    """One group, or the critic's behind that of all others."""
    own = [parameter for parameter in trainable if id(parameter) in critic]
    others = [parameter for parameter in trainable if id(parameter) not in critic]
    return [{"params": others}, {"params": own}] if own else [{"params": others}]


def set_learning_rate(optimiser: torch.optim.Optimizer, settings: OptimiserSettings, progress: Progress) -> float:
    """Apply the schedules; returns the rate of all but a critic with a rate of its own."""
    rate = settings.learning_rate.at(progress)
    for group in optimiser.param_groups:
        group["lr"] = rate
    if settings.critic_learning_rate is not None and len(optimiser.param_groups) > 1:
        optimiser.param_groups[1]["lr"] = settings.critic_learning_rate.at(progress)
    return rate


def clip_gradients(settings: OptimiserSettings, gradients: list[Tensor]) -> tuple[float, bool]:
    """Clip in place. Returns the global norm before clipping, and whether every gradient is finite.

    Non-finite gradients are set to zero, and the caller must skip the step: one bad batch must not end a run.
    """
    norm = float(torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients)))) if gradients else 0.0
    if norm != norm or norm == float("inf"):
        logger.warning("a gradient is not finite (norm %s): this update is skipped", norm)
        torch._foreach_zero_(gradients)
        return norm, False
    size = norm if settings.clip_by == "norm" else max(float(gradient.abs().max()) for gradient in gradients)
    if size > settings.clip:
        torch._foreach_mul_(gradients, settings.clip / (size + 1e-6))
    return norm, True
