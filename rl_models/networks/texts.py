"""Texts as networks meet them: encoded once each, however many frames show them.

Observations hold row numbers, and the distinct rows travel beside them under `texts/KEY` [D, L]; only rows that are
shown get encoded. Whoever acts can keep encodings from step to step and hand them in under `encoded/KEY/NAME`
[S, ...]; row numbers then point into those. Without either the observation must hold the tokens, [B, T, N, L].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from torch import Tensor

Encoded: TypeAlias = dict[str, Tensor]
"""What a network makes of D texts, name -> [D, ...]."""

TEXTS, ENCODED = "texts/", "encoded/"


class MissingTextsError(ValueError):
    """Observations have row numbers without the texts that they point at."""


@dataclass(frozen=True)
class Shown:
    """Encoded texts, and which of them each of K frames shows.

    Attributes:
        encoded: name -> [D, ...].
        rows: [K] int64.
    """

    encoded: Encoded
    rows: Tensor

    def of_frames(self, name: str) -> Tensor:
        """One of the encodings for every frame, [K, ...]."""
        return self.encoded[name].index_select(0, self.rows)


def shown_texts(obs: dict[str, Tensor], key: str, encode: Callable[[str, Tensor], Encoded]) -> Shown:
    """The texts under an observation key, each of them encoded once.

    Args:
        obs: observations, with tables or encodings as this file's header says.
        key: of the text.
        encode: key and tokens [D, L] -> encodings of D texts.

    Raises:
        MissingTextsError: `obs` has row numbers without the texts that they point at.
    """
    known = {name.removeprefix(f"{ENCODED}{key}/"): v for name, v in obs.items() if name.startswith(f"{ENCODED}{key}/")}
    if known:
        return Shown(known, obs[key].flatten().long())
    if f"{TEXTS}{key}" in obs:
        used, rows = obs[key].flatten().long().unique(return_inverse=True)
        return Shown(encode(key, obs[f"{TEXTS}{key}"][used]), rows)
    if obs[key].ndim < 4:
        raise MissingTextsError(f"observation {key!r} holds row numbers: pass their texts too, under {TEXTS + key!r}")
    tokens, rows = obs[key].flatten(0, 2).unique(dim=0, return_inverse=True)
    return Shown(encode(key, tokens), rows)


def lengths_of(tokens: Tensor) -> Tensor:
    """[D] int64, words of each text [D, L]. An empty one has a word of padding, so that there is something to read.

    The released code reads such a word behind every text, as the mark of its end.
    """
    return (tokens != 0).sum(-1).clamp(min=1)
