"""Grounding loss: a contrastive loss that ties sprites to the sentences about them, without labels.

The sprites of every frame are matched with their own manual against the manuals of the other frames, and vice versa.
All manuals have the same roles and differ in the names of entities only, so the loss ties symbols to their words.
Frames of one episode share sprites and manual; each distinct set is scored once and weighted by its number of frames.
This loss is a deviation from EMMA's paper, and results that use it must say so.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from rl_models.batch import Batch
from rl_models.losses.extra_loss import Statistics, weighed
from rl_models.losses.policy_gradient import masked_mean
from rl_models.networks.emma import SCORES, SENTENCES, SPRITES
from rl_models.policy import TeamOutput
from rl_models.runtime.device import count_rows, distinct_rows
from rl_models.schedule import Progress, Schedule

_MAX_PADDED_FRAMES = 2048
"""Largest number of an agent's frames in a minibatch for which an accelerator scores one set and one manual per frame.
With more frames the number of distinct ones is read back, because the table of scores would be too large."""


def match(scores: Tensor, is_here: Tensor, manuals: Tensor) -> Tensor:
    """Match scores S[v, u] of sets of sprites and manuals, [V, M] float32.

    A score is the sum over sprites that are here [V, E] of the log-sum-exp over a manual's sentences [M, n], plus the
    sum over sentences of the log-sum-exp over sprites, of scores q k / sqrt(d) [V, E, U]. Each set has at least one
    sprite.
    """
    pairs = scores[:, :, manuals]  # [V, E, M, n]
    by_sprite = (pairs.logsumexp(-1) * is_here[..., None]).sum(1)
    by_sentence = pairs.masked_fill(~is_here[..., None, None], -torch.inf).logsumexp(1).sum(-1)
    return by_sprite + by_sentence


def contrastive_loss(
    matches: Tensor, sprites: Tensor, manuals: Tensor, counts: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Mean cross-entropy of the table of match scores of all frames, over its rows and its columns, a scalar.

    Also returns the share of the frames whose sprites match no other manual better, a scalar. `matches` [V, M] float32
    are those of all distinct sets of sprites and manuals, of which each frame has one [K] int64 each; `counts` [K] bool
    are the frames that count, None for all.
    """
    # A set that n frames share counts n times in the sum over frames.
    of_sets = count_rows(sprites, matches.shape[0], counts).log()
    of_manuals = count_rows(manuals, matches.shape[1], counts).log()
    own = matches[sprites, manuals]
    by_column = (matches + of_sets[:, None]).logsumexp(0)[manuals]
    by_row = (matches + of_manuals).logsumexp(1)[sprites]
    best = matches.detach().masked_fill(of_manuals.isneginf(), -torch.inf).argmax(1)[sprites]
    matched = masked_mean((best == manuals).float(), counts)
    return masked_mean(0.5 * (by_row + by_column) - own, counts), matched


@dataclass(frozen=True)
class GroundingLoss:
    """weight(t) * contrastive loss over all steps of a minibatch, averaged over agents; not computed while it is 0."""

    weight: Schedule

    def __call__(self, output: TeamOutput, batch: Batch, progress: Progress) -> tuple[Tensor, Statistics]:
        """See `ExtraLoss`; the network has the extras of `networks/emma.py`, [B, T or T + 1, N, ...].

        Raises ValueError where they are missing and the weight is not 0.
        """
        weight, steps = self.weight.coefficient(progress), batch["reward"].shape[1]
        if self.weight.is_zero(progress):
            return output.values.new_zeros(()), {"schedule/grounding": 0.0}
        if SCORES not in output.extras:
            raise ValueError("the grounding loss needs a team that reads manuals: set its weight to 0 for other teams")
        parts = [output.extras[name][:, :steps] for name in (SCORES, SENTENCES, SPRITES)]
        agents = [agent_loss(*of_agent) for of_agent in zip(*(part.unbind(2) for part in parts), strict=True)]
        loss, matched = (torch.stack(values).mean() for values in zip(*agents, strict=True))
        loss, statistics = weighed("grounding", loss, weight)
        return loss, statistics | {"grounding/matched": matched}


def agent_loss(scores: Tensor, manual: Tensor, symbols: Tensor) -> tuple[Tensor, Tensor]:
    """Loss of one agent, and share of the steps whose sprites match no other manual better; two scalars.

    Scores [B, T, E, U] float32, manuals [B, T, n] int64 and numbers of the sprites' queries [B, T, E] int, 0 for one
    that is gone.
    """
    symbols, manual = symbols.flatten(0, 1), manual.flatten(0, 1)
    is_shown = (symbols != 0).any(-1)
    may_wait = len(symbols) > _MAX_PADDED_FRAMES or symbols.device.type == "cpu"
    if may_wait:
        (shown,) = is_shown.nonzero(as_tuple=True)
        if not len(shown):
            return scores.new_zeros(()), scores.new_ones(())
        counts = None
    else:
        shown = torch.arange(len(symbols), device=symbols.device)
        counts = is_shown | ~is_shown.any()
    (sprites, sprites_of_frame), (manuals, manual_of_frame) = distinct_rows(
        symbols[shown], manual[shown], may_wait=may_wait
    )
    # All frames with the same set of sprites have the same scores.
    frame = sprites_of_frame.new_zeros(len(sprites))
    frame[sprites_of_frame] = torch.arange(len(sprites_of_frame), device=frame.device)
    is_here = sprites != 0
    is_here = is_here | ~is_here.any(1, keepdim=True)  # an empty set has weight 0, and its scores must be finite
    matches = match(scores.flatten(0, 1)[shown[frame]], is_here, manuals)
    loss, matched = contrastive_loss(matches, sprites_of_frame, manual_of_frame, counts)
    return (loss, matched) if may_wait else (loss.where(is_shown.any(), 0.0), matched.where(is_shown.any(), 1.0))
