"""The protocol of a declared addition to an algorithm's loss, such as CORDIAL or a regulariser."""

from __future__ import annotations

from typing import Protocol, TypeAlias

import torch
from torch import Tensor

from rl_models.batch import Batch
from rl_models.policy import TeamOutput
from rl_models.schedule import Progress

Statistics: TypeAlias = dict[str, Tensor | float]
"""Numbers to log, `group/name` -> scalar."""


class ExtraLoss(Protocol):
    """A declared addition to the algorithm's loss.

    It is weighed by a part's share of all steps: with several parts or learners a mean over all steps is exact, and any
    other (a contrast within the minibatch, a mean over decisions in a world of macro actions) is one of each part.
    """

    def __call__(self, output: TeamOutput, batch: Batch, progress: Progress) -> tuple[Tensor, Statistics]:
        """Weighted scalar to add, and numbers to log."""

    def to(self, device: torch.device) -> None:
        """Move constant tables to where the batches are."""
