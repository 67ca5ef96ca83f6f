"""Two recurrent layers that read padded texts from both ends, equal to packed ones on the words.

Packed sequences of unequal length cost many times more on a CPU, above all in the backward pass. Here the second layer
reads each text reversed within its own length instead, so padding comes after the words in both directions.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

Cell = Literal["lstm", "gru"]

_TEXTS_AT_ONCE = 64
"""Texts that are read together on a CPU: with more of them the backward pass leaves its caches (twice as slow)."""


class Bidirectional(nn.Module):
    """BiLSTM or BiGRU over padded texts.

    Attributes:
        features: 2 hidden, the width of a word's state.
    """

    def __init__(self, cell: Cell, inputs: int, hidden: int) -> None:
        """Build both directions.

        Args:
            cell: kind of recurrence.
            inputs: F, width of a word.
            hidden: width of a word's state in one direction.
        """
        super().__init__()
        recurrence = {"lstm": nn.LSTM, "gru": nn.GRU}[cell]
        self.features = 2 * hidden
        self.onward = recurrence(inputs, hidden, batch_first=True)
        self.backward_ = recurrence(inputs, hidden, batch_first=True)

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """Read texts.

        Args:
            words: [D, L, F] float32.
            lengths: [D] int64, words of each text; what follows them is padding.

        Returns:
            [D, L, 2 hidden] float32, a state for each word; meaningless on the padding.
        """
        at_once = _TEXTS_AT_ONCE if words.device.type == "cpu" else len(words)
        parts = zip(words.split(at_once), lengths.split(at_once), strict=True)
        return torch.cat([self._read(*part) for part in parts])

    def _read(self, words: Tensor, lengths: Tensor) -> Tensor:
        longest = int(lengths.max())
        read = words[:, :longest]
        mirror = _mirror(lengths, longest)
        onward, _ = self.onward(read)
        backward, _ = self.backward_(_taken(read, mirror))
        states = torch.cat([onward, _taken(backward, mirror)], -1)
        return nn.functional.pad(states, (0, 0, 0, words.shape[1] - longest))


def _mirror(lengths: Tensor, longest: int) -> Tensor:
    """[D, L] int64, for every place the place as far from the text's end; padding stays where it is."""
    place = torch.arange(longest, device=lengths.device)
    last = lengths[:, None] - 1
    mirrored = torch.where(place <= last, last - place, place)
    return mirrored + longest * torch.arange(len(lengths), device=lengths.device)[:, None]


def _taken(states: Tensor, places: Tensor) -> Tensor:
    """[D, L, F] in another order within each text."""
    return states.flatten(0, 1).index_select(0, places.flatten()).view_as(states)
