"""Return estimates with bootstrapping at time limits and fragment ends.

GAE is eq. 16 of Schulman et al. 2016; V-trace is eq. 1 of Espeholt et al. 2018.

Both read the value after each step from `next_values`. It is V of the final observation if the episode was truncated,
and V of the fragment's last observation at the end of the fragment. So neither a time limit nor the end of a fragment
counts as the end of the game. (Stock RLlib 2.60 drops the bootstrap value at fragment ends.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor


@dataclass(frozen=True)
class Steps:
    """T consecutive steps of B worlds; `...` is empty for the sum over a team, or N for each agent.

    Attributes:
        rewards: [B, T, ...] float32.
        discounts: [B, T, ...] float32, gamma, or 0 if the game is over for the team or for this agent.
        continues: [B, T, ...] float32, 0 if the episode terminated or was truncated, else 1.
        next_values: [B, T, ...] float32, value of the next step, or of the final observation if the episode was
            truncated. It may be anything if the episode terminated.
        decides: [B, T, ...] bool, steps at which an agent (any agent of a team) chooses an action; None for all steps.
            Steps that only continue a decision belong to it: they are discounted, but they count neither in lambda nor
            in V-trace's weights, and they have no value of their own.
    """

    rewards: Tensor
    discounts: Tensor
    continues: Tensor
    next_values: Tensor
    decides: Tensor | None = None


def following_values(values: Tensor, last_values: Tensor, final_values: Tensor, truncated: Tensor) -> Tensor:
    """Values of the observations that follow each step, [B, T, ...] float32.

    Args:
        values: [B, T, ...] float32, values of the observations before each step.
        last_values: [B, ...] float32, values of the observation after the last step.
        final_values: [B, T, ...] float32, values of final observations, used where `truncated`.
        truncated: [B, T, ...] bool.
    """
    shifted = torch.cat([values[:, 1:], last_values[:, None]], dim=1)
    return torch.where(truncated, final_values, shifted)


def values_of_decisions(steps: Steps, values: Tensor, follow: Callable[[Tensor], Tensor]) -> tuple[Steps, Tensor]:
    """Replace values between decisions by reward + discount * next value, computed backwards from the next decision.

    The value of a decision that lasts d steps thus is the sum of its d discounted rewards and gamma ** d times the
    value after it.

    Args:
        steps: the steps, with the `next_values` of `values`.
        values: [B, T, ...] float32.
        follow: values [B, T, ...] -> values after each step [B, T, ...] (`following_values` of this batch).

    Returns:
        the steps with new `next_values`, and the new values [B, T, ...]; both unchanged if all steps decide.
    """
    if steps.decides is None:
        return steps, values
    continuing = ~steps.decides
    change = _accumulate(_errors(steps, values) * continuing, steps.discounts * steps.continues * continuing)
    values = values + change
    return replace(steps, next_values=follow(values)), values


def gae(steps: Steps, values: Tensor, gae_lambda: float) -> Tensor:
    """Generalised advantage estimates (Schulman et al. 2016, eq. 16), [B, T, ...] float32.

    The targets of the values are these advantages plus `values`.

    Args:
        steps: the steps.
        values: [B, T, ...] float32.
        gae_lambda: lambda, in [0, 1].
    """
    weight = gae_lambda if steps.decides is None else torch.where(steps.decides, gae_lambda, 1.0)
    return _accumulate(_errors(steps, values), steps.discounts * steps.continues * weight)


def vtrace(
    steps: Steps, values: Tensor, log_ratios: Tensor, clip_rho: float = 1.0, clip_c: float = 1.0
) -> tuple[Tensor, Tensor]:
    """V-trace targets and advantages for steps sampled by an older policy (Espeholt et al. 2018, eq. 1).

    Args:
        steps: the steps.
        values: [B, T, ...] float32, values of the present value function, taken as constants.
        log_ratios: [B, T, ...] float32, log of the present over the sampling probability of the actions, taken as
            constants.
        clip_rho: rho-bar, largest weight of a temporal-difference error.
        clip_c: c-bar, largest weight of the trace.

    Returns:
        value targets [B, T, ...] float32; advantages [B, T, ...] float32, already weighted by rho.
    """
    values, ratios = values.detach(), log_ratios.detach().exp()
    rho = ratios.clamp(max=clip_rho)
    trace = ratios.clamp(max=clip_c)
    if steps.decides is not None:
        trace = torch.where(steps.decides, trace, 1.0)
    targets = values + _accumulate(rho * _errors(steps, values), steps.discounts * steps.continues * trace)
    after = torch.cat([targets[:, 1:], steps.next_values[:, -1:]], dim=1)
    after = torch.where(steps.continues.bool(), after, steps.next_values)
    return targets, rho * (steps.rewards + steps.discounts * after - values)


def _errors(steps: Steps, values: Tensor) -> Tensor:
    """One-step temporal-difference errors, [B, T, ...]."""
    return steps.rewards + steps.discounts * steps.next_values - values


def _accumulate(errors: Tensor, carry: Tensor) -> Tensor:
    """[B, T, ...], x_t = errors_t + carry_t * x_{t+1}, computed from the last step backwards."""
    out = torch.empty_like(errors)
    total = torch.zeros_like(errors[:, 0])
    for step in range(errors.shape[1] - 1, -1, -1):
        total = errors[:, step] + carry[:, step] * total
        out[:, step] = total
    return out
