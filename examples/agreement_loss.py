"""A custom loss that rewards a team for the probability that all of its agents choose the same action.

In the corridor the sofa moves only where the agents agree, so the loss speeds up
learning. `agreement` is a pure function of a joint policy; the learner calls `AgreementLoss` with each minibatch, which
returns a weighted scalar and metrics.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from rl_models.algorithms.objective import Statistics
from rl_models.batch import Batch
from rl_models.distributions.joint_policy import WholeJointPolicy, as_whole_joint
from rl_models.policy import TeamOutput
from rl_models.schedule import Progress, Schedule


def agreement(policy: WholeJointPolicy) -> Tensor:
    """[B, T] float32, the probability that all N agents choose the same of their A actions."""
    joint = policy.joint()  # [B, T, A, ..., A] with N action axes
    same: list[Any] = [torch.arange(policy.num_actions, device=joint.device)] * policy.num_agents
    return joint[(..., *same)].sum(-1)


@dataclass(frozen=True)
class AgreementLoss:
    """-weight(t) * mean log agreement.

    Attributes:
        weight: its schedule; at 0 the loss only logs.
    """

    weight: Schedule

    def __call__(self, output: TeamOutput, batch: Batch, progress: Progress) -> tuple[Tensor, Statistics]:
        """Term to add to the algorithm's loss, and metrics."""
        steps = batch["reward"].shape[1]  # a policy may also have the step of the bootstrap observation
        probability = agreement(as_whole_joint(output.policy.first_steps(steps)))
        loss, weight = -probability.log().mean(), self.weight.coefficient(progress)
        return weight * loss, {"loss/agreement": loss.detach(), "policy/agreement": probability.detach().mean()}
