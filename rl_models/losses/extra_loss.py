"""Protocol of a loss that is added to an algorithm's loss, such as CORDIAL or a regulariser."""

from dataclasses import dataclass
from typing import Protocol, TypeAlias

from torch import Tensor

from rl_models.batch import Batch
from rl_models.policy import TeamOutput
from rl_models.schedule import Progress

Statistics: TypeAlias = dict[str, Tensor | float]
"""Numbers to log, `group/name` -> scalar."""


class ExtraLoss(Protocol):
    """A loss that is added to the algorithm's loss.

    If a minibatch is split into parts or over learners, the loss of each part is weighted by its share of all steps. So
    a mean over all steps is exact. Any other loss (a contrast within the minibatch, or a mean over decisions in a world
    with macro actions) is the weighted mean of the losses of the parts.

    A GPU captures the loss as a graph and replays it. So it is a pure function: it multiplies by
    `schedule.coefficient(progress)`, and its attributes do not change while a team learns. Constant tables are moved to
    the device of the batch in the call; once they are there this copies nothing, as a graph requires.
    """

    def __call__(self, output: TeamOutput, batch: Batch, progress: Progress) -> tuple[Tensor, Statistics]:
        """The weighted loss, a scalar, and numbers to log, from output and batch (`batch.py`) of shape [B, T]."""


def weighed(name: str, loss: Tensor, weight: Tensor | float) -> tuple[Tensor, Statistics]:
    """`weight` times a loss, both scalars, and the two numbers to log: `loss/NAME` and `schedule/NAME`."""
    return weight * loss, {f"loss/{name}": loss.detach(), f"schedule/{name}": weight}


@dataclass(frozen=True)
class MeanLoss:
    """A `loss` that stays a mean over steps where the algorithm sums its own loss over them (`ImpalaConfig`)."""

    loss: ExtraLoss

    def __call__(self, output: TeamOutput, batch: Batch, progress: Progress) -> tuple[Tensor, Statistics]:
        """See `ExtraLoss`."""
        return self.loss(output, batch, progress)
