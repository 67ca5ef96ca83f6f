"""Layers over the words of texts: BiLSTM and BiGRU, and attention (RTFM, section 4.2).

Recurrent layers equal PyTorch's over packed sequences on the words. Packed sequences of unequal length cost many times
more on a CPU, above all in the backward pass. Here the backward layer reads each text reversed within its own length,
so the padding follows the words in both directions.

Many frames of an episode attend to the same text. `TextGroups` arranges them so that the frames of one text share a
matrix product, and not every frame needs a copy of the text's states.
"""

from typing import Literal

import torch
from torch import Tensor, nn

from rl_models.runtime.device import count_rows, longest

Cell = Literal["lstm", "gru"]

_TEXTS_AT_ONCE = 64
"""Texts in one chunk on a CPU. With more of them the backward pass does not fit into the caches and takes twice the
time."""


class Bidirectional(nn.Module):
    """BiLSTM or BiGRU over padded texts, whose states are twice as wide as one direction's."""

    def __init__(self, cell: Cell, inputs: int, hidden_size: int) -> None:
        super().__init__()
        recurrence = {"lstm": nn.LSTM, "gru": nn.GRU}[cell]
        self.features = 2 * hidden_size
        self.onward = recurrence(inputs, hidden_size, batch_first=True)
        self.backward_ = recurrence(inputs, hidden_size, batch_first=True)

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """States [D, L, 2 * hidden_size] float32 of words [D, L, F], meaningless on the padding after lengths [D]."""
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


_FRAMES_TOGETHER = 8
"""Largest number of frames that share one copy of a text's states."""


def attend(states: Tensor, padding: Tensor, queries: Tensor) -> tuple[Tensor, Tensor]:
    """Dot-product attention of queries [D, Q, F] over words [D, L, F] (RTFM, eqs. 14-16), with `padding_scores`.

    Returns contexts [D, Q, F] float32 and attention weights [D, Q, L] float32, which sum to 1 over L.
    """
    weights = torch.baddbmm(padding, queries, states.mT).softmax(-1)
    return weights @ states, weights


def padding_scores(states: Tensor, lengths: Tensor) -> Tensor:
    """Scores [D, 1, L] float32 to add to attention scores: 0 on words, minus infinity on padding after lengths [D].

    Of the states [D, L, F] only shape, type and device matter.
    """
    is_padding = torch.arange(states.shape[1], device=lengths.device) >= lengths[:, None]
    return states.new_zeros(is_padding.shape).masked_fill_(is_padding, -torch.inf)[:, None]


class SelfAttention(nn.Module):
    """Fixed-length summary of a text, selfattn(H) (RTFM, eqs. 10-12).

    The bias in eq. 10 has no effect, because a softmax follows; it is counted as a parameter.
    """

    def __init__(self, features: int) -> None:
        super().__init__()
        self.score = nn.Linear(features, 1)

    def forward(self, states: Tensor, lengths: Tensor) -> Tensor:
        """States [D, L, F] float32 and lengths [D] int64 -> summaries [D, F] float32."""
        scores = self.score(states).mT + padding_scores(states, lengths)
        return (scores.softmax(-1) @ states).squeeze(1)


class TextGroups:
    """Groups of at most eight frames that attend to the same text.

    Attributes:
        texts: [G] int64, the text of each group.
    """

    def __init__(self, rows: Tensor, num_texts: int) -> None:
        """Group frames by their texts [K]; on an accelerator into the most groups possible, which are not counted."""
        count = count_rows(rows, num_texts)
        is_here = rows.device.type == "cpu"
        present = int((count > 0).sum()) if is_here else num_texts
        self._size = max(1, min(_FRAMES_TOGETHER, len(rows) // max(present, 1)))
        groups = (count + self._size - 1) // self._size
        order = rows.argsort(stable=True)
        ordered = rows[order]
        index_in_text = torch.arange(len(rows), device=rows.device) - (count.cumsum(0) - count)[ordered]
        self._slot = torch.empty_like(rows)
        self._slot[order] = (groups.cumsum(0) - groups)[ordered] * self._size + index_in_text
        if is_here:
            self.texts = torch.arange(num_texts).repeat_interleave(groups)
        else:
            most = torch.arange(len(rows) // self._size + min(len(rows), num_texts), device=rows.device)
            self.texts = torch.searchsorted(groups.cumsum(0), most, right=True).clamp(max=num_texts - 1)

    def attend(self, states: Tensor, padding: Tensor, queries: Tensor) -> tuple[Tensor, Tensor]:
        """Attention of every frame over its own text.

        Word states [G, L, F] and `padding_scores` of the groups' texts, queries [K, F] -> contexts [K, F] and weights
        [K, L].
        """
        slots = queries.new_zeros(len(self.texts) * self._size, queries.shape[1])
        grouped = slots.index_copy(0, self._slot, queries).unflatten(0, (-1, self._size))
        contexts, weights = attend(states, padding, grouped)
        return contexts.flatten(0, 1).index_select(0, self._slot), weights.flatten(0, 1).index_select(0, self._slot)
