"""One round in which every agent says something and hears the others (A Cordial Sync, section 4.1, talk and reply).

A message is a convex combination of two learned symbols, so it carries one free scalar, and gradients pass through it.
`forward` is the round of a team, all agents at once; `take_part` that of one agent which runs apart from the others.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

import torch
from torch import Tensor, nn

from rl_models.layers.initialisation import normalise_rows_

SYMBOLS = 2
_CLASSIFIER_NORM = 0.01
Outcome = TypeVar("Outcome")

Dialogue = Generator[Tensor, Tensor, Outcome]
"""What one agent computes while it talks: yields what it says, [B, 1, ...], and is sent what all said, [B, N, ...]."""


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
        messages = self._say(belief)
        return self._update(belief, self._heard(messages)), messages

    def take_part(self, belief: Tensor, agent: int, needs_messages: bool) -> Dialogue[tuple[Tensor, Tensor]]:
        """The same for one agent, which may run elsewhere than the others.

        Args:
            belief: [B, 1, F] float32.
            agent: which of the N it is.
            needs_messages: ask what all said even if nobody's belief depends on it.

        Returns:
            belief afterwards [B, 1, F]; messages said [B, N, message features], or only one's own [B, 1, ...] where
            nothing was exchanged.
        """
        said = self._say(belief)
        messages = (yield said) if self.hears_others or needs_messages else said
        heard = [part[:, [agent]] for part in self._heard(messages)] if self.hears_others else self._heard(said)
        return self._update(belief, heard), messages

    def _say(self, belief: Tensor) -> Tensor:
        return torch.softmax(self.classifier(belief), dim=-1) @ self.symbols

    def _heard(self, messages: Tensor) -> list[Tensor]:
        """N - 1 arrays: what each agent hears from the next one, from the one after that, and so on in a circle."""
        shifts = range(1, self.num_agents)
        return [messages.roll(-shift, dims=1) if self.hears_others else messages for shift in shifts]

    def _update(self, belief: Tensor, heard: list[Tensor]) -> Tensor:
        return belief + self.update(torch.cat([belief, *heard], dim=-1))
