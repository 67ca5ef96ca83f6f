"""CORDIAL as an extra loss, and the paper's coordination metrics as a probe (A Cordial Sync, sections 4.3 and 6.2)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from rl_models.algorithms.objective import Statistics
from rl_models.batch import Batch
from rl_models.distributions.joint_policy import WholeJointPolicy, as_whole_joint
from rl_models.distributions.joint_tensor import l1_to_product
from rl_models.losses.cordial import CoordinationSet
from rl_models.losses.policy_gradient import masked_mean
from rl_models.policy import TeamOutput
from rl_models.schedule import Progress, Schedule

_TVD_WORLDS, _LARGEST_JOINT = 4, 3000
"""TVD needs the whole joint tensor, so training logs it for a few worlds, and only where that tensor is small."""

_MOST_PROBABILITIES = 2**22
"""Of joint tensors that a probe holds at once; four agents have 28,561 in every world."""

OBSERVATION = "coordination"
"""Observation key with the number of the coordination matrix that holds now, the same for every agent."""


@dataclass(frozen=True)
class CoordinationLoss:
    """beta(t) * CORDIAL, averaged over steps; logs the invalid probability in any case.

    Attributes:
        coordination: the coordination sets.
        beta: the weight's schedule; constant 0 only logs.
    """

    coordination: CoordinationSet
    beta: Schedule

    def __call__(self, output: TeamOutput, batch: Batch, progress: Progress) -> tuple[Tensor, Statistics]:
        """Weighted loss and numbers to log; CORDIAL at weight 0 costs no backward pass."""
        steps = batch["reward"].shape[1]
        which = batch[f"obs/{OBSERVATION}"][:, :steps, 0]
        beta = self.beta.at(progress)
        with torch.set_grad_enabled(beta > 0 and torch.is_grad_enabled()):
            policy = as_whole_joint(output.policy)
            log_probabilities = self.coordination.log_probabilities(policy, which)
            cordial = masked_mean(self.coordination.cordial(log_probabilities, which), None)
        invalid = self.coordination.invalid_probability(log_probabilities.detach(), which).mean()
        statistics: Statistics = {
            "loss/cordial": cordial.detach(),
            "schedule/cordial": beta,
            "policy/invalid_probability": invalid,
        }
        return beta * cordial, statistics | _tvd(policy)

    def to(self, device: torch.device) -> None:
        """Move the coordination sets to where the batches are."""
        self.coordination.to(device)


@torch.no_grad()
def _tvd(policy: WholeJointPolicy) -> Statistics:
    if policy.num_actions**policy.num_agents > _LARGEST_JOINT:
        return {}
    return {"policy/tvd": policy.of_worlds(slice(_TVD_WORLDS)).tvd().mean()}


@dataclass(frozen=True)
class CoordinationProbe:
    """Invalid probability and TVD of every step, as the paper's tables report them."""

    coordination: CoordinationSet

    def __call__(self, output: TeamOutput, obs: dict[str, Tensor]) -> dict[str, Tensor]:
        """[B, 1] each."""
        device = output.values.device
        which = obs[OBSERVATION][:, :, 0].to(device)
        self.coordination.to(device)
        policy = as_whole_joint(output.policy)
        log_probabilities = self.coordination.log_probabilities(policy, which)
        invalid = self.coordination.invalid_probability(log_probabilities, which)
        at_once = max(1, _MOST_PROBABILITIES // policy.num_actions**policy.num_agents)
        parts = [
            self.of_joint(part, part.joint())
            for part in (policy.of_worlds(slice(first, first + at_once)) for first in range(0, len(which), at_once))
        ]
        return {"invalid_probability": invalid} | {name: torch.cat([part[name] for part in parts]) for name in parts[0]}

    def of_joint(self, policy: WholeJointPolicy, joint: Tensor) -> dict[str, Tensor]:
        """Metrics that need the whole joint tensor, [B, 1, A, ..., A], of some worlds: [B, 1, ...] each."""
        return {"tvd": 0.5 * l1_to_product(joint, policy.marginals())}
