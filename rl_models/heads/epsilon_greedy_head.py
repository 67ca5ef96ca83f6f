"""Heads of a team that acts by action values: epsilon-greedy play, and what an agent expects of its best action."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rl_models.distributions.epsilon_greedy import EpsilonGreedy
from rl_models.policy import Features


def legal_values(features: Features) -> Tensor:
    """Values of a Q network [B, T, N, A], -inf for what is not legal."""
    values = features.features
    return values if features.legal is None else values.masked_fill(~features.legal, -torch.inf)


class EpsilonGreedyHead(nn.Module):
    """Explores around a network's action values; epsilon is a buffer, so it travels with the weights to who acts."""

    epsilon: Tensor

    def __init__(self, actions: int, epsilon: float) -> None:
        """Set the first epsilon.

        Args:
            actions: A.
            epsilon: probability of a uniformly drawn legal action, until a learner sets another.
        """
        super().__init__()
        self.components, self.actions = 1, actions
        self.register_buffer("epsilon", torch.tensor([epsilon]))

    def forward(self, features: Features) -> EpsilonGreedy:
        """Action values [B, T, N, A] -> joint policy over [B, T] with M = 1."""
        return EpsilonGreedy.of_values(legal_values(features).detach(), self.epsilon)


class BestValueHead(nn.Module):
    """The value of each agent's best legal action."""

    def forward(self, features: Features) -> Tensor:
        """Action values [B, T, N, A] -> [B, T, N]."""
        return legal_values(features).amax(-1)
