"""EnDi's losses as extra losses, and its measures for TensorBoard and for evaluation (EnDi, sections 4.1, 4.2 and 5.2).

As everywhere, agents are summed and steps averaged, so that a weight means what it means to an agent trained alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from rl_models.algorithms.objective import Statistics
from rl_models.batch import Batch, alive, chosen, decides
from rl_models.losses import division as measures
from rl_models.losses.agent_modelling import modelling_error, modelling_hits, of_others
from rl_models.losses.policy_gradient import masked_mean, team_mean
from rl_models.networks.entity_divider import ENTITIES, MASK, OFFSETS, OTHERS, PROBABILITY
from rl_models.policy import TeamOutput
from rl_models.schedule import Progress

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
            "num": lambda: measures.number_gap(mask, entities, agents),
            "dis": lambda: measures.distance_sum(mask, entities, divided.offsets),
            "dis_balance": lambda: measures.distance_gap(mask, entities, divided.offsets),
            "kl": lambda: measures.count_divergence(divided.probability, entities, agents, self.deviation),
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
            raise ValueError("regularisers and measures of a division need a divided team: build one of rl_models/endi")
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
            "overlap": measures.overlap(self.mask),
            "coverage": measures.coverage(self.mask, self.entities).mean(-1),
            "taken": measures.coverage(taken, self.entities[:, :, :1]).squeeze(-1),
            "conflicts": measures.has_conflict(self.mask, self.offsets).float(),
        }


def division_probe(output: TeamOutput, obs: dict[str, Tensor]) -> dict[str, Tensor]:
    """Measures of one step for an evaluation, [B, 1] each."""
    return Divided.of(output).measures()
