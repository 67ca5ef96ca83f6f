"""A contrastive loss that ties sprites to the sentences about them, without labels. It is ours, not in EMMA's paper.

Every frame's sprites are matched with its own manual against the manuals of the other frames, and the other way
round. Every manual has the same roles, so only the names of entities tell manuals apart: symbols and their words are
tied together. Frames of one episode share sprites and manual; each distinct set is scored once and counted as often as
it occurs. Whoever shows numbers of this loss says that the paper has none.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from rl_models.batch import Batch
from rl_models.losses.extra_loss import Statistics
from rl_models.networks.emma import SCORES, SENTENCES, SPRITES
from rl_models.policy import TeamOutput
from rl_models.schedule import Progress, Schedule


def match(scores: Tensor, is_here: Tensor, manuals: Tensor) -> Tensor:
    """How well sets of sprites fit manuals: S[v, u].

    The sum over sprites of the log-sum-exp over sentences, plus the sum over sentences of that over sprites.

    Args:
        scores: [V, E, U] float, q k / sqrt(d) of each set's sprites with all sentences.
        is_here: [V, E] bool, sprites that count; at least one in each set.
        manuals: [M, n] int64, sentences of each manual among the U.

    Returns:
        [V, M].
    """
    pairs = scores[:, :, manuals]  # [V, E, M, n]
    of_sprites = (pairs.logsumexp(-1) * is_here[..., None]).sum(1)
    of_sentences = pairs.masked_fill(~is_here[..., None, None], -torch.inf).logsumexp(1).sum(-1)
    return of_sprites + of_sentences


def contrastive_loss(matches: Tensor, sprites: Tensor, manuals: Tensor) -> Tensor:
    """Cross-entropy of the K x K table of all frames' matches over its rows and over its columns, half each.

    Args:
        matches: [V, M], S of each distinct set of sprites and each distinct manual.
        sprites: [K] int64, the set that each frame shows; every set is shown.
        manuals: [K] int64, the manual that each frame has; every manual occurs.

    Returns:
        scalar.
    """
    # A set that n frames share stands n times in the sum over frames.
    often = matches + sprites.bincount().log()[:, None], matches + manuals.bincount().log()
    own = matches[sprites, manuals]
    by_column, by_row = often[0].logsumexp(0)[manuals], often[1].logsumexp(1)[sprites]
    return (0.5 * (by_row + by_column) - own).mean()


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
