"""Mention-matching reader: a network of ours that learns by reward alone to read a document. It is of no paper.

Reading needs two comparisons of words: of a thing that is seen with the words of the document, and of what stands
beside this mention with another thing. Both are built in (sections 1 to 3, equations 1 to 6, in `mentions.py`); what to
do about them is learned.

4. Nodes. Every cell that shows an entity is a node, and so are every inventory and the goal g. A node begins with its
   place (a table of offsets from the agent, up to `reach` cells; beyond them a linear map of the rest), its kind, its
   vector, and what the document says of it and the goal:

       h0_n = relu(place_n + kind_n + W e_n + G f(n, g))                                                 (7)

5. Messages. Each node hears from all others what the document says of both. One round suffices for two hops: the first
   reaches a node through G, the second through C:

       h1_n = 1/2 sum over m of relu(A h0_n + B h0_m + C f(n, m))                                        (8)

6. Output. The sum over nodes, with the distances of the agent from the four walls:

       x = relu(V sum over n of relu(U [h0_n, h1_n]) + walls)                                            (9)

Nothing depends on the size of the room, the number of things, or their order. Agents differ in their observations.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from rl_models.networks.mentions import Mentions, PairFeatures, document_words
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


@dataclass(frozen=True)
class _Nodes:
    """Nodes of K frames: X of cells, inventories and goal, which is the last.

    Attributes:
        things: [K, X] int64, names; K + row for goals.
        kinds, places: [K, X] int64, rows of the tables.
        beyond: [K, X, 2] float32, cells by which a node is farther than the table of offsets reaches.
        exists: [K, X] bool, False for padding.
    """

    things: Tensor
    kinds: Tensor
    places: Tensor
    beyond: Tensor
    exists: Tensor


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
        self.mentions = Mentions(sizes.vocabulary, config.word_features, config.window, config.sharpness)
        self.mentions.words.weight.requires_grad_(config.learns_words)
        hidden, pair = config.node_features, self.mentions.num_features
        self.side = 2 * config.reach + 1
        self.place = _table(self.side**2 + sizes.num_agents + 1, hidden)
        self.beyond = nn.Parameter(torch.zeros(2, hidden))
        self.kind = _table(int(sizes.kinds.max()) + 1, hidden)
        self.name = nn.Linear(config.word_features, hidden, bias=False) if config.sees_names else None
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
        nodes = self._nodes(obs["grid"].flatten(0, 2), position, obs["inventory"].flatten(0, 2).long(), goal_rows)
        pairs = self.mentions(document, things, nodes.things)
        before = self._first_states(nodes, things, pairs)
        both = torch.cat([before, self._heard(before, pairs, nodes.exists)], -1)
        summed = (self.node_output(both).relu() * nodes.exists[..., None]).sum(1)
        features = (self.output(summed) + self._walls(position, size)).relu().unflatten(0, lead)
        legal = obs["legal"].bool() if "legal" in obs else None
        return Features(features, {}, None, self._attention_maps(pairs, lead), legal)

    def _nodes(self, grid: Tensor, position: Tensor, inventory: Tensor, goals: Tensor) -> _Nodes:
        """Nodes of K frames.

        Args:
            grid: [K, H, W, P] uint8, names in each cell.
            position: [K, 2] int64, row and column of the agent.
            inventory: [K, N] int64, names of held items.
            goals: [K] int64, row of the goal among the distinct goals.
        """
        width, names = grid.shape[2:]
        flat = grid.flatten(1).long()
        frames, places = self.kinds[flat].nonzero().unbind(1)
        count = torch.zeros(len(flat), dtype=torch.long, device=flat.device).index_add_(
            0, frames, torch.ones_like(frames)
        )
        most, first = int(count.max()), count.cumsum(0) - count
        index = frames, torch.arange(len(frames), device=flat.device) - first[frames]
        cells = places.div(names, rounding_mode="floor")
        offsets = torch.stack([cells.div(width, rounding_mode="floor"), cells % width], -1) - position[frames]
        clipped = offsets.clamp(-self.config.reach, self.config.reach)
        rows = ((clipped + self.config.reach) * clipped.new_tensor([self.side, 1])).sum(-1)
        constant = torch.cat([inventory, goals[:, None] + len(self.names)], 1)
        num_constant = constant.shape[1]
        things = torch.cat([flat.new_zeros(len(flat), most).index_put(index, flat[frames, places]), constant], 1)
        held = torch.arange(num_constant, device=flat.device).expand(len(flat), -1) + self.side**2
        table = torch.cat([flat.new_zeros(len(flat), most).index_put(index, rows), held], 1)
        beyond = self.beyond.new_zeros(len(flat), most + num_constant, 2).index_put(
            index, (offsets - clipped).to(self.beyond.dtype)
        )
        exists = torch.arange(most + num_constant, device=flat.device) < count[:, None]
        exists[:, most:] = True
        kinds = nn.functional.pad(self.kinds, (0, int(goals.max()) + 1))[things]
        return _Nodes(things, kinds, table, beyond, exists)

    def _first_states(self, nodes: _Nodes, things: Tensor, pairs: PairFeatures) -> Tensor:
        """h0 (eq. 7), [K, X, H] float32."""
        with_goal = self.with_goal(pairs.features)[pairs.of_frames[:, :, -1]]
        state = self.place[nodes.places] + nodes.beyond @ self.beyond + self.kind[nodes.kinds] + with_goal
        return (state if self.name is None else state + self.name(things)[nodes.things]).relu()

    def _heard(self, states: Tensor, pairs: PairFeatures, exists: Tensor) -> Tensor:
        """h1 (eq. 8) of states [K, X, H], [K, X, H] float32; padding says nothing."""
        said = self.of_pair(pairs.features)[pairs.of_frames]
        messages = (self.to_receiver(states)[:, :, None] + self.to_sender(states)[:, None] + said).relu()
        return (messages * exists[:, None, :, None]).sum(2) / 2

    def _walls(self, position: Tensor, size: torch.Size) -> Tensor:
        """Sum of the rows of the distances from the four walls, [K, F] float32."""
        last = position.new_tensor(size) - 2
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
