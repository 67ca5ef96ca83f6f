"""Return estimates with right bootstrapping.

GAE is Schulman et al. 2016, eq. 16; V-trace is Espeholt et al. 2018, eq. 1.

Both read the value that follows each step from `next_values`, which already is V of the final observation where an
episode was truncated and V of the fragment's last observation at its end. So neither a time limit nor the end of a
fragment looks like the end of the world. (Stock RLlib 2.60 drops the bootstrap value at fragment ends.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor


@dataclass(frozen=True)
class Steps:
    """T consecutive steps of B worlds; `...` is empty for a team's sum or N for each agent.

    Attributes:
        rewards: [B, T, ...] float32.
        discounts: [B, T, ...] gamma, and 0 where the game is over, for all or for this agent.
        continues: [B, T, ...] float32, 0 where the episode ended in either way, else 1.
        next_values: [B, T, ...] value of what follows each step: the next step's, or the final observation's where the
            episode was truncated (anything where it terminated).
        decides: [B, T, ...] bool, where an action was chosen (by anybody, where it is the team's); None: everywhere.
            The steps after a decision that only carry it on belong to it: they are discounted, but count neither in
            lambda nor in V-trace's weights nor with a value of their own.
    """

    rewards: Tensor
    discounts: Tensor
    continues: Tensor
    next_values: Tensor
    decides: Tensor | None = None


def following_values(values: Tensor, last_values: Tensor, final_values: Tensor, truncated: Tensor) -> Tensor:
    """Values of what follows each step.

    Args:
        values: [B, T, ...] of the steps' own observations.
        last_values: [B, ...] of the observation after the last step.
        final_values: [B, T, ...] of final observations, read where `truncated`.
        truncated: [B, T, ...] bool.

    Returns:
        [B, T, ...].
    """
    shifted = torch.cat([values[:, 1:], last_values[:, None]], dim=1)
    return torch.where(truncated, final_values, shifted)


def values_of_decisions(steps: Steps, values: Tensor, follow: Callable[[Tensor], Tensor]) -> tuple[Steps, Tensor]:
    """Values with those of undecided steps replaced by reward + discount * next value, back from the next decision.

    With these a decision that lasts d steps is worth its d rewards and gamma ** d times what follows.

    Args:
        steps: what happened, with the `next_values` of `values`.
        values: [B, T, ...].
        follow: values -> values of what follows each step (`following_values` of one batch).

    Returns:
        the steps with what follows them now, and the values [B, T, ...]; both as they were where everybody decides.
    """
    if steps.decides is None:
        return steps, values
    carries = ~steps.decides
    change = _accumulate(_errors(steps, values) * carries, steps.discounts * steps.continues * carries)
    values = values + change
    return replace(steps, next_values=follow(values)), values


def gae(steps: Steps, values: Tensor, lambda_: float) -> Tensor:
    """Generalised advantage estimates, [B, T, ...]. Targets of the value are these plus `values`."""
    weight = lambda_ if steps.decides is None else torch.where(steps.decides, lambda_, 1.0)
    return _accumulate(_errors(steps, values), steps.discounts * steps.continues * weight)


def vtrace(
    steps: Steps, values: Tensor, log_ratios: Tensor, clip_rho: float = 1.0, clip_c: float = 1.0
) -> tuple[Tensor, Tensor]:
    """V-trace targets and policy-gradient advantages for steps sampled by an older policy.

    Args:
        steps: what happened.
        values: [B, T, ...] of the present value function; taken as constants.
        log_ratios: [B, T, ...] log of present over sampling probability of the actions; taken as constants.
        clip_rho: the paper's rho-bar.
        clip_c: the paper's c-bar.

    Returns:
        targets [B, T, ...] and advantages [B, T, ...] already weighted by rho.
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
    """x_t = errors_t + carry_t * x_{t+1}, from the last step backwards."""
    out = torch.empty_like(errors)
    total = torch.zeros_like(errors[:, 0])
    for step in range(errors.shape[1] - 1, -1, -1):
        total = errors[:, step] + carry[:, step] * total
        out[:, step] = total
    return out
