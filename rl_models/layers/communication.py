"""A round of communication: every agent sends one message to all others (A Cordial Sync, section 5, talk and reply).

A message is a convex combination of two learned symbols, so it has one degree of freedom, and gradients pass through
it. `forward` computes the round of all agents at once; `forward_agent` computes the part of one agent that runs apart.
"""

from collections.abc import Generator
from typing import TypeVar

import torch
from torch import Tensor, nn

from rl_models.layers.initialisation import normalise_rows_

SYMBOLS = 2
_CLASSIFIER_NORM = 0.01
Result = TypeVar("Result")

Dialogue = Generator[Tensor, Tensor, Result]
"""One agent's computation with messages: yields its message [B, 1, ...] and is sent all messages [B, N, ...]."""


class CommunicationRound(nn.Module):
    """Send and receive messages, then update the belief x: x + MLP([x, messages of the others])."""

    def __init__(self, num_agents: int, features: int, message_features: int, communicates: bool = True) -> None:
        """Build the layers for N agents.

        Without communication, the baseline, an agent receives its own message in place of every other one, so both
        forms have the same parameters.
        """
        super().__init__()
        self.num_agents = num_agents
        self.communicates = communicates
        width = features + message_features * (num_agents - 1)
        self.classifier = nn.Linear(features, SYMBOLS)
        self.symbols = nn.Parameter(torch.randn(SYMBOLS, message_features))
        self.update = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, features), nn.ReLU())

    def initialise_(self) -> None:
        """Scale the classifier's rows to norm 0.01, so that all symbols begin with nearly the same weight."""
        normalise_rows_(self.classifier.weight, _CLASSIFIER_NORM)

    def forward(self, belief: Tensor, alive: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """One round of all agents: beliefs [B, N, F] -> beliefs [B, N, F] and messages [B, N, width] float32.

        Agents that are not `alive` [B, N] bool have left the game and send zeros.
        """
        messages = self._message(belief, alive)
        return self._update(belief, self._received(messages)), messages

    def forward_agent(
        self, belief: Tensor, agent: int, needs_messages: bool, alive: Tensor | None = None
    ) -> Dialogue[tuple[Tensor, Tensor]]:
        """One round of one agent, which may run in another process than the others.

        Belief [B, 1, F] -> belief [B, 1, F] and messages [B, N, message features], or the agent's own [B, 1, ...] if
        none were exchanged: without communication they are only if `needs_messages`. `alive` is [B, 1] bool.
        """
        own = self._message(belief, alive)
        messages = (yield own) if self.communicates or needs_messages else own
        received = [part[:, [agent]] for part in self._received(messages)] if self.communicates else self._received(own)
        return self._update(belief, received), messages

    def _message(self, belief: Tensor, alive: Tensor | None) -> Tensor:
        message = torch.softmax(self.classifier(belief), dim=-1) @ self.symbols
        return message if alive is None else message * alive[..., None]

    def _received(self, messages: Tensor) -> list[Tensor]:
        """N - 1 tensors [B, N, ...]: the messages of agents i + 1, i + 2, ... (modulo N) that agent i receives."""
        shifts = range(1, self.num_agents)
        return [messages.roll(-shift, dims=1) if self.communicates else messages for shift in shifts]

    def _update(self, belief: Tensor, received: list[Tensor]) -> Tensor:
        return belief + self.update(torch.cat([belief, *received], dim=-1))
