"""Mention-matching reader: a network of ours that learns by reward alone to read a document. It is of no paper.

Reading needs two comparisons of words: of a thing that is seen with the words of the document, and of what stands
beside this mention with another thing. Both are built in (sections 1 to 3, equations 1 to 7, in `mentions.py`); what to
do about them is learned.

4. Nodes. Every cell that shows an entity is a node, and so are every inventory and the goal g. A node begins with its
   place (a table of offsets from the agent, up to `reach` cells; beyond them a linear map of the rest), its kind, its
   vector, and what the document says of it and the goal:

       h0_n = relu(place_n + kind_n + W e_n + G f(n, g))                                                 (8)

5. Messages. Each node hears from all others what the document says of both. One round suffices for two hops: the first
   reaches a node through G, the second through C:

       h1_n = 1/2 sum over m of relu(A h0_n + B h0_m + C f(n, m))                                        (9)

6. Output. The sum over nodes, with the distances of the agent from the four walls:

       x = relu(V sum over n of relu(U [h0_n, h1_n]) + walls)                                           (10)

Nothing depends on the size of the room, the number of things, or their order. Agents differ in their observations.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from rl_models.networks.matching_nodes import Nodes, nodes_of
from rl_models.networks.mentions import (
    DOCUMENTS,
    SCORES,
    Mentions,
    PairFeatures,
    Reads,
    document_words,
)
from rl_models.networks.readers import DOCUMENT, GOAL
from rl_models.networks.reading import ReadingSizes
from rl_models.networks.texts import Encoded, encode_texts
from rl_models.policy import Features, State

_GAIN = 2.0
"""Scale of the initial weights of what the document says (G and C), in PyTorch's."""


@dataclass(frozen=True)
class MatchingSizes(ReadingSizes):
    """Sizes of a world, from which a matching reader is built.

    Attributes:
        kinds: [K] int, kind of each name; cells with names of kind 0 are no nodes (floor, walls, the agent itself).
        sentence_end: the word that ends a sentence of a document.
    """

    kinds: Tensor
    sentence_end: int


@dataclass(frozen=True)
class MatchingConfig:
    """Configuration of the mention-matching reader."""

    word_features: int = 32
    """Width of a word's vector."""
    node_features: int = 32
    """Width of a node's state."""
    features: int = 128
    """Width of the two output layers."""
    window: int = 4
    """Number of words to either side of a mention that are compared."""
    sharpness: float = 4.0
    """Sharpness of attention at first."""
    reach: int = 3
    """Number of cells up to which every offset from the agent has a row of its own."""
    sees_names: bool = True
    """Whether nodes hold the vectors of their names; without them new names are as good as known ones."""
    learns_words: bool = True
    """Whether the words' vectors are learned; if not, they keep their random values."""
    has_two_tables: bool = False
    """Whether documents have a table of words of their own (ablation)."""
    contrasts: bool = False
    """Whether the extras hold, while learning, what `losses/mention_contrast.py` needs."""
    reads: Reads = "pairs"
    """What nodes learn from documents: `pairs`, or `vector`, the words around their mentions (ablation)."""


class MatchingReader(nn.Module):
    """Turns texts and a grid into features of every agent.

    Attributes:
        features: F, width of the features.
        shows_attention: whether the extras hold where things are mentioned, `attention/goal` [B, T, N, L] and
            `attention/grid` [B, T, N, X, L] float32.
    """

    def __init__(self, config: MatchingConfig, sizes: MatchingSizes) -> None:
        """Build the layers.

        Args:
            config: widths and ablations.
            sizes: sizes of the world.
        """
        super().__init__()
        self.config, self.num_agents, self.features = config, sizes.num_agents, config.features
        self.shows_attention = False
        self.sentence_end = sizes.sentence_end
        self.names: Tensor
        self.kinds: Tensor
        self.register_buffer("names", sizes.names.long(), persistent=False)
        self.register_buffer("kinds", sizes.kinds.long(), persistent=False)
        self.mentions = Mentions(
            sizes.vocabulary,
            config.word_features,
            config.window,
            config.sharpness,
            config.has_two_tables,
            config.reads,
        )
        self.mentions.words.weight.requires_grad_(config.learns_words)
        hidden, pair = config.node_features, self.mentions.num_features
        self.place = _table((2 * config.reach + 1) ** 2 + sizes.num_agents + 1, hidden)
        self.beyond = nn.Parameter(torch.zeros(2, hidden))
        self.kind = _table(int(sizes.kinds.max()) + 1, hidden)
        self.name = nn.Linear(config.word_features, hidden, bias=False) if config.sees_names else None
        around = self.mentions.num_around
        self.around = nn.Linear(around, hidden, bias=False) if around else None
        self.with_goal = _scaled(nn.Linear(pair, hidden), _GAIN)
        self.to_receiver = nn.Linear(hidden, hidden)
        self.to_sender = nn.Linear(hidden, hidden, bias=False)
        self.of_pair = _scaled(nn.Linear(pair, hidden, bias=False), _GAIN)
        self.node_output = nn.Linear(2 * hidden, config.features)
        self.output = nn.Linear(config.features, config.features)
        self.walls = _table(4 * (config.reach + 1), config.features)

    def initial_state(self, batch: int) -> State:
        """The empty state of a network without memory."""
        return {}

    def encode_text(self, key: str, tokens: Tensor) -> Encoded:
        """Encodings of D texts: tokens [D, L] int -> name -> [D, ...]. They are valid until the weights change."""
        if key == DOCUMENT:
            return document_words(tokens, self.sentence_end)
        return {"vector": self.mentions.vectors(tokens)}

    def forward(self, obs: dict[str, Tensor], state: State, is_first: Tensor) -> Features:
        """Features [B, T, N, F] float32 of every step.

        Args:
            obs: `grid` [B, T, N, H, W, P] uint8, names in each cell; `position` [B, T, N, N, 2] uint8, row and column
                of the agents, the agent itself first; `inventory` [B, T, N, N] uint8, names; `document` and `goal` as
                `texts.py` describes; optionally `legal` [B, T, N, A] bool.
            state: empty.
            is_first: [B, T] bool, not used.
        """
        lead, size = obs["grid"].shape[:3], obs["grid"].shape[3:5]
        document, goal = (encode_texts(obs, key, self.encode_text) for key in (DOCUMENT, GOAL))
        goals, goal_rows = goal.rows.unique(return_inverse=True)
        things = torch.cat([self.mentions.vectors(self.names), goal.encoded["vector"].index_select(0, goals)])
        position = obs["position"].flatten(0, 2)[:, 0].long()
        grid, inventory = obs["grid"].flatten(0, 2), obs["inventory"].flatten(0, 2).long()
        nodes = nodes_of(grid, position, inventory, goal_rows, self.kinds, self.config.reach)
        pairs = self.mentions(document, things, nodes.things)
        before = self._first_states(nodes, things, pairs)
        both = torch.cat([before, self._heard(before, pairs, nodes.exists)], -1)
        summed = (self.node_output(both).relu() * nodes.exists[..., None]).sum(1)
        features = (self.output(summed) + self._walls(position, size)).relu().unflatten(0, lead)
        legal = obs["legal"].bool() if "legal" in obs else None
        extras = self._attention_maps(pairs, lead)
        if self.config.contrasts and torch.is_grad_enabled():
            scores, rows = self.mentions.contrast(document, things, nodes.things, nodes.exists)
            extras |= {SCORES: scores.unflatten(0, lead), DOCUMENTS: rows.unflatten(0, lead)}
        return Features(features, {}, None, extras, legal)

    def _first_states(self, nodes: Nodes, things: Tensor, pairs: PairFeatures) -> Tensor:
        """h0 (eq. 8), [K, X, H] float32."""
        with_goal = self.with_goal(pairs.features)[pairs.of_frames[:, :, -1]]
        state = (
            self.place[nodes.places]
            + nodes.beyond.to(self.beyond.dtype) @ self.beyond
            + self.kind[nodes.kinds]
            + with_goal
        )
        if self.name is not None:
            state = state + self.name(things)[nodes.things]
        if self.around is not None and pairs.around is not None:
            state = state + self.around(pairs.around)[pairs.attention_of_frames]
        return state.relu()

    def _heard(self, states: Tensor, pairs: PairFeatures, exists: Tensor) -> Tensor:
        """h1 (eq. 9) of states [K, X, H], [K, X, H] float32; padding says nothing."""
        said = self.of_pair(pairs.features)[pairs.of_frames]
        messages = (self.to_receiver(states)[:, :, None] + self.to_sender(states)[:, None] + said).relu()
        return (messages * exists[:, None, :, None]).sum(2) / 2

    def _walls(self, position: Tensor, size: torch.Size) -> Tensor:
        """Sum of the rows of the distances from the four walls, [K, F] float32."""
        last = torch.stack([torch.full_like(position[:, 0], side - 2) for side in size], 1)
        distances = torch.cat([position - 1, last - position], 1).clamp(0, self.config.reach)
        rows = distances + (self.config.reach + 1) * torch.arange(4, device=position.device)
        return self.walls[rows].sum(1)

    def _attention_maps(self, pairs: PairFeatures, lead: torch.Size) -> dict[str, Tensor]:
        """Where the goal and the other nodes are mentioned, if the network shows attention."""
        if not self.shows_attention:
            return {}
        maps = pairs.attention[pairs.attention_of_frames].unflatten(0, lead)
        return {"attention/goal": maps[..., -1, :], "attention/grid": maps[..., :-1, :]}


def _table(rows: int, features: int) -> nn.Parameter:
    """[rows, features] float32, small random numbers."""
    return nn.Parameter(torch.randn(rows, features) / 4)


def _scaled(layer: nn.Linear, gain: float) -> nn.Linear:
    """The layer with scaled initial weights."""
    with torch.no_grad():
        layer.weight.mul_(gain)
    return layer
