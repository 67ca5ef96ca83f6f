"""Movement contrast: how a sprite moves must fit its manual better than the other ways to move, without labels.

The grounding loss (`grounding.py`) compares manuals that differ mostly in names; it teaches words of movement little.
Here the manual stays, and the movement in a sprite's query is exchanged. s(e, m) is the log-sum-exp over the sentences
of its own manual of the scores of the query of sprite e's symbol with movement m. The loss is the mean cross-entropy of
softmax_m s(e, m) and the movement that was seen. Frames without any observed movement are left out. In the others a
fleeing sprite in a corner counts as one that does not move. This loss is a deviation from EMMA's paper, and
results that use it must say so.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from rl_models.batch import Batch
from rl_models.layers.tracks import SAME
from rl_models.losses.extra_loss import Statistics, weighed
from rl_models.networks.emma import MOVED, MOVEMENT_SCORES
from rl_models.policy import TeamOutput
from rl_models.schedule import Progress, Schedule

_LEFT_OUT = -1
"""Label of a sprite that does not count."""


def movement_contrast(fits: Tensor, moved: Tensor) -> Tensor:
    """Mean cross-entropy over the sprites of all moments in which something moved, a scalar; 0 if nothing did.

    `fits` [K, E, 3] float32 are s(e, m), `moved` [K, E] int seen movements from 1 to 3 (`layers/tracks.py`), 0 for one
    that is gone.
    """
    is_here = moved > 0
    is_seen = is_here & (is_here & (moved != SAME)).any(-1, keepdim=True)
    labels = torch.where(is_seen, moved.long() - 1, _LEFT_OUT)
    total = cross_entropy(fits.flatten(0, 1), labels.flatten(), ignore_index=_LEFT_OUT, reduction="sum")
    return total / is_seen.sum().clamp(min=1)


@dataclass(frozen=True)
class MovementGroundingLoss:
    """weight(t) * movement contrast of the sprites in a minibatch; nothing is computed while it is 0."""

    weight: Schedule

    def __call__(self, output: TeamOutput, batch: Batch, progress: Progress) -> tuple[Tensor, Statistics]:
        """See `ExtraLoss`; the network has the extras of `networks/emma.py`, [B, T or T + 1, N, ...].

        Raises ValueError where no movements are among them and the weight is not 0.
        """
        weight, steps = self.weight.coefficient(progress), batch["reward"].shape[1]
        if self.weight.is_zero(progress):
            return output.values.new_zeros(()), {"schedule/movement_grounding": 0.0}
        if MOVED not in output.extras:
            raise ValueError("the movement contrast needs a team whose queries hold movements: set its weight to 0")
        scores, moved = (output.extras[name][:, :steps].flatten(0, 2) for name in (MOVEMENT_SCORES, MOVED))
        return weighed("movement_grounding", movement_contrast(scores.logsumexp(-1), moved), weight)
