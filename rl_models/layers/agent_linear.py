"""Layers whose weights all agents share, or of which each agent has its own."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from rl_models.layers.initialisation import glorot_matrices_


class AgentLayers(nn.Module):
    """One layer that all agents share, or N layers, one for each agent."""

    def __init__(self, members: Iterable[nn.Module]) -> None:
        """Store the layers.

        Args:
            members: one layer that all agents share, or N layers, one for each agent.
        """
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
        """Build the layers.

        Args:
            inputs: F, width of the input.
            outputs: width of the output.
            members: 1 for one layer that all agents share, N for one layer an agent.
        """
        super().__init__(nn.Linear(inputs, outputs) for _ in range(members))
        glorot_matrices_(self)
