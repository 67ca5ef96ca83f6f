"""Agent modelling: what one expects every other agent to do, from what one leaves to them (EnDi, section 4.2)."""

from __future__ import annotations

from torch import Tensor, nn


class OthersHead(nn.Module):
    """A linear layer for each of the others, on features of the entities that are theirs."""

    def __init__(self, features: int, others: int, actions: int) -> None:
        super().__init__()
        self._others = others
        self.policies = nn.Linear(features, others * actions)

    def forward(self, features: Tensor) -> Tensor:
        """Features [..., F] -> logits of their actions [..., N - 1, A]."""
        logits: Tensor = self.policies(features).unflatten(-1, (self._others, -1))
        return logits
