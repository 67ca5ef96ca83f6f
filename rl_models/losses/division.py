"""EnDi's losses: regularisers of the divider, agent modelling, and measures of a division (EnDi, sections 4 and 5.2).

An agent's entities are those of its mask, the others' all the rest: e_i and e_-i. Every function takes what agents say
of E entities and returns a number for each agent, or for the team. Agents are summed and steps averaged, so a weight
means what it means to an agent trained alone. This file must not know where masks and expectations come from.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from rl_models.batch import Batch, alive, chosen, decides
from rl_models.losses.extra_loss import Statistics
from rl_models.losses.policy_gradient import masked_mean, team_mean
from rl_models.networks.entity_divider import ENTITIES, MASK, OFFSETS, OTHERS, PROBABILITY
from rl_models.policy import TeamOutput
from rl_models.schedule import Progress

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


Regulariser = Literal["num", "dis", "dis_balance", "kl", "none"]
"""`num` and `dis` are the paper's, `dis_balance` is what its release has for `dis`, `kl` our reading of section 4.1."""


@dataclass(frozen=True)
class AgentModellingLoss:
    """Cross-entropy of what each agent expects of the others with what they did.

    Attributes:
        weight: of the loss; 1 in the release.
    """

    weight: float = 1.0

    def __call__(self, output: TeamOutput, batch: Batch, progress: Progress) -> tuple[Tensor, Statistics]:
        """Weighted loss, and how often the likeliest action was taken.

        Raises:
            ValueError: the team does not model others, or its actions are factored.
        """
        actions = chosen(batch)
        if OTHERS not in output.extras or isinstance(actions, dict):
            raise ValueError(
                "agent modelling needs a divided team that models others, in a world with one action an agent: build "
                "it with models_others=True"
            )
        logits = output.extras[OTHERS][:, : actions.shape[1]]
        acting = decides(batch)
        counts = None if acting is None else of_others(acting)
        loss = team_mean(modelling_error(logits, actions).flatten(2), None if counts is None else counts.flatten(2))
        hits = masked_mean(modelling_hits(logits.detach(), actions).float(), counts)
        return self.weight * loss, {"loss/agent_modelling": loss.detach(), "division/others_accuracy": hits}

    def to(self, device: torch.device) -> None:
        """There are no tables."""


@dataclass(frozen=True)
class DivisionLoss:
    """A regulariser of the masks; measures of the division are logged in any case.

    Attributes:
        regulariser: which.
        weight: of the loss; 1 in the release.
        deviation: of `kl`'s target, in entities.
    """

    regulariser: Regulariser = "dis"
    weight: float = 1.0
    deviation: float = 0.5

    def __call__(self, output: TeamOutput, batch: Batch, progress: Progress) -> tuple[Tensor, Statistics]:
        """Weighted loss and numbers to log.

        Raises:
            ValueError: the team does not divide entities.
        """
        divided = Divided.of(output, batch["reward"].shape[1])
        logged: Statistics = {f"division/{name}": value.mean() for name, value in divided.measures().items()}
        if self.regulariser == "none":
            return output.values.new_zeros(()), logged
        loss = team_mean(self._errors(divided), alive(batch))
        return self.weight * loss, logged | {f"loss/{self.regulariser}": loss.detach()}

    def _errors(self, divided: Divided) -> Tensor:
        """Of each agent at each step, [B, T, N]."""
        mask, entities, agents = divided.mask, divided.entities, divided.mask.shape[2]
        forms: dict[str, Callable[[], Tensor]] = {
            "num": lambda: number_gap(mask, entities, agents),
            "dis": lambda: distance_sum(mask, entities, divided.offsets),
            "dis_balance": lambda: distance_gap(mask, entities, divided.offsets),
            "kl": lambda: count_divergence(divided.probability, entities, agents, self.deviation),
        }
        return forms[self.regulariser]()

    def to(self, device: torch.device) -> None:
        """There are no tables."""


@dataclass(frozen=True)
class Divided:
    """What a divided team says of its entities, [B, T, N, E, ...] each, as in `networks/entity_divider.py`."""

    mask: Tensor
    probability: Tensor
    entities: Tensor
    offsets: Tensor

    @classmethod
    def of(cls, output: TeamOutput, steps: int | None = None) -> Divided:
        """What it says at the first steps, or at all.

        Raises:
            ValueError: the team does not divide entities.
        """
        if MASK not in output.extras:
            raise ValueError(
                "regularisers and measures of a division need a divided team; `teams/endi_team.py` builds one"
            )
        return cls(*(output.extras[name][:, :steps] for name in (MASK, PROBABILITY, ENTITIES, OFFSETS)))

    @torch.no_grad()
    def measures(self) -> dict[str, Tensor]:
        """How each step's entities are divided, [B, T] each.

        `own_entities_i` is how many agent i takes, `overlap` the share that more than one takes of what is taken,
        `coverage` the share that an agent takes (mean over agents), `taken` the share that anybody takes, `conflicts`
        whether two agents' nearest entities are one.
        """
        taken = self.mask.amax(2, keepdim=True)
        own = {f"own_entities_{agent}": mask.sum(-1) for agent, mask in enumerate(self.mask.unbind(2))}
        return own | {
            "overlap": overlap(self.mask),
            "coverage": coverage(self.mask, self.entities).mean(-1),
            "taken": coverage(taken, self.entities[:, :, :1]).squeeze(-1),
            "conflicts": has_conflict(self.mask, self.offsets).float(),
        }


def division_probe(output: TeamOutput, obs: dict[str, Tensor]) -> dict[str, Tensor]:
    """Measures of one step for an evaluation, [B, 1] each."""
    return Divided.of(output).measures()


def of_others(values: Tensor) -> Tensor:
    """What each agent's others have: [..., N] -> [..., N, N - 1], those of agents i + 1, i + 2, ... modulo N."""
    agents = torch.arange(values.shape[-1], device=values.device)
    return values[..., (agents[:, None] + agents[1:]) % len(agents)]


def modelling_error(logits: Tensor, actions: Tensor) -> Tensor:
    """Minus the log-probability of what the others did in the same step.

    Args:
        logits: [..., N, N - 1, A] float, of what agent i expects of agents i + 1, i + 2, ...
        actions: [..., N] int64, what all did.

    Returns:
        [..., N, N - 1].
    """
    return -torch.take_along_dim(logits.log_softmax(-1), of_others(actions)[..., None], -1).squeeze(-1)


def modelling_hits(logits: Tensor, actions: Tensor) -> Tensor:
    """[..., N, N - 1] bool, whether the likeliest action was taken; arguments as above."""
    return logits.argmax(-1) == of_others(actions)
