"""Teams that read no observation: learned tabular policies for one-step games, and random play.

They are for worlds whose observation never changes, such as the matrix games of A Cordial Sync (appendix A.2), and for
random baselines. The network has one learned vector an agent; with the usual heads it can represent every policy of its
agents.
"""

import functools

import torch
from torch import Tensor, nn

from rl_models.policy import Features, State, Stateless, TeamPolicy
from rl_models.teams.tbone_team import communicating_team

_FEATURES = 8


def constant_team(components: int, num_agents: int, num_actions: int, seed: int = 0) -> TeamPolicy:
    """Build a team that reads no observation, for one-step games; one component gives marginal policies."""
    message_features = _FEATURES if components > 1 else 0
    make_network = functools.partial(ConstantNetwork, num_agents, _FEATURES, message_features)
    return communicating_team(make_network, num_actions, components, seed)


def uniform_team(num_agents: int, num_actions: int) -> TeamPolicy:
    """Build a team whose actions all have the same probability, illegal ones too: random play."""
    team = constant_team(1, num_agents, num_actions)
    for weights in team.parameters():
        nn.init.zeros_(weights)
    return team


class ConstantNetwork(Stateless):
    """Learned features and, if agents exchange messages, learned messages; they are the same at every step."""

    def __init__(self, num_agents: int, features: int, message_features: int = 0) -> None:
        """Build the tables; a width of messages of 0 means that agents exchange none."""
        super().__init__()
        self.num_agents = num_agents
        self.features = features
        self.message_features = message_features
        self.agent_vectors = nn.Parameter(torch.randn(num_agents, features))
        self.agent_messages = nn.Parameter(torch.randn(num_agents, message_features)) if message_features else None

    def forward(self, obs: dict[str, Tensor], state: State, is_first: Tensor) -> Features:
        """Features [B, T, N, F] float32 and messages [B, T, N, message features] float32."""
        features = self.agent_vectors.expand(*is_first.shape, -1, -1)
        messages = None if self.agent_messages is None else self.agent_messages.expand(*is_first.shape, -1, -1)
        return Features(features, {}, messages)
