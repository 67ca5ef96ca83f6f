"""Loss of QMIX: Q-learning of a team's joint value (eqs. 5-6) with double Q-learning (van Hasselt et al., 2016).

Targets may look more than one step ahead, as lambda-returns do (Peng's Q(lambda); Peng and Williams, 1996). QMIX itself
looks one step ahead.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from rl_models.losses.policy_gradient import accumulate


def chosen_values(values: Tensor, actions: Tensor) -> Tensor:
    """Values of the actions taken: values [..., N, A] and actions [..., N] int64 -> [..., N] float32."""
    return values.gather(-1, actions.long()[..., None]).squeeze(-1)


def best_values(online: Tensor, target: Tensor) -> Tensor:
    """Target values [..., N, A] of the actions best by the online values [..., N, A]: [..., N] float32."""
    return chosen_values(target, online.argmax(-1))


def double_q_values(online: Tensor, target: Tensor, mix: Callable[[Tensor], Tensor]) -> Tensor:
    """Joint values Q_tot'(s, argmax of online values), [B, T] float32.

    A mixer is monotonic in each agent's value, so each agent's best action is its part of the best joint action. The
    network's values [B, T, N, A], minus infinity for illegal actions, select the actions, the target network's evaluate
    them, and `mix` is the target mixer, [B, T, N] -> [B, T].
    """
    return mix(best_values(online, target))


def td_targets(reward: Tensor, discounts: Tensor, following: Tensor, trace: Tensor | None = None) -> Tensor:
    """Targets of the joint value, [B, T] float32 without gradient: G = r + gamma ((1 - lambda) Q' + lambda G').

    G' is the target of the next step. The team's reward r, the discount gamma (0 if the game is over) and the joint
    value Q' of the best actions after the step (`following`) are [B, T] float32; lambda (`trace`) is [B, T - 1]
    float32, 0 where the next step is of another episode, or None for 0 everywhere.
    """
    following = following.detach()
    one_step = reward + discounts * following
    if trace is None:
        return one_step
    expected = torch.cat([torch.zeros_like(following[:, :1]), following[:, :-1]], dim=1)
    carry = torch.cat([discounts[:, :-1] * trace, torch.zeros_like(discounts[:, :1])], dim=1)
    return expected + accumulate(one_step - expected, carry)


def squared_td_error(joint_values: Tensor, targets: Tensor, counts: Tensor | None = None) -> Tensor:
    """Mean squared error over all B * T steps, a scalar; the error of a step that does not count is 0.

    From joint values [B, T] float32 of the actions taken, targets [B, T] float32 and the steps that count, [B, T] bool
    (None: all).
    """
    error = joint_values - targets
    return (error if counts is None else error.masked_fill(~counts, 0.0)).square().mean()
