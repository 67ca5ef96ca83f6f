"""Encoding of texts: each distinct text is encoded once, in however many frames it occurs.

Observations hold row numbers, and `texts/KEY` [D, L] holds the rows; only rows that occur are encoded. A collector may
keep encodings from step to step and pass them under `encoded/KEY/NAME` [S, ...]; row numbers then refer to these.
Without either, the observation must hold the tokens, [B, T, N, L].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor

from rl_models.layers.distinct import distinct

Encoded: TypeAlias = dict[str, Tensor]
"""Encodings of D texts, name -> [D, ...]."""

TEXTS, ENCODED = "texts/", "encoded/"


class MissingTextsError(ValueError):
    """Observations hold row numbers, but the texts of these rows are missing."""


@dataclass(frozen=True)
class EncodedTexts:
    """Encodings of D texts, and the text of each of K frames.

    Attributes:
        encoded: encodings, name -> [D, ...].
        rows: [K] int64, row of each frame's text.
    """

    encoded: Encoded
    rows: Tensor

    def of_frames(self, name: str) -> Tensor:
        """The encoding `name` of every frame's text, [K, ...]."""
        return self.encoded[name].index_select(0, self.rows)


def encode_texts(obs: dict[str, Tensor], key: str, encode: Callable[[str, Tensor], Encoded]) -> EncodedTexts:
    """Encode the distinct texts under an observation key, for K = B * T * N frames.

    Args:
        obs: name -> [B, T, N, ...], with texts or encodings as the header of this file describes.
        key: observation key of the text.
        encode: function from the key and tokens [D, L] to encodings, name -> [D, ...].

    Raises:
        MissingTextsError: `obs` holds row numbers, but not the texts of these rows.
    """
    known = {name.removeprefix(f"{ENCODED}{key}/"): v for name, v in obs.items() if name.startswith(f"{ENCODED}{key}/")}
    if known:
        return EncodedTexts(known, obs[key].flatten().long())
    if f"{TEXTS}{key}" in obs:
        texts = obs[f"{TEXTS}{key}"]
        used, rows = distinct(obs[key].flatten().long(), len(texts))
        return EncodedTexts(encode(key, texts[used]), rows)
    if obs[key].ndim < 4:
        raise MissingTextsError(f"observation {key!r} holds row numbers: pass their texts under {TEXTS + key!r}")
    tokens = obs[key].flatten(0, 2)
    if tokens.device.type != "cpu":  # to compare texts would cost the host a question, and to encode them all does not
        return EncodedTexts(encode(key, tokens), torch.arange(len(tokens), device=tokens.device))
    tokens, rows = tokens.unique(dim=0, return_inverse=True)
    return EncodedTexts(encode(key, tokens), rows)


def lengths_of(tokens: Tensor) -> Tensor:
    """Number of words of each text: tokens [D, L] int, 0 for padding -> [D] int64.

    An empty text counts as one word of padding, because a reader needs at least one word. (RTFM's released code reads
    such a word after every text, as the mark of its end.)
    """
    return (tokens != 0).sum(-1).clamp(min=1)
