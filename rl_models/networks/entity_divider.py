"""The entity divider: which entities an agent takes on itself, and which it leaves to the others (EnDi, section 4.1).

A backbone grounds the goal twice with one set of weights, once from where the agent is and once from where the nearest
other agent is, and gives two logits an entity. Here they become the mask m, drawn by Gumbel-softmax: what the agent
acts on is the observation times m, what it predicts the others' actions from is the observation times 1 - m. Agents,
walls and empty cells have no mask. This file must not know what an entity looks like, nor how it is grounded.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

MASK, PROBABILITY, ENTITIES, OFFSETS, OTHERS = (
    f"division/{name}" for name in ("mask", "probability", "entities", "offsets", "others")
)
"""Extras of a divided network: the parts of a `Division`, [B, T, N, E, ...], the same entity in a place for every
agent; and while gradients are computed, logits of the others' actions [B, T, N, N - 1, A], those of agents i + 1,
i + 2, ... modulo N."""


@dataclass(frozen=True)
class Division:
    """How K frames' entities are divided, each seen by one agent.

    Attributes:
        mask: [K, E] float, 1 for one's own and 0 for the others', with the gradient of the soft sample; 0 where there
            is no entity.
        probability: [K, E] float, of its being one's own; 0 where there is no entity.
        entities: [K, E] bool, whether there is one.
        offsets: [K, E, 2, 2] float, how far from oneself and from the nearest other: columns in widths of the grid,
            rows in heights.
    """

    mask: Tensor
    probability: Tensor
    entities: Tensor
    offsets: Tensor

    def extras(self) -> dict[str, Tensor]:
        """All of it by name."""
        return {MASK: self.mask, PROBABILITY: self.probability, ENTITIES: self.entities, OFFSETS: self.offsets}

    def own_and_others(self) -> tuple[Tensor, Tensor]:
        """What the observation is multiplied with, m and 1 - m, [K, E] each; 1 where there is no entity."""
        return self.mask + ~self.entities, 1 - self.mask


def divide(logits: Tensor, entities: Tensor, offsets: Tensor, uniforms: Tensor | None) -> Division:
    """Draw masks.

    Args:
        logits: [K, E, 2], for oneself and for the others.
        entities: [K, E] bool.
        offsets: [K, E, 2, 2], as in a `Division`.
        uniforms: [K, E] in [0, 1]; None takes the likelier side.
    """
    mask = choose_first(logits, uniforms) * entities
    return Division(mask, logits.softmax(-1)[..., 0] * entities, entities, offsets)


def sides_of(offsets: Tensor) -> Tensor:
    """Offsets from all agents [..., N, 2], oneself first -> [..., 2] int64, oneself (0) and the nearest of the others.

    Every cell has a nearest other of its own, by Manhattan distance (EnDi, section 5.2, more than two agents).
    """
    nearest = 1 + offsets[..., 1:, :].abs().sum(-1).argmin(-1)
    return torch.stack([torch.zeros_like(nearest), nearest], -1)


def check_team(num_agents: int) -> None:
    """Refuse a single agent.

    Raises:
        ValueError: one sentence.
    """
    if num_agents < 2:
        raise ValueError("an entity divider divides between agents: make a world of at least 2 (num_agents)")


_NEAREST = 1e-6
"""How near to 0 and 1 a uniform may come, so that its logarithms are finite."""


def choose_first(logits: Tensor, uniforms: Tensor | None, temperature: float = 1.0) -> Tensor:
    """Draw one of two classes by straight-through Gumbel-softmax (Jang et al., 2017; EnDi, section 4.1).

    The difference of two Gumbel variables is logistic, so one uniform an element draws between two classes.

    Args:
        logits: [..., 2] float, of both classes.
        uniforms: [...] in [0, 1]; None takes the likelier class.
        temperature: tau; it changes the gradient, not what is drawn.

    Returns:
        [...] float, exactly 0 or 1, with the gradient of the soft sample.
    """
    margin = logits[..., 0] - logits[..., 1]
    if uniforms is not None:
        inside = uniforms.to(margin.dtype).clamp(_NEAREST, 1 - _NEAREST)
        margin = margin + inside.logit()
    soft = torch.sigmoid(margin / temperature)
    # The difference is exactly 0, whatever a float rounds.
    return (margin > 0).to(soft.dtype) + (soft - soft.detach())


class OthersHead(nn.Module):
    """Agent modelling (EnDi, section 4.2): a linear layer for each of the others, on features of their entities."""

    def __init__(self, features: int, others: int, actions: int) -> None:
        super().__init__()
        self._others = others
        self.policies = nn.Linear(features, others * actions)

    def forward(self, features: Tensor) -> Tensor:
        """Features [..., F] -> logits of their actions [..., N - 1, A]."""
        logits: Tensor = self.policies(features).unflatten(-1, (self._others, -1))
        return logits
