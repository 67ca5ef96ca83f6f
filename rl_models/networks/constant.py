"""A network that looks at nothing: one learned vector an agent, the tabular policy of one-step games.

For worlds whose observation never changes, such as the matrix games of A Cordial Sync (appendix A.2). With the usual
heads it can represent every policy of its agents. It knows no observation key.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rl_models.policy import Features, State


class ConstantNetwork(nn.Module):
    """Learned features and, where agents talk, learned messages: the same at every step."""

    def __init__(self, num_agents: int, features: int, message_features: int = 0) -> None:
        """Build the tables.

        Args:
            num_agents: N.
            features: F, width of an agent's vector.
            message_features: width of its message; 0: agents do not talk.
        """
        super().__init__()
        self.num_agents = num_agents
        self.features = features
        self.message_features = message_features
        self.agent_vectors = nn.Parameter(torch.randn(num_agents, features))
        self.agent_messages = nn.Parameter(torch.randn(num_agents, message_features)) if message_features else None

    def initial_state(self, batch: int) -> State:
        """Nothing is remembered."""
        return {}

    def forward(self, obs: dict[str, Tensor], state: State, is_first: Tensor) -> Features:
        """Features [B, T, N, F] and messages [B, T, N, message features]; only the shape of `is_first` matters."""
        features = self.agent_vectors.expand(*is_first.shape, -1, -1)
        messages = None if self.agent_messages is None else self.agent_messages.expand(*is_first.shape, -1, -1)
        return Features(features, {}, messages)
