"""Attention supervision: a loss that trains attention towards a given word (Liu et al. 2016, for translation).

It is an auxiliary loss and a deviation from RTFM's paper: the cross-entropy between a reader's attention over the words
of its document and the one word that answers. The world names this word in an observation that only the loss reads. The
loss adds no weight to the network. It needs a network that returns its attention (`ReadingNetwork.shows_attention`) and
training worlds that name the answer; the team plays in other worlds as usual.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from rl_models.batch import Batch
from rl_models.losses.extra_loss import Statistics, weighed
from rl_models.policy import TeamOutput
from rl_models.schedule import Progress, Schedule

EPSILON = 1e-6
"""Added to every attention weight, so that the loss is finite if a weight is 0."""


def attention_loss(weights: Tensor, targets: Tensor) -> Tensor:
    """Minus the log of the attention weight on the right word, [...] float32; log L for uniform attention.

    Weights [..., L] float32 sum to 1; targets [...] int are indices of the right words.
    """
    on_target = torch.take_along_dim(weights, targets.long()[..., None], -1).squeeze(-1)
    return -(on_target + EPSILON).log()


OBSERVATION = "answer_word"
"""Observation key with the index of the right word in the agent's document. No network reads it."""
ATTENTION = "attention/grid"
"""Extra with the network's attention over the document, [B, T, N, layers, L] float32."""


@dataclass(frozen=True)
class AttentionSupervision:
    """weight(t) * cross-entropy of the attention of all layers, averaged over steps, agents and layers."""

    weight: Schedule

    def __call__(self, output: TeamOutput, batch: Batch, progress: Progress) -> tuple[Tensor, Statistics]:
        """See `ExtraLoss`; the network has the extra `attention/grid`, the world shows `answer_word` [B, T, N] int."""
        if ATTENTION not in output.extras or f"obs/{OBSERVATION}" not in batch:
            raise ValueError(
                f"attention supervision needs {ATTENTION!r} of the network and {OBSERVATION!r} of the world: set "
                "`shows_attention` of the network, and make worlds that name the answer"
            )
        steps = batch["reward"].shape[1]
        weights = output.extras[ATTENTION][:, :steps]
        targets = batch[f"obs/{OBSERVATION}"][:, :steps, :, None].expand(weights.shape[:-1])
        errors, hits = attention_loss(weights, targets), weights.argmax(-1) == targets
        loss, statistics = weighed("attention", errors.mean(), self.weight.coefficient(progress))
        return loss, statistics | {"policy/attention_hits": hits.float().mean()}
