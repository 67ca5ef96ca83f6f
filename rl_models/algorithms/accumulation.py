"""Minibatches in parts whose gradients are summed before a step, and the divergence at which an update ends.

A part weighs as much as its share of the steps (`batch.Share`). This file must not know an optimiser.
"""

from __future__ import annotations

import torch

from rl_models.algorithms.learners import Learners
from rl_models.algorithms.objective import APPROXIMATE_KL, KL_ENTRIES, Objective
from rl_models.batch import Batch, select_worlds
from rl_models.losses.extra_loss import Statistics


def parts(objective: Objective, minibatch: Batch) -> list[Batch]:
    """The minibatch in as many parts as the objective says, or in one for each sequence if there are fewer."""
    sequences = len(minibatch["is_first"])
    if sequences == 0:
        return []
    count = min(objective.gradient_accumulation_steps, sequences)
    if count == 1:
        return [minibatch]
    return [select_worlds(minibatch, rows) for rows in torch.arange(sequences).tensor_split(count)]


class Divergence:
    """Mean approximate KL of the policy at the present minibatch to the one that acted, of all parts and learners.

    Parts tell a mean each and how many entries it is of. The sums of both are divided once, so the mean is the same
    however the minibatch is cut.
    """

    def __init__(self, objective: Objective) -> None:
        """Know the objective's limit."""
        self._limit = objective.target_kl
        self._sums = torch.zeros(2, dtype=torch.float64)

    def begin(self, device: torch.device) -> None:
        """Forget the minibatch before."""
        self._sums = torch.zeros(2, dtype=torch.float64, device=device)

    def add(self, statistics: Statistics) -> None:
        """Count what the loss of a part has told, and take the number of entries out of it."""
        entries = statistics.pop(KL_ENTRIES, None)
        if self.has_limit:
            mean, number = torch.as_tensor(statistics[APPROXIMATE_KL]), torch.as_tensor(entries)
            self._sums = self._sums + torch.stack([mean.double() * number, number.double()])

    def agree(self, learners: Learners) -> None:
        """Sum over the learners, so that all go on or stop together."""
        if self.has_limit:
            self._sums = learners.sum(self._sums)

    @property
    def mean(self) -> torch.Tensor:
        """In nats, a scalar; 0 where nobody decided."""
        total, number = self._sums
        return total / number.clamp(min=1)

    @property
    def has_limit(self) -> bool:
        """An update can end before its last epoch."""
        return self._limit > 0

    @property
    def is_too_large(self) -> bool:
        """The step is not made, and the update ends."""
        return self.has_limit and float(self.mean) > self._limit

    def told(self) -> Statistics:
        """Numbers to log once a minibatch is complete; none without a limit."""
        return {APPROXIMATE_KL: self.mean, "learner/stopped": float(self.is_too_large)} if self.has_limit else {}
