"""Heads whose policies are mixtures of marginals (`distributions/mixture.py`), and the value heads beside them.

| heads | of | layers |
|---|---|---|
| `MarginalHead`, `SyncHead`, `ValueHead` | A Cordial Sync, sections 4, 5 | one linear layer; SYNC's mixture has three |
| `LegalPolicyHead`, `LayeredValueHead` | RTFM, eqs. 21-22 | two with a ReLU; the released code has one |
| `PolicyTower`, `LegalPolicyTower`, `ValueTower` | EMMA, section 4 | one, on the policy's or the value's half |
"""

from collections.abc import Iterable
from dataclasses import replace

import torch
from torch import Tensor, nn

from rl_models.distributions.joint_policy import legal_logits
from rl_models.distributions.mixture import MixtureOfMarginals
from rl_models.layers.dense import dense
from rl_models.layers.initialisation import glorot_, glorot_matrices_
from rl_models.policy import Features


class AgentLayers(nn.Module):
    """One layer that all agents share, or N layers, one for each agent."""

    def __init__(self, members: Iterable[nn.Module]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)

    def forward(self, features: Tensor) -> Tensor:
        """Apply each agent's layer to its features: [..., N, F] -> [..., N, outputs] float32."""
        if len(self.members) == 1:
            shared: Tensor = self.members[0](features)
            return shared
        pairs = zip(self.members, features.unbind(-2), strict=True)
        return torch.stack([layer(of_agent) for layer, of_agent in pairs], -2)


class AgentLinear(AgentLayers):
    """Linear layer on agents' features with Glorot-uniform weights."""

    def __init__(self, inputs: int, outputs: int, members: int = 1) -> None:
        super().__init__(nn.Linear(inputs, outputs) for _ in range(members))
        glorot_matrices_(self)


class LegalPolicyHead(nn.Module):
    """Marginal policies over the legal actions, or over all actions if the world does not say which are legal."""

    def __init__(
        self, features: int, num_actions: int, hidden_size: int = 0, only_legal: bool = True, members: int = 1
    ) -> None:
        """Build the layers: `members` is 1 for a head that all agents share, N for one head per agent."""
        super().__init__()
        self.components, self.num_actions = 1, num_actions
        self._only_legal = only_legal
        self.policy = _layers(features, hidden_size, num_actions, members)

    def forward(self, features: Features) -> MixtureOfMarginals:
        """Features [B, T, N, F] -> joint policy with batch shape [B, T] and M = 1."""
        legal = features.legal if self._only_legal else None
        return MixtureOfMarginals.of_one(legal_logits(self.policy(features.features), legal))


class LayeredValueHead(nn.Module):
    """Each agent's value of the present state, with a hidden layer or without."""

    def __init__(self, features: int, hidden_size: int = 0, members: int = 1) -> None:
        super().__init__()
        self.value = _layers(features, hidden_size, 1, members)

    def forward(self, features: Features) -> Tensor:
        """Features [B, T, N, F] -> values [B, T, N] float32."""
        values: Tensor = self.value(features.features)
        return values.squeeze(-1)


def _layers(inputs: int, hidden_size: int, outputs: int, members: int) -> nn.Module:
    """One linear layer, or two with a ReLU between them; shared by all agents or one such part an agent."""
    if members > 1:
        return AgentLayers(_layers(inputs, hidden_size, outputs, 1) for _ in range(members))
    if hidden_size == 0:
        return nn.Linear(inputs, outputs)
    return nn.Sequential(nn.Linear(inputs, hidden_size), nn.ReLU(), nn.Linear(hidden_size, outputs))


_MIXTURE_HIDDEN = 64


def mixture_layers(inputs: int, components: int) -> nn.Sequential:
    """Layers from all agents' messages, [..., inputs], to the logits of M components, [..., M]."""
    hidden = dense((inputs, _MIXTURE_HIDDEN, _MIXTURE_HIDDEN), nn.ReLU)
    return nn.Sequential(*hidden, nn.Linear(_MIXTURE_HIDDEN, components))


class MarginalHead(LegalPolicyHead):
    """Marginal policies: each agent draws its own action, a legal one if the network says which are legal."""

    reads_messages = False

    def __init__(self, features: int, num_actions: int) -> None:
        super().__init__(features, num_actions)
        glorot_(self)


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
        self.mixture = mixture_layers(message_features * num_agents, components)
        glorot_(self)

    def forward(self, features: Features) -> MixtureOfMarginals:
        """Features [B, T, N, F] with messages [B, T, N, message features] -> joint policy with batch shape [B, T]."""
        if features.messages is None:
            raise ValueError(
                "SYNC computes its mixture weights from messages: use a network whose agents exchange messages"
            )
        logits = self.policies(features.features).unflatten(-1, (self.components, -1))
        logits = legal_logits(logits, None if features.legal is None else features.legal.unsqueeze(-2))
        return MixtureOfMarginals.from_logits(self.mixture(features.messages.flatten(-2)), logits)


class ValueHead(LayeredValueHead):
    """Each agent's value of the present state, with Glorot-uniform weights."""

    def __init__(self, features: int) -> None:
        super().__init__(features)
        glorot_(self)


class TeamValueHead(nn.Module):
    """Each agent's value of the present state, from its own features and those of the whole team."""

    def __init__(self, features: int, num_agents: int) -> None:
        super().__init__()
        self.value = nn.Linear(features * (1 + num_agents), 1)
        glorot_(self)

    def forward(self, features: Features) -> Tensor:
        """Features [B, T, N, F] -> values [B, T, N] float32."""
        own = features.features
        team = own.flatten(2).unsqueeze(2).expand(-1, -1, own.shape[2], -1)
        return torch.squeeze(self.value(torch.cat([own, team], -1)), -1)


class PolicyTower(nn.Module):
    """Marginal policies on the first half of the features."""

    def __init__(self, features: int, num_actions: int, members: int = 1) -> None:
        super().__init__()
        self.components, self.num_actions = 1, num_actions
        self.policy = AgentLinear(features // 2, num_actions, members)

    def forward(self, features: Features) -> MixtureOfMarginals:
        """Features [B, T, N, F] -> joint policy with batch shape [B, T] and M = 1."""
        return MixtureOfMarginals.of_one(self.policy(features.features.chunk(2, -1)[0]))


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
        super().__init__(features // 2, num_actions)

    def forward(self, features: Features) -> MixtureOfMarginals:
        """Features [B, T, N, F] -> joint policy with batch shape [B, T] and M = 1."""
        return super().forward(replace(features, features=features.features.chunk(2, -1)[0]))
