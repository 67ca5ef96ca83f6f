"""One round in which every agent says something and hears the others (A Cordial Sync, section 4.1, talk and reply).

A message is a convex combination of two learned symbols, so it carries one free scalar, and gradients pass through it.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rl_models.layers.initialisation import normalise_rows_

SYMBOLS = 2
_CLASSIFIER_NORM = 0.01


class CommunicationRound(nn.Module):
    """Say, hear, and update one's belief: x + MLP([x, what the others said])."""

    def __init__(self, num_agents: int, features: int, message_features: int, hears_others: bool = True) -> None:
        """Build the round.

        Args:
            num_agents: N.
            features: F, width of a belief.
            message_features: width of a message.
            hears_others: False is the no-communication baseline: an agent hears itself in place of each other agent,
                so both forms have the same parameters.
        """
        super().__init__()
        self.num_agents = num_agents
        self.hears_others = hears_others
        width = features + message_features * (num_agents - 1)
        self.classifier = nn.Linear(features, SYMBOLS)
        self.symbols = nn.Parameter(torch.randn(SYMBOLS, message_features))
        self.update = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, features), nn.ReLU())

    def initialise_(self) -> None:
        """Start with near-uniform symbols: classifier rows of norm 0.01."""
        normalise_rows_(self.classifier.weight, _CLASSIFIER_NORM)

    def forward(self, belief: Tensor) -> tuple[Tensor, Tensor]:
        """Exchange messages.

        Args:
            belief: [B, N, F] float32.

        Returns:
            belief afterwards [B, N, F]; messages said [B, N, message features].
        """
        message = torch.softmax(self.classifier(belief), dim=-1) @ self.symbols
        shifts = range(1, self.num_agents)
        heard = [message.roll(-shift, dims=1) if self.hears_others else message for shift in shifts]
        return belief + self.update(torch.cat([belief, *heard], dim=-1)), message
