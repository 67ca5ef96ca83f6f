"""Coordination sets, the CORDIAL loss and the coordination metrics (A Cordial Sync, sections 4.3 and 6.2, eq. 1).

CL_beta(S_t, Pi_t) = -beta <S_t, log Pi_t> / <S_t, S_t>, recovered from the paper's own special case. The authors' code
averages navigation and joint-action entries apart and takes the mean of the two averages; it produced the published
results and is the default here. Both are -beta <W_t, log Pi_t> for a weight on each one of S_t, so a coordination set
stores the coordinated joint actions and their weights. Only those (16 of 169, 46 of 2,197) are ever evaluated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from rl_models.batch import Batch
from rl_models.distributions.joint_policy import WholeJointPolicy, as_whole_joint
from rl_models.distributions.joint_tensor import l1_to_product
from rl_models.losses.extra_loss import Statistics
from rl_models.losses.policy_gradient import masked_mean
from rl_models.policy import TeamOutput
from rl_models.schedule import Progress, Schedule

CordialForm = Literal["code", "paper"]


class CoordinationSet(nn.Module):
    """The ones of every coordination matrix that can occur, with CORDIAL's weights.

    Attributes:
        actions: [K, E, N] int64, coordinated joint actions of each of K matrices.
        weights: [K, E] float64, weights of CORDIAL, summing to 1 over E.
        present: [K, E] bool, false where a shorter set has no entry.
    """

    actions: Tensor
    weights: Tensor
    present: Tensor

    def __init__(self, actions: Tensor, groups: Tensor, form: CordialForm = "code") -> None:
        """Tabulate the sets.

        Args:
            actions: [K, E, N] int; rows past the end of a shorter set may hold anything.
            groups: [K, E] int, group of each entry (the code form averages each group apart), -1 for no entry.
            form: `code` gives every group the same total weight, `paper` every entry.
        """
        super().__init__()
        present = groups >= 0
        if form == "paper":
            weights = present.double()
        else:
            same = (groups[:, :, None] == groups[:, None, :]) & present[:, None, :]
            weights = present / same.sum(-1).clamp(min=1).double()
        weights = weights / weights.sum(-1, keepdim=True)
        self.register_buffer("actions", actions.long(), persistent=False)
        self.register_buffer("weights", weights, persistent=False)
        self.register_buffer("present", present, persistent=False)

    @classmethod
    def from_matrices(cls, matrices: Tensor, form: CordialForm = "code") -> CoordinationSet:
        """Coordination sets of 0/1 tensors [K, A, ..., A]; all ones of a matrix are one group."""
        number = int(matrices.flatten(1).sum(1).max())
        actions = torch.zeros(matrices.shape[0], number, matrices.ndim - 1, dtype=torch.long)
        groups = torch.full((matrices.shape[0], number), -1)
        for row, matrix in enumerate(matrices):
            ones = matrix.nonzero()
            actions[row, : len(ones)], groups[row, : len(ones)] = ones, 0
        return cls(actions, groups, form)

    def log_probabilities(self, policy: WholeJointPolicy, which: Tensor) -> Tensor:
        """Log-probabilities of the coordinated joint actions, [..., E], for matrices `which` [...] int."""
        return policy.log_joint_at(self.actions[which.long()])

    def cordial(self, log_probabilities: Tensor, which: Tensor) -> Tensor:
        """CORDIAL without beta, [...]: near log A**N for an untrained policy."""
        weights = self.weights[which.long()].to(log_probabilities.dtype)
        return -(weights * log_probabilities).sum(-1)

    def invalid_probability(self, log_probabilities: Tensor, which: Tensor) -> Tensor:
        """Mass of the joint policy on uncoordinated joint actions, [...] in 0 .. 1."""
        present = self.present[which.long()]
        return 1.0 - (log_probabilities.exp() * present).sum(-1)


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
