"""Encoding of texts: each distinct text is encoded once, in however many frames it occurs.

Observations hold row numbers, and `texts/KEY` [D, L] holds the rows; only rows that occur are encoded. A collector
keeps encodings from step to step (`TextEncodings`) and passes them under `encoded/KEY/NAME` [S, ...]; row numbers then
refer to these. Without either, the observation must hold the tokens, [B, T, N, L].

Encodings are valid until the weights or the row numbers change, so a collector begins each fragment without any; a
caller that keeps them longer calls `forget` when weights have changed. A cache holds as many texts as can be shown at
once.
"""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from rl_models.policy import TeamNetwork
from rl_models.runtime.device import distinct, distinct_rows, to_device
from rl_models.team_world import Array, Texts

Encoded: TypeAlias = dict[str, Tensor]
"""Encodings of D texts, name -> [D, ...]."""

TEXTS, ENCODED = "texts/", "encoded/"


class MissingTextsError(ValueError):
    """Observations hold row numbers, without the texts of these rows."""


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

    `obs`, name -> [B, T, N, ...], holds texts or encodings as the header of this file describes; `encode` turns the key
    and tokens [D, L] into encodings, name -> [D, ...]. Raises MissingTextsError where `obs` holds row numbers, but not
    the texts of these rows.
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
    if tokens.device.type != "cpu":  # comparing texts would synchronise with the device; encoding all of them does not
        return EncodedTexts(encode(key, tokens), torch.arange(len(tokens), device=tokens.device))
    ((tokens, rows),) = distinct_rows(tokens)
    return EncodedTexts(encode(key, tokens), rows)


def text_lengths(tokens: Tensor) -> Tensor:
    """Number of words of each text: tokens [D, L] int, 0 for padding -> [D] int64.

    An empty text counts as one word of padding, because a reader needs at least one word. (RTFM's released code reads
    such a word after every text, as the mark of its end.)
    """
    return (tokens != 0).sum(-1).clamp(min=1)


Encode: TypeAlias = Callable[[str, Tensor], dict[str, Tensor]]


@runtime_checkable
class EncodesTexts(Protocol):
    """A network that accepts encodings in place of texts (see `rl_models/runtime/texts.py`)."""

    def encode_text(self, key: str, tokens: Tensor) -> dict[str, Tensor]:
        """Tokens [D, L] under an observation key -> encodings, name -> [D, ...]."""


@runtime_checkable
class OwnsTexts(Protocol):
    """A network that stores a fixed set of texts itself."""

    @property
    def own_texts(self) -> Mapping[str, Texts]:
        """Observation key -> the texts of its rows."""


class TextEncodings:
    """Encodings of the texts to which observations' row numbers refer; for a network without an encoder the texts."""

    def __init__(self, network: TeamNetwork, texts: Mapping[str, Texts], device: torch.device | str = "cpu") -> None:
        """Start without encodings; a network that `OwnsTexts` reads these, too."""
        self._encode_text = network.encode_text if isinstance(network, EncodesTexts) else None
        self._texts = {**texts, **(network.own_texts if isinstance(network, OwnsTexts) else {})}
        self.device = device
        self._caches: dict[str, TextCache] = {}

    @property
    def are_encoded(self) -> bool:
        """Whether there are texts whose encodings are cached, which are valid until the weights change."""
        return bool(self._texts) and self._encode_text is not None

    def forget(self) -> None:
        """Drop all encodings."""
        self._caches = {}

    def inputs(self, arrays: Mapping[str, Array]) -> dict[str, Tensor]:
        """Tensors [B, 1, ...] of a step's arrays [B, ...], in one copy, with the encodings of their texts."""
        rows, tables = dict(arrays), {}
        for key, texts in self._texts.items():
            if self._encode_text is None:
                tables[f"{TEXTS}{key}"] = torch.from_numpy(texts.table).to(self.device)
                continue
            if key not in self._caches:
                self._caches[key] = TextCache(functools.partial(self._encode, self._encode_text, key), rows[key].size)
            rows[key], encoded = self._caches[key].look_up(rows[key])
            tables |= {f"{ENCODED}{key}/{name}": value for name, value in encoded.items()}
        return to_device({key: value[:, None] for key, value in rows.items()}, self.device) | tables

    def _encode(self, encode: Encode, key: str, rows: Array) -> dict[str, Tensor]:
        tokens = torch.from_numpy(self._texts[key].look_up(rows))
        return encode(key, tokens.to(self.device))


class TextCache:
    """Encodings of the texts under one observation key."""

    def __init__(self, encode: Callable[[Array], dict[str, Tensor]], slots: int) -> None:
        """Start empty; `encode` takes row numbers [D], and at most `slots` texts are shown at once."""
        self._encode = encode
        self._slots = slots
        self._slot_of: dict[int, int] = {}
        self._free = list(range(slots))
        self._encoded: dict[str, Tensor] = {}

    def look_up(self, rows: Array) -> tuple[Array, dict[str, Tensor]]:
        """Slots of the encodings of these rows [...], [...] int64, and all encodings, name -> [S, ...]."""
        shown, place = np.unique(rows, return_inverse=True)
        new = np.array([row for row in shown.tolist() if row not in self._slot_of], rows.dtype)
        if new.size:
            self._add(new, set(shown.tolist()))
        slots = np.array([self._slot_of[row] for row in shown.tolist()])
        return slots[place].reshape(rows.shape), self._encoded

    def _add(self, new: Array, shown: set[int]) -> None:
        if len(new) > len(self._free):
            gone = self._slot_of.keys() - shown
            self._free += [self._slot_of.pop(row) for row in gone]
        slots = [self._free.pop() for _ in new]
        self._slot_of |= dict(zip(new.tolist(), slots, strict=True))
        encoded = self._encode(new)
        place = torch.tensor(slots).to(next(iter(encoded.values())).device)
        for name, value in encoded.items():
            if name not in self._encoded:
                self._encoded[name] = value.new_empty(self._slots, *value.shape[1:])
            self._encoded[name][place] = value
