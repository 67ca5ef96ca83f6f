"""Minibatches in parts whose gradients are summed before a step, and the divergence at which an update ends.

The Ray-free loop and RLlib's learners ask here, so that both cut alike and stop alike. A part weighs as much as the
steps at which somebody in it chooses, for losses are means over those. This file must not know an optimiser.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from rl_models.algorithms.objective import APPROXIMATE_KL, Objective, Ppo
from rl_models.algorithms.qmix import Qmix
from rl_models.batch import Batch, decides, take
from rl_models.losses.extra_loss import Statistics


@dataclass(frozen=True)
class Part:
    """What one forward and one backward pass see of a minibatch.

    Attributes:
        batch: some of its sequences.
        share: of the minibatch's loss; what this part's loss is multiplied with.
        is_first: gradients begin at zero here.
        is_last: all gradients are summed after it, and a step follows.
    """

    batch: Batch
    share: float = 1.0
    is_first: bool = True
    is_last: bool = True


def parts(objective: Objective, minibatch: Batch) -> list[Part]:
    """As many parts as the objective says; their weighted losses sum to the loss of the whole.

    That is exact where all terms of the loss are averaged over the same steps: in worlds whose agents all choose at
    every step, and elsewhere if the objective regresses decisions.

    Raises:
        ValueError: fewer sequences than parts. (Learners wait for each other at every part, so none may be left out.)
    """
    if isinstance(objective, Qmix) or objective.accumulate == 1:
        return [Part(minibatch)]
    sequences, count = len(minibatch["is_first"]), objective.accumulate
    if sequences < count:
        raise ValueError(
            f"a minibatch of {sequences} sequences cannot be learned from in {count} parts: "
            "play more worlds at once, or lower `minibatches` or `accumulate`"
        )
    each = [take(minibatch, rows) for rows in torch.arange(sequences).tensor_split(count)]
    counts = [_steps_that_count(part) for part in each]
    shares = [number / max(sum(counts), 1) for number in counts]
    if objective.sums_losses:  # a part's loss is its mean times its own sequences
        shares = [share * sequences / len(part["is_first"]) for share, part in zip(shares, each, strict=True)]
    return [
        Part(part, share, index == 0, index == count - 1)
        for index, (part, share) in enumerate(zip(each, shares, strict=True))
    ]


class Divergence:
    """Mean approximate KL of the policy at the present minibatch to the one that acted, gathered over its parts."""

    def __init__(self, objective: Objective) -> None:
        """Know the objective's limit."""
        self._limit = objective.target_kl if isinstance(objective, Ppo) else 0.0
        self.mean = torch.zeros(())

    def add(self, part: Part, statistics: Statistics) -> None:
        """Count what the loss of a part has told."""
        if self._limit:
            before = 0.0 if part.is_first else self.mean
            self.mean = before + part.share * torch.as_tensor(statistics[APPROXIMATE_KL])

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


def _steps_that_count(batch: Batch) -> int:
    mask = decides(batch)
    return batch["terminated"].numel() if mask is None else int(mask.any(-1).sum())
