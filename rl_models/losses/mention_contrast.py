"""Contrastive loss of the mention-matching reader: find the document of each frame. It needs no labels.

One frame for each document of a minibatch is matched with its own document against the others, and each document with
its own frame. Different games name different things, so the loss makes the vectors of a word in the room and in the
document equal where they are two tables. With one table they are equal from the start, and the loss is not needed.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from rl_models.batch import Batch
from rl_models.losses.extra_loss import Statistics, weighed
from rl_models.networks.mentions import DOCUMENTS, SCORES
from rl_models.policy import TeamOutput
from rl_models.schedule import Progress, Schedule


def document_contrast(scores: Tensor, documents: Tensor) -> Tensor:
    """Mean cross-entropy over rows and columns of the table of one frame for each document, a scalar.

    Scores [K, U] float32 say how well a frame fits each document; `documents` [K] int64 is a frame's own, U for none.
    """
    count = scores.shape[1]
    numbers = torch.arange(len(scores), device=scores.device)
    first = torch.full_like(numbers[:1], len(scores)).repeat(count + 1).scatter_reduce(0, documents, numbers, "amin")
    table, own = scores[first[:count]], numbers[:count]
    by_row, by_column = (torch.nn.functional.cross_entropy(side, own) for side in (table, table.T))
    return (by_row + by_column) / 2


@dataclass(frozen=True)
class MentionContrast:
    """weight(t) * contrastive loss of a minibatch."""

    weight: Schedule

    def __call__(self, output: TeamOutput, batch: Batch, progress: Progress) -> tuple[Tensor, Statistics]:
        """See `ExtraLoss`; the network's `contrasts` are on, else it raises ValueError."""
        if SCORES not in output.extras:
            raise ValueError("the contrastive loss needs a matching reader with contrasts=True")
        loss = document_contrast(output.extras[SCORES].flatten(0, 2), output.extras[DOCUMENTS].flatten())
        return weighed("mention_contrast", loss, self.weight.coefficient(progress))
