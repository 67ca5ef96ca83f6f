"""What several learners share of one update: which rows each one holds, and the sum of what they found.

Each learner holds some consecutive rows of one joint batch. All cut the joint batch alike, weigh their losses by what
the whole minibatch holds, and sum their gradients, so the update is that of one learner on the joint batch. This file
knows neither Ray nor processes: the caller says how tensors are summed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from rl_models.losses.policy_gradient import OverLearners, alone


@dataclass(frozen=True)
class Rows:
    """The rows of the joint batch that one learner holds: `number` of `total`, from `first` on."""

    first: int
    number: int
    total: int

    def own(self, rows: Tensor) -> Tensor:
        """Those of some rows of the joint batch ([K] int64) that this learner holds, counted from its first."""
        return rows[(rows >= self.first) & (rows < self.first + self.number)] - self.first


@dataclass(frozen=True)
class Learners:
    """Who makes an update together.

    Attributes:
        rank: of this learner, from 0.
        size: how many there are.
        sum: a tensor -> the sum of all learners' tensors of this shape. All must ask in the same order.
    """

    rank: int = 0
    size: int = 1
    sum: OverLearners = alone

    def rows(self, number: int, device: torch.device | str = "cpu") -> Rows:
        """Where this learner's rows lie, if each learner says how many it holds."""
        if self.size == 1:
            return Rows(0, number, number)
        held = torch.zeros(self.size, dtype=torch.int64, device=device)
        held[self.rank] = number
        each: list[int] = self.sum(held).tolist()
        return Rows(sum(each[: self.rank]), number, sum(each))

    def sum_gradients(self, weights: Sequence[nn.Parameter]) -> None:
        """Give every weight the sum of all learners' gradients; one without a gradient in all of them keeps None."""
        if self.size == 1:
            return
        flat = [torch.zeros_like(weight) if weight.grad is None else weight.grad for weight in weights]
        present = flat[0].new_tensor([weight.grad is not None for weight in weights])
        summed = self.sum(torch.cat([present, *(gradient.flatten() for gradient in flat)]))
        is_present, gradients = summed.split([len(weights), len(summed) - len(weights)])
        parts = gradients.split([weight.numel() for weight in weights])
        for weight, has_one, part in zip(weights, is_present.tolist(), parts, strict=True):
            weight.grad = part.view_as(weight).to(weight.dtype) if has_one else None


ALONE = Learners()
"""One learner, which holds every row."""
