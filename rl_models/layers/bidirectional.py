"""BiLSTM and BiGRU over padded texts; on the words they equal PyTorch's layers over packed sequences.

Packed sequences of unequal length cost many times more on a CPU, above all in the backward pass. Here the backward
layer reads each text reversed within its own length, so the padding follows the words in both directions.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from rl_models.runtime.device import longest

Cell = Literal["lstm", "gru"]

_TEXTS_AT_ONCE = 64
"""Texts in one chunk on a CPU. With more of them the backward pass does not fit into the caches and takes twice the
time."""


class Bidirectional(nn.Module):
    """BiLSTM or BiGRU over padded texts.

    Attributes:
        features: 2 * hidden_size, the width of a word's state.
    """

    def __init__(self, cell: Cell, inputs: int, hidden_size: int) -> None:
        """Build both directions.

        Args:
            cell: kind of recurrence.
            inputs: F, width of a word's vector.
            hidden_size: width of a word's state in one direction.
        """
        super().__init__()
        recurrence = {"lstm": nn.LSTM, "gru": nn.GRU}[cell]
        self.features = 2 * hidden_size
        self.onward = recurrence(inputs, hidden_size, batch_first=True)
        self.backward_ = recurrence(inputs, hidden_size, batch_first=True)

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """A state for every word of every text.

        Args:
            words: [D, L, F] float32, vectors of the words.
            lengths: [D] int64, number of words of each text, at least 1; padding follows the words.

        Returns:
            [D, L, 2 * hidden_size] float32; meaningless on the padding.
        """
        at_once = _TEXTS_AT_ONCE if words.device.type == "cpu" else len(words)
        chunks = zip(words.split(at_once), lengths.split(at_once), strict=True)
        return torch.cat([self._forward_chunk(*chunk) for chunk in chunks])

    def _forward_chunk(self, words: Tensor, lengths: Tensor) -> Tensor:
        width = longest(lengths, words.shape[1])
        trimmed = words[:, :width]
        backward_order = _backward_order(lengths, width)
        onward, _ = self.onward(trimmed)
        backward, _ = self.backward_(_reordered(trimmed, backward_order))
        states = torch.cat([onward, _reordered(backward, backward_order)], -1)
        return nn.functional.pad(states, (0, 0, 0, words.shape[1] - width))


def _backward_order(lengths: Tensor, width: int) -> Tensor:
    """[D, L] int64, flat indices that reverse the words of each text and leave the padding in place."""
    position = torch.arange(width, device=lengths.device)
    last = lengths[:, None] - 1
    mirrored = torch.where(position <= last, last - position, position)
    return mirrored + width * torch.arange(len(lengths), device=lengths.device)[:, None]


def _reordered(states: Tensor, positions: Tensor) -> Tensor:
    """States [D, L, F] at flat positions [D, L]."""
    return states.flatten(0, 1).index_select(0, positions.flatten()).reshape(states.shape)
