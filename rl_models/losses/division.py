"""Losses of EnDi: regularisers of the divider, agent modelling, and metrics of a division (EnDi, sections 4 and 5.2).

The entities in an agent's mask are its own, e_i; the rest are the others', e_-i. A mask [..., E] float32 is 1 for own
entities, 0 for others' and for no entity, `entities` [..., E] bool says where there is one, and offsets [..., E, 2, 2]
float32 are those of a `Division`; regularisers are [...] float32. Losses are summed over agents and averaged over
steps, so a weight has the same meaning as for an agent that is trained alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from rl_models.batch import Batch, alive_mask, chosen_actions, decision_mask
from rl_models.losses.extra_loss import Statistics
from rl_models.losses.policy_gradient import masked_mean, team_mean
from rl_models.networks.entity_divider import ENTITIES, MASK, OFFSETS, OTHERS, PROBABILITY, Division, own_first
from rl_models.policy import TeamOutput
from rl_models.runtime.device import longest
from rl_models.schedule import Progress

_MIN_PROBABILITY = 1e-12
"""Smallest probability in a logarithm."""


def number_gap(mask: Tensor, entities: Tensor, num_agents: int | Tensor) -> Tensor:
    """Regulariser EnDi(num): | |e_i| - |e_-i| / (N - 1) | (section 5.2); for a lone agent |e_-i|.

    N, a number or [...] int64, counts the agents in the game.
    """
    own = mask.sum(-1)
    rest, others = entities.sum(-1) - own, num_agents - 1 + (num_agents == 1)
    return (own * (num_agents > 1) - rest / others).abs()


def distance_sum(mask: Tensor, entities: Tensor, offsets: Tensor) -> Tensor:
    """Regulariser EnDi(dis): summed Manhattan distances of all entities to those who should reach them.

    An agent's own entities count with their distance to the agent, the others' with their distance to the nearest other
    agent (section 5.2, whose second term has a misprint); the unit is the width plus the height of the grid.
    """
    own, others = _summed_by_side(mask, entities, offsets.abs().sum(-1) / 2)
    return own + others


def distance_gap(mask: Tensor, entities: Tensor, offsets: Tensor) -> Tensor:
    """EnDi(dis) in the released code: (own - others)**2 of the summed squared Euclidean distances.

    It makes the distances of both sides equal instead of small.
    """
    own, others = _summed_by_side(mask, entities, (offsets**2).sum(-1))
    return (own - others) ** 2


def count_divergence(probability: Tensor, entities: Tensor, num_agents: int | Tensor, deviation: float) -> Tensor:
    """D_KL(rho || p*) of the number of own entities from a normal distribution around |E| / N, in nats.

    Section 4.1 gives the divergence, the mean and a small variance, but not the distribution rho. Here rho is the
    distribution of the number of own entities, each drawn independently; p* is a normal density on 0 .. |E| with this
    standard deviation in entities, scaled to sum to 1. `probability` [..., E] is that an entity is the agent's own, 0
    where there is none; N is as of `number_gap`.
    """
    rho = count_distribution(probability, entities)
    total, count = entities.sum(-1, keepdim=True), torch.arange(rho.shape[-1], device=rho.device)
    is_possible = count <= total
    mean = total / (num_agents if isinstance(num_agents, int) else num_agents[..., None])
    heights = -0.5 * ((count - mean) / deviation) ** 2
    target = heights.masked_fill(~is_possible, -torch.inf).log_softmax(-1).masked_fill(~is_possible, 0)
    return (rho * (rho.clamp(min=_MIN_PROBABILITY).log() - target)).sum(-1)


def count_distribution(probability: Tensor, entities: Tensor) -> Tensor:
    """Probability of every number of own entities, each drawn independently: [..., C + 1] float32.

    `probability` [..., E] is that an entity is the agent's own. C is the largest number of entities in the batch; on an
    accelerator it is E, and what is too many has probability 0.
    """
    largest = longest(entities.sum(-1), entities.shape[-1]) if entities.numel() else 0
    present = torch.take_along_dim(probability, entities.int().topk(largest, -1).indices, -1)
    counts = [torch.ones_like(probability[..., 0])]
    for chance in present.unbind(-1):
        taken = [torch.zeros_like(chance), *(part * chance for part in counts)]
        left = [*(part * (1 - chance) for part in counts), torch.zeros_like(chance)]
        counts = [one + other for one, other in zip(taken, left, strict=True)]
    return torch.stack(counts, -1)


def overlap(mask: Tensor) -> Tensor:
    """Share of the taken entities that several agents take: masks [..., N, E] -> [...] float32; 0 if none is taken."""
    takers = mask.sum(-2)
    return (takers > 1).sum(-1) / (takers > 0).sum(-1).clamp(min=1)


def coverage(mask: Tensor, entities: Tensor) -> Tensor:
    """Share of the entities [..., N, E] or [..., 1, E] that each agent takes, [..., N] float32; 0 if there are none."""
    return mask.sum(-1) / entities.sum(-1).clamp(min=1)


def has_conflict(mask: Tensor, offsets: Tensor) -> Tensor:
    """Whether two agents' nearest own entities, their sub-goals, are the same: [...] bool.

    From masks [..., N, E] and offsets [..., N, E, 2, 2] of a `Division`, with the same order of entities for every
    agent.
    """
    distance = offsets[..., 0, :].abs().sum(-1).masked_fill(mask == 0, torch.inf)
    goal = distance.argmin(-1).where(mask.any(-1), -1)
    same = (goal[..., :, None] == goal[..., None, :]) & (goal >= 0)[..., None]
    return same.sum((-1, -2)) > (goal >= 0).sum(-1)


def _summed_by_side(mask: Tensor, entities: Tensor, distances: Tensor) -> tuple[Tensor, Tensor]:
    """Sums of the distances [..., E, 2] over the agent's own entities and over the others', [...] each."""
    own, others = distances.unbind(-1)
    return (mask * own).sum(-1), ((1 - mask) * entities * others).sum(-1)


Regulariser = Literal["num", "dis", "dis_balance", "kl", "none"]
"""`num` and `dis` are the paper's, `dis_balance` is `dis` of the released code, `kl` is our reading of section 4.1."""


@dataclass(frozen=True)
class AgentModellingLoss:
    """Cross-entropy of each agent's prediction of the others' actions (EnDi, section 4.2), times `weight`.

    Agents that have left the game predict nothing, and actions of agents that do not decide are not predicted.
    """

    weight: float = 1.0

    def __call__(self, output: TeamOutput, batch: Batch, progress: Progress) -> tuple[Tensor, Statistics]:
        """See `ExtraLoss`; the network has the extra `division/others` [B, T or T + 1, N, N - 1, A]."""
        actions = chosen_actions(batch)
        if OTHERS not in output.extras or isinstance(actions, dict):
            raise ValueError(
                "agent modelling needs a divided team that models other agents and a world with one action per agent: "
                "build the team with models_others=True"
            )
        logits = output.extras[OTHERS][:, : actions.shape[1]]
        deciding, alive = decision_mask(batch), alive_mask(batch)
        mask = None if deciding is None else values_of_others(deciding)
        mask = mask if mask is None or alive is None else mask & alive[..., None]
        loss = team_mean(modelling_loss(logits, actions).flatten(2), None if mask is None else mask.flatten(2))
        hits = masked_mean((logits.argmax(-1) == values_of_others(actions)).float(), mask)
        return self.weight * loss, {"loss/agent_modelling": loss.detach(), "division/others_accuracy": hits}


@dataclass(frozen=True)
class DivisionLoss:
    """A regulariser of the masks; it always logs the metrics of the division.

    Attributes:
        regulariser: name of the regulariser, or `none`.
        weight: weight of the loss; 1 in the released code.
        deviation: standard deviation of the target of `kl`, in entities.
    """

    regulariser: Regulariser = "dis"
    weight: float = 1.0
    deviation: float = 0.5

    def __call__(self, output: TeamOutput, batch: Batch, progress: Progress) -> tuple[Tensor, Statistics]:
        """See `ExtraLoss`; the network's extras hold the parts of a division, [B, T or T + 1, N, E, ...]."""
        divided, alive = TeamDivision.from_output(output, batch["reward"].shape[1]), alive_mask(batch)
        logged: Statistics = {f"division/{name}": value.mean() for name, value in divided.metrics(alive).items()}
        if self.regulariser == "none":
            return output.values.new_zeros(()), logged
        loss = team_mean(self._losses(divided, alive), alive)
        return self.weight * loss, logged | {f"loss/{self.regulariser}": loss.detach()}

    def _losses(self, divided: TeamDivision, alive: Tensor | None) -> Tensor:
        """The regulariser of each agent at each step, [B, T, N]."""
        mask, entities = divided.mask, divided.entities
        agents = mask.shape[2] if alive is None else alive.sum(-1, keepdim=True).clamp(min=1)
        forms: dict[str, Callable[[], Tensor]] = {
            "num": lambda: number_gap(mask, entities, agents),
            "dis": lambda: distance_sum(mask, entities, divided.offsets),
            "dis_balance": lambda: distance_gap(mask, entities, divided.offsets),
            "kl": lambda: count_divergence(divided.probability, entities, agents, self.deviation),
        }
        return forms[self.regulariser]()


@dataclass(frozen=True)
class TeamDivision(Division):
    """How a team divides its entities: the parts of a `Division`, with [B, T, N] in place of K frames."""

    @classmethod
    def from_output(cls, output: TeamOutput, steps: int | None = None) -> TeamDivision:
        """The division in a policy's output, at the first `steps` steps or at all steps."""
        if MASK not in output.extras:
            raise ValueError(
                "regularisers and metrics of a division need a team that divides entities: build one with "
                "`teams/endi_team.py`"
            )
        return cls(*(output.extras[name][:, :steps] for name in (MASK, PROBABILITY, ENTITIES, OFFSETS)))

    @torch.no_grad()
    def metrics(self, is_here: Tensor | None = None) -> dict[str, Tensor]:
        """Metrics of each step's division, name -> [B, T] float32; an agent that has left takes nothing.

        `own_entities_i` is the number of entities that agent i takes. `overlap` is the share of the taken entities that
        several agents take. `coverage` is the share of the entities that an agent takes, averaged over agents. `taken`
        is the share that at least one agent takes. `conflicts` is 1 if two agents have the same nearest entity.
        `is_here` is [B, T, N] bool, None for all.
        """
        here = torch.ones_like(self.mask[..., 0]) if is_here is None else is_here.to(self.mask.dtype)
        mask, entities = self.mask * here[..., None], self.entities & (here > 0)[..., None]
        own = {f"own_entities_{agent}": taken.sum(-1) for agent, taken in enumerate(mask.unbind(2))}
        return own | {
            "overlap": overlap(mask),
            "coverage": coverage(mask, entities).sum(-1) / here.sum(-1).clamp(min=1),
            "taken": coverage(mask.amax(2), entities.any(2)),
            "conflicts": has_conflict(mask, self.offsets).float(),
        }


def division_probe(output: TeamOutput, obs: dict[str, Tensor]) -> dict[str, Tensor]:
    """Metrics of one step for an evaluation, name -> [B, 1] float32.

    Output and observations have batch shape [B, 1]; `alive` [B, 1, N] is observed if agents can leave.
    """
    alive = obs.get("alive")
    return TeamDivision.from_output(output).metrics(None if alive is None else alive.bool())


def values_of_others(values: Tensor) -> Tensor:
    """Values of agents i + 1, i + 2, ... modulo N for each agent i: [..., N] -> [..., N, N - 1]."""
    return own_first(values)[..., 1:]


def modelling_loss(logits: Tensor, actions: Tensor) -> Tensor:
    """Minus the predicted log-probability of the others' actions in the same step, [..., N, N - 1] float32.

    Logits [..., N, N - 1, A] are agent i's prediction for agents i + 1, i + 2, ... modulo N; actions [..., N] int64 are
    all.
    """
    return -torch.take_along_dim(logits.log_softmax(-1), values_of_others(actions)[..., None], -1).squeeze(-1)
