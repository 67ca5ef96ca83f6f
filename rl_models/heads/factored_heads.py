"""Heads of actions of several parts (`distributions/factored_mixture.py`): marginal policies and SYNC's mixtures."""

from dataclasses import replace

import torch
from torch import Tensor, nn

from rl_models.distributions.factored_mixture import ActionParts, FactoredMixture
from rl_models.distributions.squashed_gaussian import SquashedGaussian, bounded_log_std
from rl_models.heads.mixture_heads import legal_logits, mixture_layers
from rl_models.layers.initialisation import glorot_
from rl_models.policy import Features


class FactoredHead(nn.Module):
    """Policies over actions of several parts: the choices of each part, and Gaussians of the numbers.

    With one component they are marginal; with more, every agent computes the mixture weights from all messages.
    """

    def __init__(
        self, features: int, parts: ActionParts, components: int = 1, num_agents: int = 1, message_features: int = 0
    ) -> None:
        """Build the layers; agents and messages count with several components."""
        super().__init__()
        self.components, self.num_actions = components, parts.num_choices
        self._sizes, self._numbers = dict(parts.sizes), parts.num_numbers
        self.policies = nn.Linear(features, components * (parts.num_choices + 2 * parts.num_numbers))
        self.mixture = mixture_layers(message_features * num_agents, components) if components > 1 else None
        self._low = nn.Buffer(parts.low.float(), persistent=False)
        self._high = nn.Buffer(parts.high.float(), persistent=False)
        glorot_(self)

    def forward(self, features: Features) -> FactoredMixture:
        """Features [B, T, N, F] -> joint policy with batch shape [B, T]; `legal` masks all choices side by side."""
        outputs = self.policies(features.features).unflatten(-1, (self.components, -1))
        logits, mean, log_std = outputs.split([self.num_actions, self._numbers, self._numbers], -1)
        legal = None if features.legal is None else features.legal.unsqueeze(-2)
        each = legal_logits(logits, legal).split([*self._sizes.values()], -1)
        choices = {name: part.log_softmax(-1) for name, part in zip(self._sizes, each, strict=True)}
        gaussian = SquashedGaussian(mean, bounded_log_std(log_std), self._low, self._high)
        return FactoredMixture(self._log_weights(features, outputs), choices, gaussian if self._numbers else None)

    def _log_weights(self, features: Features, outputs: Tensor) -> Tensor:
        if self.mixture is None:
            return outputs.new_zeros(*outputs.shape[:2], 1)
        if features.messages is None:
            raise ValueError("a mixture's weights are computed from messages: use a network whose agents exchange them")
        logits: Tensor = self.mixture(features.messages.flatten(-2))
        return logits.log_softmax(-1)


class FactoredTower(FactoredHead):
    """Marginal policies on the first half of the features; `ValueTower` uses the second half."""

    def __init__(self, features: int, parts: ActionParts) -> None:
        super().__init__(features // 2, parts)

    def forward(self, features: Features) -> FactoredMixture:
        """Features [B, T, N, F] -> joint policy with batch shape [B, T] and M = 1."""
        return super().forward(replace(features, features=torch.chunk(features.features, 2, -1)[0]))
