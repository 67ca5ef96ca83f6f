"""Attention supervision: attention that is told where it should look (Liu et al. 2016, for translation).

An auxiliary loss, our deviation from RTFM's paper: cross-entropy between a reader's attention over the words of its
document and the one word that answers. The world says which word answers, and only the loss reads it; it adds no weight
to the network. Whoever uses it lets the network show its attention (`ReadingNetwork.shows_attention`) and makes
training worlds that tell the answer; in all other worlds the team plays as any other.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from rl_models.batch import Batch
from rl_models.losses.extra_loss import Statistics
from rl_models.policy import TeamOutput
from rl_models.schedule import Progress, Schedule

_LEAST = 1e-6
"""Added to every weight, so that the loss of a weight that has become 0 stays finite."""


def attention_error(weights: Tensor, places: Tensor) -> Tensor:
    """Minus the log of the weight on the right word.

    Args:
        weights: [..., L] float32, attention over L words, whose sum is 1.
        places: [...] int, the word that should have all of it.

    Returns:
        [...], log L for attention to all words alike.
    """
    return -(_at(weights, places) + _LEAST).log()


def attention_hits(weights: Tensor, places: Tensor) -> Tensor:
    """[...] bool, whether the right word has more attention than any other; arguments as above."""
    return weights.argmax(-1) == places


def _at(weights: Tensor, places: Tensor) -> Tensor:
    return torch.take_along_dim(weights, places.long()[..., None], -1).squeeze(-1)


OBSERVATION = "answer_word"
"""Observation key with the place of the answer in the agent's document. No network reads it."""
ATTENTION = "attention/grid"
"""What the network attends to, [B, T, N, layers, L]."""


@dataclass(frozen=True)
class AttentionSupervision:
    """weight(t) * cross-entropy of the attention of all layers, averaged over steps, agents and layers.

    Attributes:
        weight: of the loss.
    """

    weight: Schedule

    def __call__(self, output: TeamOutput, batch: Batch, progress: Progress) -> tuple[Tensor, Statistics]:
        """Weighted loss, and how often the answer has the most attention."""
        if ATTENTION not in output.extras or f"obs/{OBSERVATION}" not in batch:
            raise ValueError(
                f"attention supervision needs {ATTENTION!r} of the network and {OBSERVATION!r} of the world: let the "
                "network show its attention, and make worlds that tell the answer"
            )
        steps = batch["reward"].shape[1]
        weights = output.extras[ATTENTION][:, :steps]
        places = batch[f"obs/{OBSERVATION}"][:, :steps, :, None].expand(weights.shape[:-1])
        error, weight = attention_error(weights, places).mean(), self.weight.at(progress)
        hits = attention_hits(weights.detach(), places).float().mean()
        statistics: Statistics = {
            "loss/attention": error.detach(),
            "schedule/attention": weight,
            "policy/attention_hits": hits,
        }
        return weight * error, statistics

    def to(self, device: torch.device) -> None:
        """There are no tables."""
