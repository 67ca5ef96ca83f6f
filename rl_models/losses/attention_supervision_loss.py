"""Attention supervision as an extra loss: the world says which word answers, and only the loss reads it.

Our departure from RTFM, off unless an experiment's row asks for it. It adds no weight to the network. Whoever uses it
lets the network show its attention (`ReadingNetwork.shows_attention`) and makes training worlds that tell the answer;
in all other worlds the team plays as any other.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from rl_models.algorithms.objective import Statistics
from rl_models.batch import Batch
from rl_models.losses.attention_supervision import attention_error, attention_hits
from rl_models.policy import TeamOutput
from rl_models.schedule import Progress, Schedule

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
