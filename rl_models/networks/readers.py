"""What a network makes of document, goal and inventory before it looks at the grid.

txt2π reads the document twice: for its goal (eqs. 9-16) and for what it sees (eq. 18). The baselines of RTFM, appendix
C, only summarise the three texts. Both give every frame a fixed vector; txt2π also lets frames look at the document
again. Nothing here knows a grid.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from rl_models.layers.attention import SelfAttention, TextGroups, attend, padding_of
from rl_models.layers.bidirectional import Bidirectional, Cell
from rl_models.networks.texts import Encoded, Shown, lengths_of

DOCUMENT, GOAL, INVENTORY = "document", "goal", "inventory"


class Look:
    """Some frames' second look at the document, guided by what they see (eq. 18, its last term).

    Attributes:
        weights: attention of each look so far, [K, L].
    """

    def __init__(self, groups: TextGroups, states: Tensor, padding: Tensor) -> None:
        self._groups, self._states, self._padding = groups, states, padding
        self.weights: list[Tensor] = []

    def __call__(self, summary: Tensor) -> Tensor:
        """Visual summaries s [K, F] -> contexts [K, F]."""
        context, weights = self._groups.attend(self._states, self._padding, summary)
        self.weights.append(weights)
        return context


@dataclass(frozen=True)
class Reading:
    """What texts say to K frames.

    Attributes:
        fixed: [K, F] float32, the part of the text features that does not depend on the grid.
        document: states of the document for a second look, `visual_states` and `lengths`, if there is one.
        goal_attention: [K, L], goal-conditioned attention over the document, if there is one.
    """

    fixed: Tensor
    document: Shown | None = None
    goal_attention: Tensor | None = None

    def split(self, size: int) -> list[tuple[Tensor, Look | None]]:
        """Fixed text features and look of `size` frames after another."""
        fixed = self.fixed.split(size)
        if self.document is None:
            return [(part, None) for part in fixed]
        groups = [TextGroups(rows) for rows in self.document.rows.split(size)]
        texts, sizes = torch.cat([group.texts for group in groups]), [len(group.texts) for group in groups]
        states = self.document.encoded["visual_states"]
        padding = padding_of(states, self.document.encoded["lengths"])
        parts = zip(
            groups, states.index_select(0, texts).split(sizes), padding.index_select(0, texts).split(sizes), strict=True
        )
        return [(part, Look(*of_part)) for part, of_part in zip(fixed, parts, strict=True)]


@dataclass(frozen=True)
class ReaderConfig:
    """How txt2π reads. The defaults are those of the released code; `PAPER_READER` has the paper's (section 4.2)."""

    document_hidden_size: int = 100
    """States of the document for looks from the grid, one direction."""
    goal_hidden_size: int = 100
    """States of goal and document for their attention to each other; the paper says 10."""
    inventory_hidden_size: int = 10
    inventory_cell: Cell = "gru"
    """The paper says LSTM."""
    has_goal: bool = False
    """The goal's summary is part of the text features, as eq. 18 has it."""
    attends_to_goal: bool = True
    """False is no_task_attn: no document attention given the goal, the goal's summary in its place."""
    attends_to_grid: bool = True
    """False is no_vis_attn: the document's own summary in place of looks from the grid."""


PAPER_READER = ReaderConfig(goal_hidden_size=10, inventory_cell="lstm", has_goal=True)


class Txt2PiReader(nn.Module):
    """Reads goal and document together, the inventory, and the document once more for the grid.

    Attributes:
        features: F, width of the fixed text features.
        look_features: width of a look at the document; 0 without.
    """

    def __init__(self, config: ReaderConfig, words: nn.Embedding, num_agents: int) -> None:
        """Build the encoders.

        Args:
            config: widths and ablations.
            words: embedding of all words.
            num_agents: N inventories are read, one's own first.
        """
        super().__init__()
        self.config = config
        self.words = words
        inputs = words.embedding_dim
        self.goal_reader = Bidirectional("lstm", inputs, config.goal_hidden_size)
        self.goal_summary = SelfAttention(self.goal_reader.features)
        self.inventory_reader = Bidirectional(config.inventory_cell, inputs, config.inventory_hidden_size)
        self.inventory_summary = SelfAttention(self.inventory_reader.features)
        self.document_reader = Bidirectional("lstm", inputs, config.document_hidden_size)
        if not config.attends_to_grid:
            self.document_summary = SelfAttention(self.document_reader.features)
        of_document = self.document_reader.features
        of_goal = self.goal_reader.features * (self._has_goal + config.attends_to_goal)
        self.look_features = of_document if config.attends_to_grid else 0
        self.features = of_goal + num_agents * self.inventory_reader.features + of_document - self.look_features

    def encode_text(self, key: str, tokens: Tensor) -> Encoded:
        """Encodings of D texts of one kind.

        Args:
            key: `document`, `goal` or `inventory`.
            tokens: [D, L] int.
        """
        words, lengths = self.words(tokens.long()), lengths_of(tokens)
        if key == GOAL:
            return {"summary": self.goal_summary(self.goal_reader(words, lengths), lengths)}
        if key == INVENTORY:
            return {"summary": self.inventory_summary(self.inventory_reader(words, lengths), lengths)}
        encoded = {"lengths": lengths}
        if self.config.attends_to_goal:
            encoded["goal_states"] = self.goal_reader(words, lengths)
        states = self.document_reader(words, lengths)
        if self.config.attends_to_grid:
            return encoded | {"visual_states": states}
        return encoded | {"summary": self.document_summary(states, lengths)}

    def forward(self, document: Shown, goal: Shown, inventories: Tensor) -> Reading:
        """Text features of K frames.

        Args:
            document: as `encode_text` gives it.
            goal: likewise.
            inventories: [K, N F] float32, summaries of the inventories.
        """
        parts, goal_attention = [inventories], None
        if self._has_goal:
            parts.append(goal.of_frames("summary"))
        if self.config.attends_to_goal:
            context, goal_attention = _goal_conditioned(document, goal)
            parts.append(context)
        if not self.config.attends_to_grid:
            parts.append(document.of_frames("summary"))
        return Reading(torch.cat(parts, -1), document if self.config.attends_to_grid else None, goal_attention)

    @property
    def _has_goal(self) -> bool:
        return self.config.has_goal or not self.config.attends_to_goal


def _goal_conditioned(document: Shown, goal: Shown) -> tuple[Tensor, Tensor]:
    """Contexts c_doc [K, F] (eq. 16) and their attention [K, L], worked out once a pair of document and goal."""
    goals = len(goal.encoded["summary"])
    pairs, pair_of_frame = (document.rows * goals + goal.rows).unique(return_inverse=True)
    document_of_pair = pairs.div(goals, rounding_mode="floor")
    states, lengths = (document.encoded[name].index_select(0, document_of_pair) for name in ("goal_states", "lengths"))
    queries = goal.encoded["summary"].index_select(0, pairs % goals)[:, None]
    context, weights = attend(states, padding_of(states, lengths), queries)
    return context[:, 0].index_select(0, pair_of_frame), weights[:, 0].index_select(0, pair_of_frame)


class SummaryReader(nn.Module):
    """Reads every text for itself and keeps its self-attended summary (the FiLM and CNN baselines).

    Attributes:
        features: F, width of the text features.
        look_features: 0, nobody looks twice.
    """

    look_features = 0

    def __init__(self, hidden: dict[str, int], cell: Cell, words: nn.Embedding, num_agents: int) -> None:
        """Build the encoders.

        Args:
            hidden: width of `document`, `goal` and `inventory` in one direction.
            cell: kind of recurrence.
            words: embedding of all words.
            num_agents: N inventories are read, one's own first.
        """
        super().__init__()
        self.words = words
        inputs = words.embedding_dim
        self.readers = nn.ModuleDict({key: Bidirectional(cell, inputs, width) for key, width in hidden.items()})
        self.summaries = nn.ModuleDict({key: SelfAttention(2 * width) for key, width in hidden.items()})
        self.features = 2 * (hidden[DOCUMENT] + hidden[GOAL] + num_agents * hidden[INVENTORY])

    def encode_text(self, key: str, tokens: Tensor) -> Encoded:
        """Summaries of D texts [D, L] of one kind, `summary` [D, 2 hidden]."""
        words, lengths = self.words(tokens.long()), lengths_of(tokens)
        return {"summary": self.summaries[key](self.readers[key](words, lengths), lengths)}

    def forward(self, document: Shown, goal: Shown, inventories: Tensor) -> Reading:
        """Text features of K frames; `inventories` [K, N F] are summaries already."""
        return Reading(torch.cat([document.of_frames("summary"), goal.of_frames("summary"), inventories], -1))
