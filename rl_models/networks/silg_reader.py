"""How SILG's shared model reads (Zhong et al., 2021): one reader for every text, and attention to the document by each.

The document is what the grid looks at, as in txt2π. All other texts, goal and inventories, are fields: each is
summarised, and each asks the document. Summaries are mixed by attention over the fields, and so are the answers.
Nothing here knows a grid.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rl_models.layers.attention import SelfAttention, TextGroups, padding_of
from rl_models.layers.bidirectional import Bidirectional
from rl_models.networks.readers import DOCUMENT, GOAL, INVENTORY, Reading
from rl_models.networks.texts import Encoded, Shown, lengths_of


class SilgReader(nn.Module):
    """Reads document, goal and inventories.

    Attributes:
        features: width of the fixed text features, mixed summaries and mixed answers.
        look_features: width of a look at the document.
    """

    def __init__(self, hidden: int, words: nn.Embedding) -> None:
        """Build the encoder.

        Args:
            hidden: width of a word's state in one direction.
            words: embedding of all words.
        """
        super().__init__()
        self.words = words
        self.reader = Bidirectional("lstm", words.embedding_dim, hidden)
        width = self.reader.features
        self.summaries = nn.ModuleDict({key: SelfAttention(width) for key in (GOAL, INVENTORY)})
        self.mixed_fields, self.mixed_answers = SelfAttention(width), SelfAttention(width)
        self.features, self.look_features = 2 * width, width

    def encode_text(self, key: str, tokens: Tensor) -> Encoded:
        """Encodings of D texts [D, L] of one kind: states of documents, summaries of fields."""
        words, lengths = self.words(tokens.long()), lengths_of(tokens)
        states = self.reader(words, lengths)
        if key == DOCUMENT:
            return {"lengths": lengths, "visual_states": states}
        return {"summary": self.summaries[key](states, lengths)}

    def forward(self, document: Shown, goal: Shown, inventories: Tensor) -> Reading:
        """Text features of K frames.

        Args:
            document: as `encode_text` gives it.
            goal: likewise.
            inventories: [K, N F] float32, summaries of the inventories.
        """
        fields = torch.stack([goal.of_frames("summary"), *inventories.split(self.look_features, -1)], 1)
        groups = TextGroups(document.rows)
        states = document.encoded["visual_states"].index_select(0, groups.texts)
        padding = padding_of(states, document.encoded["lengths"].index_select(0, groups.texts))
        answers = torch.stack([groups.attend(states, padding, field)[0] for field in fields.unbind(1)], 1)
        lengths = torch.full_like(document.rows, fields.shape[1])
        mixed = [self.mixed_fields(fields, lengths), self.mixed_answers(answers, lengths)]
        return Reading(torch.cat(mixed, -1), document)
