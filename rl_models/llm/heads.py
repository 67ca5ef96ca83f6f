"""From scores of actions to a joint policy, and from a prompt's state to a value."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from torch import Tensor, nn

from rl_models.distributions.mixture import MixtureOfMarginals
from rl_models.llm.network import ACTION_SCORES
from rl_models.policy import Features

_NEVER = -1e9
"""Logit of an illegal action."""


class CandidateHead(nn.Module):
    """Each agent draws for itself by the softmax over its legal actions' scores; there is nothing to learn here.

    Attributes:
        components: 1, as of every product of marginals.
        actions: A.
    """

    def __init__(self, actions: int) -> None:
        super().__init__()
        self.components, self.num_actions = 1, actions

    def forward(self, features: Features) -> MixtureOfMarginals:
        """Scores [B, T, N, A] -> joint policy over [B, T] with M = 1."""
        logits = features.extras[ACTION_SCORES]
        if features.legal is not None:
            logits = logits.masked_fill(~features.legal, _NEVER)
        return MixtureOfMarginals.from_logits(logits.new_zeros(*logits.shape[:2], 1), logits.unsqueeze(-2))


class PromptValueHead(nn.Module):
    """A ReLU network without biases on the state of a prompt's last token; a state of zeros is worth 0."""

    def __init__(self, features: int, hidden: Sequence[int]) -> None:
        """Widths: F, those of the hidden layers, 1."""
        super().__init__()
        widths = (features, *hidden)
        layers: list[nn.Module] = []
        for inputs, outputs in itertools.pairwise(widths):
            layers += [nn.Linear(inputs, outputs, bias=False), nn.ReLU()]
        self.layers = nn.Sequential(*layers, nn.Linear(widths[-1], 1, bias=False))

    def forward(self, features: Features) -> Tensor:
        """[B, T, N, F] -> [B, T, N]."""
        values: Tensor = self.layers(features.features)
        return values.squeeze(-1)
