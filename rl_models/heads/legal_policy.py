"""Heads for a marginal policy over legal actions and for a value (RTFM, eqs. 21-22).

The released code has one linear layer in each head, the paper has two with a ReLU between them.
"""

from __future__ import annotations

from torch import Tensor, nn

from rl_models.distributions.mixture import MixtureOfMarginals
from rl_models.layers.agent_linear import AgentLayers
from rl_models.policy import Features

_NEVER = -1e9
"""Logit of an illegal action. Its probability is 0 in every precision; it is finite, so its entropy is 0 and no NaN."""


def legal_logits(logits: Tensor, legal: Tensor | None) -> Tensor:
    """Logits [..., A] with those of illegal actions far below all others; as they are if `legal` is None.

    Args:
        logits: [..., A] float32.
        legal: [..., A] bool, of a shape that the logits' broadcasts to.
    """
    return logits if legal is None else logits.masked_fill(~legal, _NEVER)


class LegalPolicyHead(nn.Module):
    """Marginal policies over the legal actions, or over all actions if the world does not say which are legal."""

    def __init__(
        self, features: int, num_actions: int, hidden_size: int = 0, only_legal: bool = True, members: int = 1
    ) -> None:
        """Build the layers.

        Args:
            features: F.
            num_actions: A.
            hidden_size: width of the hidden layer; 0 for no hidden layer.
            only_legal: draw legal actions only.
            members: 1 for one head that all agents share, N for one head an agent.
        """
        super().__init__()
        self.components, self.num_actions = 1, num_actions
        self._only_legal = only_legal
        self.policy = _layers(features, hidden_size, num_actions, members)

    def forward(self, features: Features) -> MixtureOfMarginals:
        """Features [B, T, N, F] -> joint policy with batch shape [B, T] and M = 1."""
        logits = legal_logits(self.policy(features.features), features.legal if self._only_legal else None)
        return MixtureOfMarginals.from_logits(logits.new_zeros(*logits.shape[:2], 1), logits.unsqueeze(-2))


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
