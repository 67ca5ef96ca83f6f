"""Coordination sets, the CORDIAL loss and the coordination metrics (A Cordial Sync, sections 4 and 6.2, eq. 1).

CL_beta(S_t, Pi_t) = -beta <S_t, log Pi_t> / <S_t, S_t>, which follows from the special case in the paper. The authors'
code averages navigation entries and joint-action entries separately and takes the mean of both averages. It produced
the published results and is the default here. Both forms are -beta <W_t, log Pi_t> with a weight for each one of S_t,
so a coordination set stores the coordinated joint actions and their weights. Only these joint actions (16 of 169, 46 of
2,197) are evaluated.

The paper has no illegal actions. Where an agent's action is illegal, the coordinated joint actions that it is part of
are left out and the weights of the others are scaled to sum to 1; a step at which none is left has no CORDIAL.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from rl_models.batch import Batch, decision_mask
from rl_models.configuration import CordialForm
from rl_models.distributions.joint_policy import WholeJointPolicy, as_whole_joint, is_possible, l1_to_product
from rl_models.losses.extra_loss import Statistics
from rl_models.losses.policy_gradient import masked_mean
from rl_models.policy import TeamOutput
from rl_models.schedule import Progress, Schedule


class CoordinationSet(nn.Module):
    """The entries with value 1 of every possible coordination matrix, with CORDIAL's weights.

    `matrix` [...] int is the number of a coordination matrix, and `log_probabilities` [..., E] are of its entries.

    Attributes:
        actions: [K, E, N] int64, coordinated joint actions of each of K matrices.
        weights: [K, E] float64, weights of CORDIAL, which sum to 1 over E.
        present: [K, E] bool, False for the padding of shorter sets.
    """

    def __init__(self, actions: Tensor, groups: Tensor, form: CordialForm = "code") -> None:
        """Compute the weights of coordinated joint actions [K, E, N] int.

        `groups` [K, E] int is the group of each entry, -1 for padding. The form `code` gives every group the same total
        weight, `paper` gives every entry the same.
        """
        super().__init__()
        present = groups >= 0
        if form == "paper":
            weights = present.double()
        else:
            same = (groups[:, :, None] == groups[:, None, :]) & present[:, None, :]
            weights = present / same.sum(-1).clamp(min=1).double()
        weights = weights / weights.sum(-1, keepdim=True).clamp(min=1)  # 0 where nothing is coordinated
        self.actions = nn.Buffer(actions.long(), persistent=False)
        self.weights = nn.Buffer(weights, persistent=False)
        self.present = nn.Buffer(present, persistent=False)

    @classmethod
    def from_matrices(cls, matrices: Tensor, form: CordialForm = "code") -> CoordinationSet:
        """Coordination sets of 0/1 tensors [K, A, ..., A]; all ones of a matrix are one group."""
        entries = int(matrices.flatten(1).sum(1).max())
        actions = torch.zeros(matrices.shape[0], entries, matrices.ndim - 1, dtype=torch.long)
        groups = torch.full((matrices.shape[0], entries), -1)
        for row, matrix in enumerate(matrices):
            ones = matrix.nonzero()
            actions[row, : len(ones)], groups[row, : len(ones)] = ones, 0
        return cls(actions, groups, form)

    def log_probabilities(self, policy: WholeJointPolicy, matrix: Tensor) -> Tensor:
        """Log-probabilities of the coordinated joint actions of matrices with numbers [...], [..., E] float32."""
        return policy.log_joint_at(self.actions[matrix.long()])

    def possible(self, log_probabilities: Tensor, matrix: Tensor) -> Tensor:
        """Whether an entry is a coordinated joint action of legal actions, and no padding: [..., E] bool."""
        return self.present[matrix.long()] & is_possible(log_probabilities)

    def cordial(self, log_probabilities: Tensor, matrix: Tensor) -> Tensor:
        """CORDIAL without beta (eq. 1) over legal joint actions, [...] float32; 0 where no coordinated one is legal.

        It is near log A**N for an untrained policy.
        """
        possible, weights = self.possible(log_probabilities, matrix), self.weights[matrix.long()]
        left = 1.0 - (weights * ~possible).sum(-1, keepdim=True)  # exactly 1 where nothing is left out
        weights = weights * possible / left.clamp(min=torch.finfo(left.dtype).tiny)
        return -(weights.to(log_probabilities.dtype) * torch.where(possible, log_probabilities, 0.0)).sum(-1)

    def invalid_probability(self, log_probabilities: Tensor, matrix: Tensor) -> Tensor:
        """Probability of all uncoordinated joint actions together, [...] float32 in [0, 1]."""
        possible = self.possible(log_probabilities, matrix)
        # Probabilities may sum to a little more than 1 by rounding.
        return (1.0 - (log_probabilities.exp() * possible).sum(-1)).clamp(0.0, 1.0)


_TVD_WORLDS, _MAX_JOINT_ACTIONS = 4, 3000
"""TVD needs the whole joint tensor, so training logs it for a few worlds only, and only if that tensor is small."""

MAX_PROBABILITIES = 2**22
"""Largest number of probabilities in the joint tensors that a probe computes at once; four agents of FurnMove have
28,561 a world."""

OBSERVATION = "coordination"
"""Observation key with the number of the present coordination matrix, the same for every agent."""


@dataclass(frozen=True)
class CoordinationLoss:
    """beta(t) * CORDIAL, averaged over steps; it always logs the invalid probability.

    Attributes:
        coordination: the coordination sets.
        beta: schedule of the loss's weight; with constant 0 the loss only logs.
    """

    coordination: CoordinationSet
    beta: Schedule

    def __call__(self, output: TeamOutput, batch: Batch, progress: Progress) -> tuple[Tensor, Statistics]:
        """See `ExtraLoss`; with weight 0 CORDIAL needs no backward pass.

        The world shows `coordination` [B, T, N] int. Only steps at which all agents decide and a coordinated joint
        action is legal count: at others there is nothing to coordinate.
        """
        decides = decision_mask(batch)
        steps = batch["reward"].shape[1]
        matrix = batch[f"obs/{OBSERVATION}"][:, :steps, 0]
        beta = self.beta.coefficient(progress)
        self.coordination.to(matrix.device)
        with torch.set_grad_enabled(not self.beta.is_zero(progress) and torch.is_grad_enabled()):
            policy = as_whole_joint(output.policy)
            log_probabilities = self.coordination.log_probabilities(policy, matrix)
            counts = self.coordination.possible(log_probabilities, matrix).any(-1)
            counts = counts if decides is None else counts & decides.all(-1)
            cordial = masked_mean(self.coordination.cordial(log_probabilities, matrix), counts)
        invalid = masked_mean(self.coordination.invalid_probability(log_probabilities.detach(), matrix), counts)
        statistics: Statistics = {
            "loss/cordial": cordial.detach(),
            "schedule/cordial": beta,
            "policy/invalid_probability": invalid,
        }
        return beta * cordial, statistics | _tvd(policy)


@torch.no_grad()
def _tvd(policy: WholeJointPolicy) -> Statistics:
    if policy.num_actions**policy.num_agents > _MAX_JOINT_ACTIONS:
        return {}
    return {"policy/tvd": policy.select_worlds(slice(_TVD_WORLDS)).tvd().mean()}


@dataclass(frozen=True)
class CoordinationProbe:
    """Invalid probability and TVD of every step, as in the tables of A Cordial Sync (section 6.2).

    `coordination` has the worlds' coordination sets.
    """

    coordination: CoordinationSet

    def __call__(self, output: TeamOutput, obs: dict[str, Tensor]) -> dict[str, Tensor]:
        """The metrics of one step, name -> [B, 1] float32, from `coordination` [B, 1, N] int."""
        device = output.values.device
        matrix = obs[OBSERVATION][:, :, 0].to(device)
        self.coordination.to(device)
        policy = as_whole_joint(output.policy)
        log_probabilities = self.coordination.log_probabilities(policy, matrix)
        invalid = self.coordination.invalid_probability(log_probabilities, matrix)
        at_once = max(1, MAX_PROBABILITIES // policy.num_actions**policy.num_agents)
        parts = [
            self.joint_metrics(part, part.joint())
            for part in (
                policy.select_worlds(slice(first, first + at_once)) for first in range(0, len(matrix), at_once)
            )
        ]
        return {"invalid_probability": invalid} | {name: torch.cat([part[name] for part in parts]) for name in parts[0]}

    def joint_metrics(self, policy: WholeJointPolicy, joint: Tensor) -> dict[str, Tensor]:
        """Metrics of the whole joint tensor [B, 1, A, ..., A], name -> [B, 1, ...] float32."""
        return {"tvd": 0.5 * l1_to_product(joint, policy.marginals())}
