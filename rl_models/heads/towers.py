"""Heads on features that come in two halves, the policy's and the value's, as EMMA's body gives them."""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor, nn

from rl_models.distributions.mixture import MixtureOfMarginals
from rl_models.heads.legal_policy import LegalPolicyHead
from rl_models.layers.agent_linear import AgentLinear
from rl_models.policy import Features


class PolicyTower(nn.Module):
    """Each agent draws its own action; it looks at the first half of the features."""

    def __init__(self, features: int, actions: int, members: int = 1) -> None:
        """Build the output layer.

        Args:
            features: F, of both halves.
            actions: A.
            members: 1, shared by all agents, or N, one each.
        """
        super().__init__()
        self.components, self.actions = 1, actions
        self.policy = AgentLinear(features // 2, actions, members)

    def forward(self, features: Features) -> MixtureOfMarginals:
        """Features [B, T, N, F] -> joint policy over [B, T] with M = 1."""
        logits = self.policy(features.features.chunk(2, -1)[0])
        return MixtureOfMarginals.from_logits(logits.new_zeros(*logits.shape[:2], 1), logits.unsqueeze(-2))


class ValueTower(nn.Module):
    """Each agent's value of the present state; it looks at the second half of the features."""

    def __init__(self, features: int, members: int = 1) -> None:
        super().__init__()
        self.value = AgentLinear(features // 2, 1, members)

    def forward(self, features: Features) -> Tensor:
        """[B, T, N, F] -> [B, T, N]."""
        values: Tensor = self.value(features.features.chunk(2, -1)[1])
        return values.squeeze(-1)


class LegalPolicyTower(LegalPolicyHead):
    """`LegalPolicyHead` that looks at the first half of the features; `ValueTower` looks at the second."""

    def __init__(self, features: int, actions: int) -> None:
        """Build the output layer on F features, both halves counted, for A actions."""
        super().__init__(features // 2, actions)

    def forward(self, features: Features) -> MixtureOfMarginals:
        """Features [B, T, N, F] -> joint policy over [B, T] with M = 1."""
        return super().forward(replace(features, features=features.features.chunk(2, -1)[0]))
