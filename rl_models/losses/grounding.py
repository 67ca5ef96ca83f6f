"""A contrastive loss that ties sprites to the sentences about them, without labels. It is ours, not in EMMA's paper.

Every frame's sprites are matched with its own manual against the manuals of the other frames, and the other way
round. Every manual has the same roles, so only the names of entities tell manuals apart: symbols and their words are
tied together. Frames of one episode share sprites and manual; each distinct set is scored once and counted as often as
it occurs. This file must not know where scores come from.
"""

from __future__ import annotations

import torch
from torch import Tensor


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
