"""Encodings of the texts that worlds show now: while acting, a text is encoded when it first appears, not every step.

A cache is good for as long as the weights stay and row numbers keep their meaning, so a collector begins each fragment
with an empty one. It holds as many texts as can be shown at once, however long a run is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from rl_models.training.fragment import Array


@runtime_checkable
class EncodesTexts(Protocol):
    """A network that can be handed encodings in place of texts (see `rl_models/networks/texts.py`)."""

    def encode_text(self, key: str, tokens: Tensor) -> dict[str, Tensor]:
        """Tokens [D, L] under an observation key -> encodings, name -> [D, ...]."""


class TextCache:
    """Encodings of the texts under one observation key."""

    def __init__(self, encode: Callable[[Array], dict[str, Tensor]], slots: int) -> None:
        """Begin empty.

        Args:
            encode: row numbers [D] -> encodings of their texts, name -> [D, ...].
            slots: S, most texts that are shown at once.
        """
        self._encode = encode
        self._slots = slots
        self._slot_of: dict[int, int] = {}
        self._free = list(range(slots))
        self._encoded: dict[str, Tensor] = {}

    def look_up(self, rows: Array) -> tuple[Array, dict[str, Tensor]]:
        """Where the encodings of these rows are, and all encodings.

        Args:
            rows: any shape, row numbers shown now, at most S different ones.

        Returns:
            slots, `rows`' shape int64; encodings, name -> [S, ...].
        """
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
        for name, value in self._encode(new).items():
            if name not in self._encoded:
                self._encoded[name] = value.new_empty(self._slots, *value.shape[1:])
            self._encoded[name][torch.tensor(slots, device=value.device)] = value
