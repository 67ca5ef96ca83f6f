"""A network without input: one learned vector an agent, which gives tabular policies for one-step games.

It is for worlds whose observation never changes, such as the matrix games of A Cordial Sync (appendix A.2). With the
usual heads it can represent every policy of its agents. It reads no observation key.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rl_models.policy import Features, State


class ConstantNetwork(nn.Module):
    """Learned features and, if agents exchange messages, learned messages; they are the same at every step."""

    def __init__(self, num_agents: int, features: int, message_features: int = 0) -> None:
        """Build the tables.

        Args:
            num_agents: N.
            features: F, width of an agent's vector.
            message_features: width of a message; 0 if agents exchange no messages.
        """
        super().__init__()
        self.num_agents = num_agents
        self.features = features
        self.message_features = message_features
        self.agent_vectors = nn.Parameter(torch.randn(num_agents, features))
        self.agent_messages = nn.Parameter(torch.randn(num_agents, message_features)) if message_features else None

    def initial_state(self, batch: int) -> State:
        """The empty state of a network without memory."""
        return {}

    def forward(self, obs: dict[str, Tensor], state: State, is_first: Tensor) -> Features:
        """Features [B, T, N, F] float32 and messages [B, T, N, message features] float32.

        Args:
            obs: not used, name -> [B, T, N, ...].
            state: empty.
            is_first: [B, T] bool; only its shape matters.
        """
        features = self.agent_vectors.expand(*is_first.shape, -1, -1)
        messages = None if self.agent_messages is None else self.agent_messages.expand(*is_first.shape, -1, -1)
        return Features(features, {}, messages)
