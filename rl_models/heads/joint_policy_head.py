"""Heads for marginal and SYNC policies and for values (A Cordial Sync, section 4.2)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rl_models.distributions.mixture import MixtureOfMarginals
from rl_models.heads.legal_policy import legal_logits
from rl_models.layers.initialisation import glorot_
from rl_models.policy import Features

_MIXTURE_HIDDEN = 64


class MarginalHead(nn.Module):
    """Marginal policies: each agent draws its own action, a legal one if the network says which are legal."""

    reads_messages = False

    def __init__(self, features: int, num_actions: int) -> None:
        super().__init__()
        self.components, self.num_actions = 1, num_actions
        self.policy = nn.Linear(features, num_actions)
        glorot_(self)

    def forward(self, features: Features) -> MixtureOfMarginals:
        """Features [B, T, N, F] -> joint policy with batch shape [B, T] and M = 1."""
        logits = legal_logits(self.policy(features.features), features.legal).unsqueeze(-2)
        return MixtureOfMarginals.from_logits(logits.new_zeros(*logits.shape[:2], 1), logits)


class SyncHead(nn.Module):
    """SYNC policies: M marginal policies an agent, and mixture weights that every agent computes from all messages.

    Each of the M policies has legal actions only, if the network says which are legal.
    """

    reads_messages = True

    def __init__(
        self, features: int, num_actions: int, components: int, num_agents: int, message_features: int
    ) -> None:
        super().__init__()
        self.components, self.num_actions = components, num_actions
        self.policies = nn.Linear(features, components * num_actions)
        self.mixture = nn.Sequential(
            nn.Linear(message_features * num_agents, _MIXTURE_HIDDEN),
            nn.ReLU(),
            nn.Linear(_MIXTURE_HIDDEN, _MIXTURE_HIDDEN),
            nn.ReLU(),
            nn.Linear(_MIXTURE_HIDDEN, components),
        )
        glorot_(self)

    def forward(self, features: Features) -> MixtureOfMarginals:
        """Features [B, T, N, F] with messages [B, T, N, message features] -> joint policy with batch shape [B, T].

        Raises:
            ValueError: the agents of the network exchange no messages.
        """
        if features.messages is None:
            raise ValueError(
                "SYNC computes its mixture weights from messages: use a network whose agents exchange messages"
            )
        logits = self.policies(features.features).unflatten(-1, (self.components, -1))
        logits = legal_logits(logits, None if features.legal is None else features.legal.unsqueeze(-2))
        return MixtureOfMarginals.from_logits(self.mixture(features.messages.flatten(-2)), logits)


class ValueHead(nn.Module):
    """Each agent's value of the present state."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.value = nn.Linear(features, 1)
        glorot_(self)

    def forward(self, features: Features) -> Tensor:
        """Features [B, T, N, F] -> values [B, T, N] float32."""
        return torch.squeeze(self.value(features.features), -1)
