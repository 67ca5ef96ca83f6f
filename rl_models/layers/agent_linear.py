"""Layers that all agents share, or one for each."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from rl_models.layers.initialisation import glorot_matrices_


class AgentLayers(nn.Module):
    """The same kind of layer for agents' features, with weights of all or of each."""

    def __init__(self, members: Iterable[nn.Module]) -> None:
        """Keep the layers.

        Args:
            members: one, shared by all agents, or N, one each.
        """
        super().__init__()
        self.members = nn.ModuleList(members)

    def forward(self, features: Tensor) -> Tensor:
        """[..., N, F] -> [..., N, outputs]."""
        if len(self.members) == 1:
            shared: Tensor = self.members[0](features)
            return shared
        own = zip(self.members, features.unbind(-2), strict=True)
        return torch.stack([layer(part) for layer, part in own], -2)


class AgentLinear(AgentLayers):
    """Linear map of agents' features with Glorot-uniform weights."""

    def __init__(self, inputs: int, outputs: int, members: int = 1) -> None:
        """Build the layers.

        Args:
            inputs: F.
            outputs: features of the result.
            members: 1, shared by all agents, or N, one each.
        """
        super().__init__(nn.Linear(inputs, outputs) for _ in range(members))
        glorot_matrices_(self)
