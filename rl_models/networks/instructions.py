"""Instructions in words for units: each distinct one is read once, and units attend to the latest (RED's encoder)."""

import torch
from torch import Tensor, nn

from rl_models.layers.weight_norm import NormalisedLinear
from rl_models.runtime.device import distinct
from rl_models.runtime.texts import text_lengths

PADDING = 0


class InstructionReader(nn.Module):
    """Rows of a table of texts -> vectors: words, an LSTM's last state, position and age."""

    def __init__(
        self,
        texts: Tensor,
        vocabulary: int,
        word_features: int = 64,
        sentence_features: int = 128,
        slot_features: int = 16,
        slots: int = 5,
        oldest: int = 10,
    ) -> None:
        """Build the reader of texts [D, L] int, 0 for padding, of which row 0 is the empty one."""
        super().__init__()
        self.texts = nn.Buffer(texts.long(), persistent=False)
        self.words = nn.Embedding(vocabulary, word_features)
        self.lstm = nn.LSTM(word_features, sentence_features, batch_first=True)
        self.positions, self.ages = nn.Embedding(slots, slot_features), nn.Embedding(oldest + 1, slot_features)
        self.features, self._oldest = sentence_features + 2 * slot_features, oldest

    def read(self, tokens: Tensor) -> Tensor:
        """Tokens [D, L] -> the LSTM's state after the last word, [D, sentence features]; zeros for an empty text."""
        states, _ = self.lstm(self.words(tokens))
        last = (text_lengths(tokens) - 1)[:, None, None].expand(-1, 1, states.shape[-1])
        is_empty = (tokens == PADDING).all(-1, keepdim=True)
        return states.gather(1, last).squeeze(1).masked_fill(is_empty, 0.0)

    def forward(self, rows: Tensor, ages: Tensor) -> Tensor:
        """Vectors [..., S, features] float32 of the latest instructions, newest first.

        `rows` [..., S] int are those of the texts, 0 for none, and `ages` [..., S] int how long ago each was given.
        """
        used, which = distinct(rows.long(), len(self.texts))
        sentences = self.read(self.texts[used])[which]
        positions = self.positions.weight.expand(*rows.shape, -1)
        return torch.cat([sentences, positions, self.ages(ages.long().clamp(0, self._oldest))], -1)


class InstructionAttention(nn.Module):
    """Attention of units over instructions."""

    def __init__(self, unit_features: int, features: int) -> None:
        super().__init__()
        self.query = NormalisedLinear(unit_features, features)

    def forward(self, units: Tensor, instructions: Tensor) -> Tensor:
        """Units [..., U, unit features] and instructions [..., S, features] -> [..., U, features] float32."""
        scores = torch.relu(self.query(units)) @ instructions.transpose(-1, -2)
        return scores.softmax(-1) @ instructions
