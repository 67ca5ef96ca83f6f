"""Regularisers of an entity divider, and measures of how a team divides its entities (EnDi, sections 4.1 and 5.2).

An agent's entities are those of its mask, the others' all the rest: e_i and e_-i. Every function takes what agents say
of E entities and returns a number for each agent, or for the team. This file must not know where masks come from.
"""

from __future__ import annotations

import torch
from torch import Tensor

_LEAST = 1e-12
"""Of a probability in a logarithm."""


def number_gap(mask: Tensor, entities: Tensor, num_agents: int) -> Tensor:
    """EnDi(num): | |e_i| - |e_-i| / (n - 1) | (section 5.2).

    Args:
        mask: [..., E] float, 1 for one's own, 0 where there is no entity.
        entities: [..., E] bool, whether there is one.
        num_agents: n.

    Returns:
        [...].
    """
    own = mask.sum(-1)
    return (own - (entities.sum(-1) - own) / (num_agents - 1)).abs()


def distance_sum(mask: Tensor, entities: Tensor, offsets: Tensor) -> Tensor:
    """EnDi(dis): Manhattan distances of one's own entities to oneself, and of the others' to the nearest of them.

    Section 5.2, whose second term has a misprint; in units of width plus height of the grid.

    Args:
        mask: [..., E] float.
        entities: [..., E] bool.
        offsets: [..., E, 2, 2] float, from oneself and from the nearest other, in widths and heights of the grid.

    Returns:
        [...].
    """
    own, left = _of_sides(mask, entities, offsets.abs().sum(-1) / 2)
    return own + left


def distance_gap(mask: Tensor, entities: Tensor, offsets: Tensor) -> Tensor:
    """The release's form of EnDi(dis): the squared difference of both sides' sums of squared Euclidean distances.

    It balances ways instead of shortening them. Arguments and result as above.
    """
    own, left = _of_sides(mask, entities, (offsets**2).sum(-1))
    return (own - left) ** 2


def count_divergence(probability: Tensor, entities: Tensor, num_agents: int, deviation: float) -> Tensor:
    """Divergence of the number of one's own entities from a normal distribution around |E| / n: D_KL(rho || p*).

    Section 4.1 has the divergence, the mean and a small variance. Which distribution rho is, it leaves open: here that
    of the number of own entities, each drawn by itself; p* is a normal density on 0 .. |E|, scaled to sum to 1.

    Args:
        probability: [..., E] float, of each entity's being one's own, 0 where there is none.
        entities: [..., E] bool.
        num_agents: n.
        deviation: of the normal distribution, in entities.

    Returns:
        [...].
    """
    rho = count_distribution(probability, entities)
    total, count = entities.sum(-1, keepdim=True), torch.arange(rho.shape[-1], device=rho.device)
    is_possible = count <= total
    heights = -0.5 * ((count - total / num_agents) / deviation) ** 2
    target = heights.masked_fill(~is_possible, -torch.inf).log_softmax(-1).masked_fill(~is_possible, 0)
    return (rho * (rho.clamp(min=_LEAST).log() - target)).sum(-1)


def count_distribution(probability: Tensor, entities: Tensor) -> Tensor:
    """Probability of every number of entities, each drawn by itself: [..., E] -> [..., most + 1].

    `most` is the largest number of entities anywhere.
    """
    most = int(entities.sum(-1).max()) if entities.numel() else 0
    present = torch.take_along_dim(probability, entities.int().topk(most, -1).indices, -1)
    counts = [torch.ones_like(probability[..., 0])]
    for chance in present.unbind(-1):
        one_more = [torch.zeros_like(chance), *(part * chance for part in counts)]
        as_many = [*(part * (1 - chance) for part in counts), torch.zeros_like(chance)]
        counts = [one + other for one, other in zip(one_more, as_many, strict=True)]
    return torch.stack(counts, -1)


def overlap(mask: Tensor) -> Tensor:
    """Of the entities that somebody takes, the share that more than one takes: [..., N, E] -> [...]; 0 if none is."""
    takers = mask.sum(-2)
    return (takers > 1).sum(-1) / (takers > 0).sum(-1).clamp(min=1)


def coverage(mask: Tensor, entities: Tensor) -> Tensor:
    """Share of the entities that each agent takes, [..., N, E] -> [..., N]; 0 if there are none."""
    return mask.sum(-1) / entities.sum(-1).clamp(min=1)


def has_conflict(mask: Tensor, offsets: Tensor) -> Tensor:
    """Whether two agents have the same sub-goal: of each, the nearest of its entities.

    Args:
        mask: [..., N, E] float, 0 or 1, with the same entity in a place for every agent.
        offsets: [..., N, E, 2, 2] float.

    Returns:
        [...] bool.
    """
    distance = offsets[..., 0, :].abs().sum(-1).masked_fill(mask == 0, torch.inf)
    goal = distance.argmin(-1).where(mask.any(-1), -1)
    same = (goal[..., :, None] == goal[..., None, :]) & (goal >= 0)[..., None]
    return same.sum((-1, -2)) > (goal >= 0).sum(-1)


def _of_sides(mask: Tensor, entities: Tensor, distances: Tensor) -> tuple[Tensor, Tensor]:
    """Distances [..., E, 2] of one's own entities and of the others', summed, [...] each."""
    own, left = distances.unbind(-1)
    return (mask * own).sum(-1), ((1 - mask) * entities * left).sum(-1)
