"""Reader of SILG's shared model (Zhong et al., 2021): one encoder for all texts, which all attend to the document.

The layers over the grid attend to the document, as in txt2π. All other texts, goal and inventories, are fields. Each
field has a summary, and each summary is a query to the document, whose result is its answer. Attention over the fields
mixes the summaries, and the answers too. This file knows no grid.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rl_models.layers.attention import SelfAttention, TextGroups, padding_scores
from rl_models.layers.bidirectional import Bidirectional
from rl_models.networks.readers import DOCUMENT, GOAL, INVENTORY, TextFeatures
from rl_models.networks.texts import Encoded, EncodedTexts, lengths_of


class SilgReader(nn.Module):
    """Reads document, goal and inventories.

    Attributes:
        features: width of the fixed text features, which are the mixed summaries and the mixed answers.
        context_features: width of a context of the document.
    """

    def __init__(self, hidden_size: int, words: nn.Embedding) -> None:
        """Build the encoder.

        Args:
            hidden_size: width of a word's state in one direction.
            words: embedding of all words.
        """
        super().__init__()
        self.words = words
        self.reader = Bidirectional("lstm", words.embedding_dim, hidden_size)
        width = self.reader.features
        self.summaries = nn.ModuleDict({key: SelfAttention(width) for key in (GOAL, INVENTORY)})
        self.mixed_fields, self.mixed_answers = SelfAttention(width), SelfAttention(width)
        self.features, self.context_features = 2 * width, width

    def encode_text(self, key: str, tokens: Tensor) -> Encoded:
        """Encodings of D texts of one kind, name -> [D, ...]: states of documents, or summaries of fields.

        Args:
            key: `document`, `goal` or `inventory`.
            tokens: [D, L] int, 0 for padding.
        """
        words, lengths = self.words(tokens.long()), lengths_of(tokens)
        states = self.reader(words, lengths)
        if key == DOCUMENT:
            return {"lengths": lengths, "visual_states": states}
        return {"summary": self.summaries[key](states, lengths)}

    def forward(self, document: EncodedTexts, goal: EncodedTexts, inventories: Tensor) -> TextFeatures:
        """Text features of K frames.

        Args:
            document: encodings of the documents by `encode_text`.
            goal: encodings of the goals by `encode_text`.
            inventories: [K, N * F] float32, summaries of the inventories.
        """
        fields = torch.stack([goal.of_frames("summary"), *inventories.split(self.context_features, -1)], 1)
        of_texts = document.encoded["visual_states"]
        groups = TextGroups(document.rows, len(of_texts))
        states = of_texts.index_select(0, groups.texts)
        padding = padding_scores(states, document.encoded["lengths"].index_select(0, groups.texts))
        answers = torch.stack([groups.attend(states, padding, field)[0] for field in fields.unbind(1)], 1)
        lengths = torch.full_like(document.rows, fields.shape[1])
        mixed = [self.mixed_fields(fields, lengths), self.mixed_answers(answers, lengths)]
        return TextFeatures(torch.cat(mixed, -1), document)
