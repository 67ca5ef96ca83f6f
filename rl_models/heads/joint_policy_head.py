"""Heads that turn beliefs into joint policies and values (A Cordial Sync, section 4.2)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rl_models.distributions.factored import FactoredPolicy
from rl_models.distributions.mixture import MixtureOfMarginals
from rl_models.layers.initialisation import glorot_
from rl_models.policy import Features

_MIXTURE_HIDDEN = 64


class MarginalHead(nn.Module):
    """Each agent draws its own action: a mixture with one component."""

    def __init__(self, features: int, actions: int) -> None:
        super().__init__()
        self.components, self.actions = 1, actions
        self.policy = nn.Linear(features, actions)
        glorot_(self)

    def forward(self, features: Features) -> MixtureOfMarginals:
        """Features [B, T, N, F] -> joint policy over [B, T] with M = 1."""
        logits = self.policy(features.features).unsqueeze(-2)
        return MixtureOfMarginals.from_logits(logits.new_zeros(*logits.shape[:2], 1), logits)


class SyncHead(nn.Module):
    """SYNC: M marginal policies an agent, and mixture weights that every agent can compute from all messages."""

    def __init__(self, features: int, actions: int, components: int, num_agents: int, message_features: int) -> None:
        super().__init__()
        self.components, self.actions = components, actions
        self.policies = nn.Linear(features, components * actions)
        self.mixture = nn.Sequential(
            nn.Linear(message_features * num_agents, _MIXTURE_HIDDEN),
            nn.ReLU(),
            nn.Linear(_MIXTURE_HIDDEN, _MIXTURE_HIDDEN),
            nn.ReLU(),
            nn.Linear(_MIXTURE_HIDDEN, components),
        )
        glorot_(self)

    def forward(self, features: Features) -> MixtureOfMarginals:
        """Features [B, T, N, F] with messages -> joint policy over [B, T].

        Raises:
            ValueError: the network's agents do not talk.
        """
        if features.messages is None:
            raise ValueError(
                "SYNC needs a network whose agents exchange messages: their mixture weights come from them"
            )
        logits = self.policies(features.features).unflatten(-1, (self.components, -1))
        return MixtureOfMarginals.from_logits(self.mixture(features.messages.flatten(-2)), logits)


class FactoredHead(nn.Module):
    """One head for each factor of a factored action."""

    def __init__(self, heads: dict[str, nn.Module]) -> None:
        super().__init__()
        self.heads = nn.ModuleDict(heads)

    def forward(self, features: Features) -> FactoredPolicy:
        """Features [B, T, N, F] -> factored joint policy over [B, T]."""
        return FactoredPolicy({name: head(features) for name, head in self.heads.items()})


class ValueHead(nn.Module):
    """Each agent's value of the present state."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.value = nn.Linear(features, 1)
        glorot_(self)

    def forward(self, features: Features) -> Tensor:
        """[B, T, N, F] -> [B, T, N]."""
        return torch.squeeze(self.value(features.features), -1)
