"""Attention supervision: attention that is told where it should look (Liu et al. 2016, for translation).

An auxiliary loss, not in RTFM's paper: cross-entropy between a reader's attention over the words of its document and
the one word that answers. This file must not know where weights and answers come from.
"""

from __future__ import annotations

import torch
from torch import Tensor

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
