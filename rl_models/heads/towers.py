"""Heads on features with two halves: the policy uses the first half, the value the second (EMMA, section 4)."""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor, nn

from rl_models.distributions.mixture import MixtureOfMarginals
from rl_models.heads.legal_policy import LegalPolicyHead
from rl_models.layers.agent_linear import AgentLinear
from rl_models.policy import Features


class PolicyTower(nn.Module):
    """Marginal policies on the first half of the features."""

    def __init__(self, features: int, num_actions: int, members: int = 1) -> None:
        """Build the output layer.

        Args:
            features: F, width of both halves together.
            num_actions: A.
            members: 1 for one layer that all agents share, N for one layer an agent.
        """
        super().__init__()
        self.components, self.num_actions = 1, num_actions
        self.policy = AgentLinear(features // 2, num_actions, members)

    def forward(self, features: Features) -> MixtureOfMarginals:
        """Features [B, T, N, F] -> joint policy with batch shape [B, T] and M = 1."""
        logits = self.policy(features.features.chunk(2, -1)[0])
        return MixtureOfMarginals.from_logits(logits.new_zeros(*logits.shape[:2], 1), logits.unsqueeze(-2))


class ValueTower(nn.Module):
    """Each agent's value of the present state, from the second half of the features."""

    def __init__(self, features: int, members: int = 1) -> None:
        super().__init__()
        self.value = AgentLinear(features // 2, 1, members)

    def forward(self, features: Features) -> Tensor:
        """Features [B, T, N, F] -> values [B, T, N] float32."""
        values: Tensor = self.value(features.features.chunk(2, -1)[1])
        return values.squeeze(-1)


class LegalPolicyTower(LegalPolicyHead):
    """`LegalPolicyHead` on the first half of the features; `ValueTower` uses the second half."""

    def __init__(self, features: int, num_actions: int) -> None:
        """Build the output layer for F features, both halves together, and A actions."""
        super().__init__(features // 2, num_actions)

    def forward(self, features: Features) -> MixtureOfMarginals:
        """Features [B, T, N, F] -> joint policy with batch shape [B, T] and M = 1."""
        return super().forward(replace(features, features=features.features.chunk(2, -1)[0]))
