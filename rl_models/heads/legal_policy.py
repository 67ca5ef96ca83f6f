"""A marginal policy over legal actions, and a value, on a network's features (RTFM, eqs. 21-22).

The released code has single linear layers, the paper two with a ReLU between them.
"""

from __future__ import annotations

from torch import Tensor, nn

from rl_models.distributions.mixture import MixtureOfMarginals
from rl_models.layers.agent_linear import AgentLayers
from rl_models.policy import Features

_NEVER = -1e9
"""Logit of an illegal action: its probability is 0 in every precision, and finite so that its entropy is 0 too."""


class LegalPolicyHead(nn.Module):
    """Each agent draws its own action from those that are legal, or from all where nothing says which are."""

    def __init__(self, features: int, actions: int, hidden: int = 0, only_legal: bool = True, members: int = 1) -> None:
        """Build the layers.

        Args:
            features: F.
            actions: A.
            hidden: width between two layers; 0: there is one.
            only_legal: never draw what is not legal.
            members: 1, shared by all agents, or N, one each.
        """
        super().__init__()
        self.components, self.actions = 1, actions
        self._only_legal = only_legal
        self.policy = _layers(features, hidden, actions, members)

    def forward(self, features: Features) -> MixtureOfMarginals:
        """Features [B, T, N, F] -> joint policy over [B, T] with M = 1."""
        logits = self.policy(features.features)
        if self._only_legal and features.legal is not None:
            logits = logits.masked_fill(~features.legal, _NEVER)
        return MixtureOfMarginals.from_logits(logits.new_zeros(*logits.shape[:2], 1), logits.unsqueeze(-2))


class LayeredValueHead(nn.Module):
    """Each agent's value of the present state."""

    def __init__(self, features: int, hidden: int = 0, members: int = 1) -> None:
        super().__init__()
        self.value = _layers(features, hidden, 1, members)

    def forward(self, features: Features) -> Tensor:
        """[B, T, N, F] -> [B, T, N]."""
        values: Tensor = self.value(features.features)
        return values.squeeze(-1)


def _layers(inputs: int, hidden: int, outputs: int, members: int) -> nn.Module:
    """A linear layer, or with a hidden width two of them with a ReLU between; of all agents or of each."""
    if members > 1:
        return AgentLayers(_layers(inputs, hidden, outputs, 1) for _ in range(members))
    if hidden == 0:
        return nn.Linear(inputs, outputs)
    return nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, outputs))
