"""Readers of document, goal and inventories, which compute text features before the network reads the grid (RTFM).

txt2π reads the document twice: with attention to its goal (eqs. 9-16), and with attention to visual features (eq. 18).
The baselines of appendix C only summarise the three texts, and SILG has a reader of its own. All readers give every
frame a fixed vector; in txt2π and SILG the layers over the grid attend to the document again. This file does not depend
on a grid.
"""

from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor, nn

from rl_models.layers.words import Bidirectional, Cell, SelfAttention, TextGroups, attend, padding_scores
from rl_models.runtime.device import distinct
from rl_models.runtime.texts import Encoded, EncodedTexts, text_lengths

DOCUMENT, GOAL, INVENTORY = "document", "goal", "inventory"


class DocumentAttention:
    """Attention of K frames to their documents, with visual summaries as queries (RTFM, eq. 18, last term).

    `weights` has those of each call so far, [K, L] float32 each.
    """

    def __init__(self, groups: TextGroups, states: Tensor, padding: Tensor) -> None:
        self._groups, self._states, self._padding = groups, states, padding
        self.weights: list[Tensor] = []

    def __call__(self, summary: Tensor) -> Tensor:
        """Visual summaries s [K, F] float32 -> contexts [K, F] float32."""
        context, weights = self._groups.attend(self._states, self._padding, summary)
        self.weights.append(weights)
        return context


@dataclass(frozen=True)
class TextFeatures:
    """Text features of K frames.

    Attributes:
        fixed: [K, F] float32, the part of the text features that does not depend on the grid.
        document: encodings `visual_states` and `lengths` of the document, if the layers over the grid attend to it.
        goal_attention: [K, L] float32, goal-conditioned attention over the document, if the reader computes it.
    """

    fixed: Tensor
    document: EncodedTexts | None = None
    goal_attention: Tensor | None = None

    def split(self, size: int) -> list[tuple[Tensor, DocumentAttention | None]]:
        """Fixed text features [size, F] and document attention of each chunk of `size` frames."""
        fixed = self.fixed.split(size)
        if self.document is None:
            return [(part, None) for part in fixed]
        states = self.document.encoded["visual_states"]
        groups = [TextGroups(rows, len(states)) for rows in self.document.rows.split(size)]
        texts, sizes = torch.cat([group.texts for group in groups]), [len(group.texts) for group in groups]
        padding = padding_scores(states, self.document.encoded["lengths"])
        parts = zip(
            groups, states.index_select(0, texts).split(sizes), padding.index_select(0, texts).split(sizes), strict=True
        )
        return [(part, DocumentAttention(*of_part)) for part, of_part in zip(fixed, parts, strict=True)]


@dataclass(frozen=True)
class ReaderConfig:
    """Reader of txt2π. The defaults are those of the released code; `PAPER_READER` has the paper's (section 4.2)."""

    document_hidden_size: int = 100
    """Width in one direction of the document's states for attention from the grid."""
    goal_hidden_size: int = 100
    """Width in one direction of the states for goal-conditioned attention; the paper has 10."""
    inventory_hidden_size: int = 10
    """Width in one direction of the inventory's states."""
    inventory_cell: Cell = "gru"
    """Kind of recurrence for the inventory; the paper has `lstm`."""
    has_goal: bool = False
    """Whether the text features contain the goal's summary, as in eq. 18."""
    attends_to_goal: bool = True
    """False is the ablation no_task_attn: the goal's summary replaces goal-conditioned attention."""
    attends_to_grid: bool = True
    """False is the ablation no_vis_attn: the document's summary replaces attention from the grid."""
    shares_words: bool = False
    """Whether attention from the grid also compares a thing in it with the words, in the one table of both. It is ours,
    of no paper."""


PAPER_READER = ReaderConfig(goal_hidden_size=10, inventory_cell="lstm", has_goal=True)


class Txt2PiReader(nn.Module):
    """Reads the goal with the document, the inventories, and the document again for the layers over the grid.

    Attributes:
        features: F, width of the fixed text features.
        context_features: width of a context of the document; 0 if the layers over the grid do not attend to it.
        shared_features: width of its last part, which is words of the table that grid and document share; 0 for none.
    """

    def __init__(self, config: ReaderConfig, words: nn.Module, num_agents: int) -> None:
        """Build the encoders over an embedding of all words, for N inventories, the agent's own first."""
        super().__init__()
        self.config = config
        self.words = words
        inputs = int(words.embedding_dim)  # type: ignore[arg-type]  # a module's attribute has no type
        self.goal_reader = Bidirectional("lstm", inputs, config.goal_hidden_size)
        self.goal_summary = SelfAttention(self.goal_reader.features)
        self.inventory_reader = Bidirectional(config.inventory_cell, inputs, config.inventory_hidden_size)
        self.inventory_summary = SelfAttention(self.inventory_reader.features)
        self.document_reader = Bidirectional("lstm", inputs, config.document_hidden_size)
        if not config.attends_to_grid:
            self.document_summary = SelfAttention(self.document_reader.features)
        document = self.document_reader.features
        goal = self.goal_reader.features * (self._has_goal + config.attends_to_goal)
        self.shared_features = inputs if config.attends_to_grid and config.shares_words else 0
        self.context_features = document + self.shared_features if config.attends_to_grid else 0
        summary = 0 if config.attends_to_grid else document
        self.features = goal + num_agents * self.inventory_reader.features + summary

    def encode_text(self, key: str, tokens: Tensor) -> Encoded:
        """Encodings of D texts of one kind (`document`, `goal`, `inventory`): tokens [D, L] int -> name -> [D, ...]."""
        words, lengths = self.words(tokens.long()), text_lengths(tokens)
        if key == GOAL:
            return {"summary": self.goal_summary(self.goal_reader(words, lengths), lengths)}
        if key == INVENTORY:
            return {"summary": self.inventory_summary(self.inventory_reader(words, lengths), lengths)}
        encoded = {"lengths": lengths}
        if self.config.attends_to_goal:
            encoded["goal_states"] = self.goal_reader(words, lengths)
        states = self.document_reader(words, lengths)
        if self.shared_features:
            states = torch.cat([states, words], -1)
        if self.config.attends_to_grid:
            return encoded | {"visual_states": states}
        return encoded | {"summary": self.document_summary(states, lengths)}

    def forward(self, document: EncodedTexts, goal: EncodedTexts, inventories: Tensor) -> TextFeatures:
        """Text features of K frames, from encodings by `encode_text` and summaries of inventories [K, N * F]."""
        parts, goal_attention = [inventories], None
        if self._has_goal:
            parts.append(goal.of_frames("summary"))
        if self.config.attends_to_goal:
            context, goal_attention = _goal_conditioned(document, goal)
            parts.append(context)
        if not self.config.attends_to_grid:
            parts.append(document.of_frames("summary"))
        return TextFeatures(torch.cat(parts, -1), document if self.config.attends_to_grid else None, goal_attention)

    @property
    def _has_goal(self) -> bool:
        return self.config.has_goal or not self.config.attends_to_goal


def _goal_conditioned(document: EncodedTexts, goal: EncodedTexts) -> tuple[Tensor, Tensor]:
    """Contexts c_doc [K, F] (eq. 16) and attention weights [K, L], computed once a pair of document and goal."""
    goals = len(goal.encoded["summary"])
    documents = len(document.encoded["lengths"])
    pairs, pair_of_frame = distinct(document.rows * goals + goal.rows, documents * goals)
    document_of_pair = pairs.div(goals, rounding_mode="floor")
    states, lengths = (document.encoded[name].index_select(0, document_of_pair) for name in ("goal_states", "lengths"))
    queries = goal.encoded["summary"].index_select(0, pairs % goals)[:, None]
    context, weights = attend(states, padding_scores(states, lengths), queries)
    return context[:, 0].index_select(0, pair_of_frame), weights[:, 0].index_select(0, pair_of_frame)


class SummaryReader(nn.Module):
    """Summarises every text separately by self-attention (the FiLM and CNN baselines; RTFM, appendix C).

    `features` is F; `context_features` is 0, because the layers over the grid do not attend to the document.
    """

    context_features = 0

    def __init__(self, hidden_sizes: dict[str, int], cell: Cell, words: nn.Module, num_agents: int) -> None:
        """Build the encoders; `hidden_sizes` are widths in one direction of document, goal and inventory."""
        super().__init__()
        self.words = words
        inputs = int(words.embedding_dim)  # type: ignore[arg-type]  # a module's attribute has no type
        self.readers = nn.ModuleDict({key: Bidirectional(cell, inputs, width) for key, width in hidden_sizes.items()})
        self.summaries = nn.ModuleDict({key: SelfAttention(2 * width) for key, width in hidden_sizes.items()})
        self.features = 2 * (hidden_sizes[DOCUMENT] + hidden_sizes[GOAL] + num_agents * hidden_sizes[INVENTORY])

    def encode_text(self, key: str, tokens: Tensor) -> Encoded:
        """Summaries of D texts of one kind: tokens [D, L] int -> `summary` [D, 2 * hidden_size] float32."""
        words, lengths = self.words(tokens.long()), text_lengths(tokens)
        return {"summary": self.summaries[key](self.readers[key](words, lengths), lengths)}

    def forward(self, document: EncodedTexts, goal: EncodedTexts, inventories: Tensor) -> TextFeatures:
        """See `Txt2PiReader.forward`."""
        return TextFeatures(torch.cat([document.of_frames("summary"), goal.of_frames("summary"), inventories], -1))


class SilgReader(nn.Module):
    """Reader of SILG's shared model (Zhong et al., 2021): one encoder for all texts, which all attend to the document.

    All texts but the document, goal and inventories, are fields. Each field has a summary, and each summary is a query
    to the document, whose result is its answer. The fixed features are the mixtures of summaries and of answers, by
    attention over the fields.
    """

    def __init__(self, hidden_size: int, words: nn.Module) -> None:
        super().__init__()
        self.words = words
        self.reader = Bidirectional("lstm", int(words.embedding_dim), hidden_size)  # type: ignore[arg-type]  # a module's attribute has no type
        width = self.reader.features
        self.summaries = nn.ModuleDict({key: SelfAttention(width) for key in (GOAL, INVENTORY)})
        self.mixed_fields, self.mixed_answers = SelfAttention(width), SelfAttention(width)
        self.features, self.context_features = 2 * width, width

    def encode_text(self, key: str, tokens: Tensor) -> Encoded:
        """See `Txt2PiReader.encode_text`: states of documents, or summaries of fields."""
        words, lengths = self.words(tokens.long()), text_lengths(tokens)
        states = self.reader(words, lengths)
        if key == DOCUMENT:
            return {"lengths": lengths, "visual_states": states}
        return {"summary": self.summaries[key](states, lengths)}

    def forward(self, document: EncodedTexts, goal: EncodedTexts, inventories: Tensor) -> TextFeatures:
        """See `Txt2PiReader.forward`."""
        fields = torch.stack([goal.of_frames("summary"), *inventories.split(self.context_features, -1)], 1)
        of_texts = document.encoded["visual_states"]
        groups = TextGroups(document.rows, len(of_texts))
        states = of_texts.index_select(0, groups.texts)
        padding = padding_scores(states, document.encoded["lengths"].index_select(0, groups.texts))
        answers = torch.stack([groups.attend(states, padding, field)[0] for field in fields.unbind(1)], 1)
        lengths = torch.full_like(document.rows, fields.shape[1])
        mixed = [self.mixed_fields(fields, lengths), self.mixed_answers(answers, lengths)]
        return TextFeatures(torch.cat(mixed, -1), document)


DocumentReader: TypeAlias = Txt2PiReader | SummaryReader | SilgReader
