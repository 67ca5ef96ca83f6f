"""Heads of a team that acts by action values: an epsilon-greedy policy, and the value of the best action."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rl_models.distributions.epsilon_greedy import EpsilonGreedy
from rl_models.policy import Features


def legal_values(features: Features) -> Tensor:
    """Action values of a Q network, [B, T, N, A] float32, minus infinity for illegal actions."""
    values = features.features
    return values if features.legal is None else values.masked_fill(~features.legal, -torch.inf)


class EpsilonGreedyHead(nn.Module):
    """Epsilon-greedy policy over action values. Epsilon is a buffer, so it reaches env runners with the weights."""

    epsilon: Tensor

    def __init__(self, num_actions: int, epsilon: float) -> None:
        """Set the first epsilon.

        Args:
            num_actions: A.
            epsilon: probability of a uniformly drawn legal action, until a learner sets another one.
        """
        super().__init__()
        self.components, self.num_actions = 1, num_actions
        self.register_buffer("epsilon", torch.tensor([epsilon]))

    def forward(self, features: Features) -> EpsilonGreedy:
        """Action values [B, T, N, A] as features -> joint policy with batch shape [B, T] and M = 1."""
        return EpsilonGreedy.from_values(legal_values(features).detach(), self.epsilon)


class BestValueHead(nn.Module):
    """The value of each agent's best legal action."""

    def forward(self, features: Features) -> Tensor:
        """Action values [B, T, N, A] as features -> values [B, T, N] float32."""
        return legal_values(features).amax(-1)
