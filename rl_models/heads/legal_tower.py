"""A policy over legal actions on features that come in two halves, the policy's and the value's."""

from __future__ import annotations

from dataclasses import replace

from rl_models.distributions.mixture import MixtureOfMarginals
from rl_models.features import Features
from rl_models.heads.legal_policy import LegalPolicyHead


class LegalPolicyTower(LegalPolicyHead):
    """`LegalPolicyHead` that looks at the first half of the features; `ValueTower` looks at the second."""

    def __init__(self, features: int, actions: int) -> None:
        """Build the output layer on F features, both halves counted, for A actions."""
        super().__init__(features // 2, actions)

    def forward(self, features: Features) -> MixtureOfMarginals:
        """Features [B, T, N, F] -> joint policy over [B, T] with M = 1."""
        return super().forward(replace(features, features=features.features.chunk(2, -1)[0]))
