"""The contrastive grounding loss as a declared extra loss. Whoever shows numbers of it says that the paper has none."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from rl_models.algorithms.objective import Statistics
from rl_models.batch import Batch
from rl_models.losses.grounding import contrastive_loss, match
from rl_models.networks.emma import SCORES, SENTENCES, SPRITES
from rl_models.policy import TeamOutput
from rl_models.schedule import Progress, Schedule


@dataclass(frozen=True)
class GroundingLoss:
    """weight(t) * contrastive loss over all steps of a minibatch; the mean over agents, each matched for itself.

    Attributes:
        weight: the weight's schedule; while it is 0 nothing is computed.
    """

    weight: Schedule

    def __call__(self, output: TeamOutput, batch: Batch, progress: Progress) -> tuple[Tensor, Statistics]:
        """Weighted loss and numbers to log.

        Raises:
            ValueError: the team's network does not read a manual.
        """
        weight, steps = self.weight.at(progress), batch["reward"].shape[1]
        if weight == 0:
            return output.values.new_zeros(()), {"schedule/grounding": 0.0}
        if SCORES not in output.extras:
            raise ValueError("the grounding loss needs a team that reads manuals while it learns: set its weight to 0")
        parts = [output.extras[name][:, :steps] for name in (SCORES, SENTENCES, SPRITES)]
        agents = [_of_agent(*of_agent) for of_agent in zip(*(part.unbind(2) for part in parts), strict=True)]
        loss, matched = (torch.stack(values).mean() for values in zip(*agents, strict=True))
        statistics: Statistics = {
            "loss/grounding": loss.detach(),
            "schedule/grounding": weight,
            "grounding/matched": matched,
        }
        return weight * loss, statistics

    def to(self, device: torch.device) -> None:
        """There are no tables."""


def _of_agent(scores: Tensor, manual: Tensor, symbols: Tensor) -> tuple[Tensor, Tensor]:
    """Loss, and share of the steps whose sprites fit no other manual better, of what one agent sees.

    Args:
        scores: [B, T, E, U] float.
        manual: [B, T, n] int64.
        symbols: [B, T, E] uint8, 0 for what is gone.
    """
    shown = (symbols.flatten(0, 1) != 0).any(-1)
    if not shown.any():
        return scores.new_zeros(()), scores.new_ones(())
    sprites, sprites_of_frame = symbols.flatten(0, 1)[shown].unique(dim=0, return_inverse=True)
    manuals, manual_of_frame = manual.flatten(0, 1)[shown].unique(dim=0, return_inverse=True)
    # Any frame that shows a set of sprites has its scores.
    frame = sprites_of_frame.new_empty(len(sprites))
    frame[sprites_of_frame] = torch.arange(len(sprites_of_frame), device=frame.device)
    matches = match(scores.flatten(0, 1)[shown][frame], sprites != 0, manuals)
    best = matches.detach().argmax(1)[sprites_of_frame]
    loss = contrastive_loss(matches, sprites_of_frame, manual_of_frame)
    return loss, (best == manual_of_frame).float().mean()
