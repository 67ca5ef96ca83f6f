"""Q-learning of a team's joint value (QMIX, eqs. 5-6) with double Q-learning (van Hasselt et al., 2016)."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor


def chosen_values(values: Tensor, actions: Tensor) -> Tensor:
    """Values of the actions taken: [..., N, A] and [..., N] int64 -> [..., N]."""
    return values.gather(-1, actions.long()[..., None]).squeeze(-1)


def double_q_targets(
    reward: Tensor,
    discounts: Tensor,
    online: Tensor,
    target: Tensor,
    mix: Callable[[Tensor], Tensor],
) -> Tensor:
    """What the joint value of a step should be: r + gamma * Q_tot'(s', argmax of each agent's online values).

    A mixer never falls in an agent's value, so every agent's best action is its part of the best joint action.

    Args:
        reward: [B, T], the team's.
        discounts: [B, T], gamma, or 0 where the game is over.
        online: [B, T, N, A], values at the observation after each step, -inf for what is not legal; they choose.
        target: [B, T, N, A], the target network's; they say what the choice is worth.
        mix: the target mixer at the observation after each step, [B, T, N] -> [B, T].

    Returns:
        [B, T], without a gradient.
    """
    following = mix(chosen_values(target, online.argmax(-1)))
    return (reward + discounts * following).detach()


def squared_td_error(joint_values: Tensor, targets: Tensor, counts: Tensor) -> Tensor:
    """Mean over all steps of the squared error, which is 0 at steps that do not count.

    Args:
        joint_values: [B, T], Q_tot of the actions taken.
        targets: [B, T].
        counts: [B, T] bool.
    """
    error = (joint_values - targets).masked_fill(~counts, 0.0)
    return error.square().mean()
