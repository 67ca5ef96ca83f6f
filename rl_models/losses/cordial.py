"""Coordination sets, the CORDIAL loss and the invalid probability (A Cordial Sync, section 4.3 and eq. 1).

CL_beta(S_t, Pi_t) = -beta <S_t, log Pi_t> / <S_t, S_t>, recovered from the paper's own special case. The authors' code
averages navigation and joint-action entries apart and takes the mean of the two averages; it produced the published
results and is the default here. Both are -beta <W_t, log Pi_t> for a weight on each one of S_t, so a coordination set
stores the coordinated joint actions and their weights. Only those (16 of 169, 46 of 2,197) are ever evaluated.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from rl_models.distributions.joint_policy import WholeJointPolicy

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
