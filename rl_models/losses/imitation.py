"""Imitation: the cross-entropy to the joint actions of an expert (Ross et al. 2011, DAgger; A Cordial Sync, A.3).

For a mixture it is the joint probability of the whole mixture, not of the drawn component. The world shows the expert's
actions in an observation that only this loss reads, in the states that the team itself reaches.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from rl_models.batch import Batch
from rl_models.distributions.joint_policy import is_possible
from rl_models.losses.extra_loss import Statistics, weighed
from rl_models.losses.policy_gradient import masked_mean
from rl_models.policy import TeamOutput
from rl_models.schedule import Progress, Schedule

OBSERVATION = "expert"
"""Observation key with the expert's action of each agent, negative where it has none. No network reads it."""


def imitation_loss(log_prob: Tensor, is_advised: Tensor) -> Tensor:
    """Minus the mean log-probability of the expert's joint actions where it advises, a scalar in nats; 0 if nowhere.

    `log_prob` [...] float32 are those of its actions and `is_advised` [...] bool says where there are some. Steps at
    which an action of the expert is illegal are left out.
    """
    counts = is_advised & is_possible(log_prob)
    return -masked_mean(log_prob.masked_fill(~counts, 0.0), counts)


@dataclass(frozen=True)
class Imitation:
    """weight(t) * cross-entropy to the expert, averaged over the steps at which there is an expert action."""

    weight: Schedule

    def __call__(self, output: TeamOutput, batch: Batch, progress: Progress) -> tuple[Tensor, Statistics]:
        """See `ExtraLoss`; the world shows `expert` [B, T, N] int, else it raises ValueError."""
        if f"obs/{OBSERVATION}" not in batch:
            raise ValueError(f"imitation needs {OBSERVATION!r} of the world: make training worlds that show the expert")
        expert = batch[f"obs/{OBSERVATION}"][:, : batch["reward"].shape[1]].long()
        is_advised, weight = (expert >= 0).all(-1), self.weight.coefficient(progress)
        with torch.set_grad_enabled(not self.weight.is_zero(progress) and torch.is_grad_enabled()):
            loss = imitation_loss(output.policy.log_prob(expert.clamp(min=0)), is_advised)
        agrees = (batch["actions"] == expert).all(-1) if "actions" in batch else torch.zeros_like(is_advised)
        loss, statistics = weighed("imitation", loss, weight)
        return loss, statistics | {"policy/expert_agreement": masked_mean(agrees.float(), is_advised)}
