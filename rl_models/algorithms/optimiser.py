"""Optimisers by name with a scheduled learning rate, gradient clipping and a check that gradients are finite.

`AnnealedOptimiserConfig` is the part that a user configures; `optimiser_settings` turns it into the `OptimiserSettings`
of a run, whose learning rates are schedules over its budget.

RLlib 2.60 silently ignores `opt_type` and always builds Adam; its learners use this file instead.

A checkpoint holds the optimiser's state as named tensors, so that it needs nothing but safetensors and JSON.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from rl_models.algorithms.learner_config import AnnealedOptimiserConfig, OptimiserConfig
from rl_models.configuration import list_constants
from rl_models.schedule import Progress, Schedule

_RMSPROP_ALPHA = 0.99


@dataclass(frozen=True, kw_only=True)
class OptimiserSettings(OptimiserConfig):
    """The optimiser of a run, with its learning rates.

    Attributes:
        learning_rate: learning rate of all parameters.
        critic_learning_rate: learning rate of the value head, then a parameter group of its own; None: the same.
        betas: Adam's decay rates; RMSProp has an alpha of 0.99.
    """

    learning_rate: Schedule = field(default_factory=lambda: Schedule.constant(1e-3))
    critic_learning_rate: Schedule | None = None
    betas: tuple[float, float] = (0.9, 0.999)


def optimiser_settings(
    config: AnnealedOptimiserConfig, learning_rate: float, budget_env_steps: int, critic_learning_rate: float = 0.0
) -> OptimiserSettings:
    """The settings of a run, with learning rates that fall until the end of its budget, or in some optimiser steps.

    A `critic_learning_rate` of 0 is that of all others.
    """

    def falling(rate: float) -> Schedule:
        return config.falling(rate, rate * config.final_learning_rate_share, budget_env_steps)

    return OptimiserSettings(
        **list_constants(config, OptimiserConfig),
        learning_rate=falling(learning_rate),
        critic_learning_rate=falling(critic_learning_rate) if critic_learning_rate else None,
    )


def make_optimiser(
    settings: OptimiserSettings, parameters: Iterable[nn.Parameter], critic: Iterable[nn.Parameter] = ()
) -> torch.optim.Optimizer:
    """Build the optimiser over those parameters that require a gradient.

    Those of the critic have a learning rate of their own, if the settings name one.
    """
    trainable = [parameter for parameter in parameters if parameter.requires_grad]
    apart = {id(one) for one in critic} if settings.critic_learning_rate else set()
    own = [one for one in trainable if id(one) in apart]
    others = [one for one in trainable if id(one) not in apart]
    groups = [{"params": others}, *([{"params": own}] if own else [])]
    rate = settings.learning_rate.at(Progress())
    optimiser: torch.optim.Optimizer
    if settings.optimiser == "rmsprop":
        optimiser = torch.optim.RMSprop(groups, lr=rate, alpha=_RMSPROP_ALPHA, eps=settings.optimiser_epsilon)
    else:
        optimiser = torch.optim.Adam(
            groups,
            lr=rate,
            betas=settings.betas,
            eps=settings.optimiser_epsilon,
            amsgrad=settings.amsgrad,
            # The CPU's kernel passes over memory, so weight and gradient need the same layout.
            fused=(bool(trainable) and all(one.device.type != "cpu" or one.is_contiguous() for one in trainable))
            or None,
        )
    set_learning_rate(optimiser, settings, Progress())
    return optimiser


def set_learning_rate(optimiser: torch.optim.Optimizer, settings: OptimiserSettings, progress: Progress) -> float:
    """Apply the schedules; returns the rate of all but a critic with a rate of its own."""
    rate = settings.learning_rate.at(progress)
    for group in optimiser.param_groups:
        group["lr"] = rate
    if settings.critic_learning_rate is not None and len(optimiser.param_groups) > 1:
        optimiser.param_groups[1]["lr"] = settings.critic_learning_rate.at(progress)
    return rate


def clip_gradients(settings: OptimiserSettings, gradients: list[Tensor]) -> tuple[Tensor, Tensor]:
    """Clip in place, without synchronising with the GPU; returns the global norm before it, [] float32.

    Also returns whether every gradient is finite, [] bool; where one is not, none may be used (`step_if_finite`).
    """
    if not gradients:
        return torch.zeros(()), torch.ones((), dtype=torch.bool)
    norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients)))
    if settings.max_grad_norm > 0:
        is_norm = settings.grad_clip_by == "norm"
        size = (norm if is_norm else torch.stack(torch._foreach_norm(gradients, torch.inf)).max()).double()
        scale = torch.where(size > settings.max_grad_norm, settings.max_grad_norm / (size + 1e-6), 1.0)
        torch._foreach_mul_(gradients, scale)
    return norm, norm.isfinite()


def step_if_finite(optimiser: torch.optim.Optimizer, is_finite: Tensor) -> None:
    """Make a step unless a gradient is not finite: one bad batch must not end a run (`training/loop.py`).

    On the CPU the step is skipped. On a GPU, to avoid waiting for `is_finite` ([] bool of `clip_gradients`), fused Adam
    skips it by itself, and RMSProp steps with gradients of 0: without a momentum no weight moves, and its mean squares
    fall by 1 %.
    """
    if optimiser.defaults.get("fused") and is_finite.device.type != "cpu":
        optimiser.found_inf = (~is_finite).float()  # type: ignore[attr-defined]
        optimiser.step()
    elif is_finite.device.type != "cpu":
        _clear_gradients(optimiser, ~is_finite)
        optimiser.step()
    elif is_finite:
        optimiser.step()


def _clear_gradients(optimiser: torch.optim.Optimizer, is_bad: Tensor) -> None:
    """Set all gradients to 0 where `is_bad`, [] bool, is True."""
    for group in optimiser.param_groups:
        for weight in group["params"]:
            if weight.grad is not None:
                weight.grad.masked_fill_(is_bad, 0.0)


def optimiser_tensors(optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    """A copy of the optimiser's state on the CPU, for a checkpoint; hyper-parameters come from the configuration.

    `INDEX.NAME` -> moments (such as `0.exp_avg`) [...] of the parameter's shape and type, and `step` [] float32.
    """
    state = optimiser.state_dict()["state"]
    return {
        f"{index}.{name}": torch.as_tensor(value).detach().to("cpu", copy=True)
        for index, entries in state.items()
        for name, value in entries.items()
    }


def load_optimiser(optimiser: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    """Load the state of `optimiser_tensors` into an optimiser over the same parameters in the same order.

    The tensors are `INDEX.NAME` -> moments [...] of the parameter's shape, or `step` [].
    """
    weights = [weight for group in optimiser.param_groups for weight in group["params"]]
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        index, name = key.split(".", 1)
        weight = weights[int(index)]
        # Copies. Moments have the memory layout of their weight, as a fused kernel requires.
        copied = value.clone() if name == "step" else torch.empty_like(weight).copy_(value)
        state.setdefault(int(index), {})[name] = copied
    optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})
