"""Instructions in words for units: each distinct one is read once, and units attend to the latest (RED's encoder)."""

import torch
from torch import Tensor, nn

from rl_models.layers.weight_norm import NormalisedLinear
from rl_models.networks.network_config import CommandedUnitsConfig
from rl_models.runtime.device import distinct
from rl_models.runtime.texts import text_lengths

PADDING = 0
SLOTS, OLDEST = 5, 10
"""Number of latest instructions, and the age from which all count as equally old."""


class InstructionReader(nn.Module):
    """Rows of a table of texts -> vectors: words, an LSTM's last state, position and age."""

    def __init__(self, config: CommandedUnitsConfig, texts: Tensor, vocabulary: int) -> None:
        """Build the reader of texts [D, L] int, 0 for padding, of which row 0 is the empty one."""
        super().__init__()
        self.texts = nn.Buffer(texts.long(), persistent=False)
        self.words = nn.Embedding(vocabulary, config.word_features)
        self.lstm = nn.LSTM(config.word_features, config.sentence_features, batch_first=True)
        self.positions, self.ages = (nn.Embedding(count, config.slot_features) for count in (SLOTS, OLDEST + 1))
        self.features = config.sentence_features + 2 * config.slot_features

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
        return torch.cat([sentences, positions, self.ages(ages.long().clamp(0, OLDEST))], -1)


class InstructionAttention(nn.Module):
    """Attention of units over instructions."""

    def __init__(self, unit_features: int, features: int) -> None:
        super().__init__()
        self.query = NormalisedLinear(unit_features, features)

    def forward(self, units: Tensor, instructions: Tensor) -> Tensor:
        """Units [..., U, unit features] and instructions [..., S, features] -> [..., U, features] float32."""
        scores = torch.relu(self.query(units)) @ instructions.transpose(-1, -2)
        return scores.softmax(-1) @ instructions
