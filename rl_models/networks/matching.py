"""Mention-matching reader: our own network, of no paper, that learns to read a document from reward alone.

Reading needs two comparisons of words: an observed thing with the words of the document, and the words beside this
mention with another thing. Both are built in (sections 1 to 3, equations 1 to 7, in `mentions.py`); their use is
learned.

4. Nodes. Every cell that shows an entity is a node, and so are every inventory and the goal g (`matching_states.py`). A
   node begins with its place, its kind, and what the document says of it and the goal. It does not see its name, unless
   an ablation wants it (`sees_names`, which adds W e_n):

       h0_n = relu(place_n + kind_n + G f(n, g))                                                         (8)

5. Messages (`matching_states.py`). Each node receives from all nodes, itself included, what the document says of both.
   One round suffices for two hops, the first through G, the second through C:

       h1_n = 1/2 sum over m of relu(A h0_n + B h0_m + C f(n, m))                                        (9)

6. Output. The sum over nodes, with the distances of the agent from the four edges of the grid:

       x = relu(V sum over n of relu(U [h0_n, h1_n]) + edges)                                           (10)

Nothing depends on the size of the grid, the number of things, or their order. Agents differ in their observations.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from rl_models.networks.matching_states import Nodes, NodeStates, make_nodes, received, table
from rl_models.networks.mentions import DOCUMENTS, SCORES, Mentions, PairFeatures, document_words
from rl_models.networks.network_config import MatchingOptions
from rl_models.networks.readers import DOCUMENT, GOAL
from rl_models.networks.reading import ReadingSizes
from rl_models.policy import Features, State, Stateless, legal_actions
from rl_models.runtime.device import distinct
from rl_models.runtime.texts import Encoded, EncodedTexts, encode_texts

CELLS = "attention/cells"
"""Extra with the place in the grid of each node whose attention is shown."""


@dataclass(frozen=True)
class MatchingSizes(ReadingSizes):
    """Sizes of a world, from which a matching reader is built.

    Attributes:
        kinds: [K] int, kind of each name; cells with names of kind 0 are no nodes (floor, walls, the agent itself).
        sentence_end: the word that ends a sentence of a document.
        most_shown: largest number of cells' nodes that an agent sees.
    """

    kinds: Tensor
    sentence_end: int
    most_shown: int


@dataclass(frozen=True)
class MatchingConfig(MatchingOptions):
    """Configuration of the mention-matching reader.

    Attributes:
        reach: number of cells up to which every offset from the agent has a row of its own.
        contrasts: whether the extras hold, while learning, what `losses/mention_contrast.py` needs.
    """

    reach: int = 3
    contrasts: bool = False


@dataclass(frozen=True)
class Frames:
    """Nodes that K frames show, with their features from the document.

    Attributes:
        nodes: X nodes of each frame.
        things: [Q, F] float32, vectors of all things.
        pairs: features of all pairs of nodes.
        states: [K, X, H] float32, h0.
        messages: [K, X, X, H] float32, messages from each node of a frame (first X) to each other (second X).
        edges: [K, F] float32, rows of the distances from the edges.
    """

    nodes: Nodes
    things: Tensor
    pairs: PairFeatures
    states: Tensor
    messages: Tensor
    edges: Tensor


class MatchingReader(Stateless, NodeStates):
    """Turns texts and a grid into features of every agent.

    Attributes:
        features: F, width of the features.
        shows_attention: whether the extras hold where things are mentioned: `attention/goal` [B, T, N, L] and
            `attention/grid` [B, T, N, X, L] float32, and where in the grid they stand, `attention/cells` [B, T, N, X]
            int64, as in `Nodes`.
    """

    def __init__(self, config: MatchingConfig, sizes: MatchingSizes) -> None:
        mentions = Mentions(config, sizes.vocabulary)
        kinds = int(sizes.kinds.max()) + 1
        super().__init__(config.node_features, mentions, sizes.num_agents, kinds, config.reach, config.sees_names)
        self.config, self.num_agents, self.features = config, sizes.num_agents, config.features
        self.shows_attention = False
        self.sentence_end, self._most_shown = sizes.sentence_end, sizes.most_shown
        self.names = nn.Buffer(sizes.names.long(), persistent=False)
        self.kinds = nn.Buffer(sizes.kinds.long(), persistent=False)
        self.mentions = mentions
        self.node_output = nn.Linear(2 * config.node_features, config.features)
        self.output = nn.Linear(config.features, config.features)
        self.edges = table(4 * (config.reach + 1), config.features)

    def encode_text(self, key: str, tokens: Tensor) -> Encoded:
        """Encodings of D texts: tokens [D, L] int -> name -> [D, ...]. They are valid until the weights change."""
        if key == DOCUMENT:
            return document_words(tokens, self.sentence_end)
        return {"vector": self.mentions.vectors(tokens)}

    def forward(self, obs: dict[str, Tensor], state: State, is_first: Tensor) -> Features:
        """Features [B, T, N, F] float32 of every step; inputs [B, T, N, ...] as for `ReadingNetwork.forward`."""
        lead = obs["grid"].shape[:3]
        document = encode_texts(obs, DOCUMENT, self.encode_text)
        frames = self._frames(obs, document)
        features, extras = self._outputs(obs, frames)
        extras |= self._attention_maps(frames)
        if self.config.contrasts and torch.is_grad_enabled():
            nodes = frames.nodes
            scores, rows = self.mentions.contrast(document, frames.things, nodes.things, nodes.exists)
            extras |= {SCORES: scores, DOCUMENTS: rows}
        extras = {name: value.unflatten(0, lead) for name, value in extras.items()}
        return Features(features.unflatten(0, lead), {}, None, extras, legal_actions(obs))

    def _frames(self, obs: dict[str, Tensor], document: EncodedTexts) -> Frames:
        """All frames of all agents, K of them."""
        goal = encode_texts(obs, GOAL, self.encode_text)
        goals, goal_rows = distinct(goal.rows, len(goal.encoded["vector"]))
        things = torch.cat([self.mentions.vectors(self.names), goal.encoded["vector"].index_select(0, goals)])
        position = obs["position"].flatten(0, 2)[:, 0].long()
        grid, inventory = obs["grid"].flatten(0, 2), obs["inventory"].flatten(0, 2).long()
        nodes = make_nodes(grid, position, inventory, goal_rows, len(goals), self.kinds, self.reach, self._most_shown)
        pairs = self.mentions(document, things, nodes.things)
        states = self.first_states(nodes, things, pairs)
        edges = self._edges(position, grid.shape[1:3])
        return Frames(nodes, things, pairs, states, self.messages(states, pairs), edges)

    def _outputs(self, obs: dict[str, Tensor], frames: Frames) -> tuple[Tensor, dict[str, Tensor]]:
        """Features [K, F] float32 of K frames, and extras, name -> [K, ...]."""
        return self._features(frames, frames.nodes.exists), {}

    def _features(self, frames: Frames, weights: Tensor) -> Tensor:
        """Features [K, F] float32 (eq. 10) of frames, from nodes with weights [K, X]; 0 for a node that is not seen."""
        both = torch.cat([frames.states, received(frames.messages, weights)], -1)
        summed = (self.node_output(both).relu() * weights[..., None]).sum(1)
        return (self.output(summed) + frames.edges).relu()

    def _edges(self, position: Tensor, size: torch.Size) -> Tensor:
        """Sum of the rows of the distances from the four edges, [K, F] float32."""
        last = torch.stack([torch.full_like(position[:, 0], side - 2) for side in size], 1)
        distances = torch.cat([position - 1, last - position], 1).clamp(0, self.reach)
        rows = distances + (self.reach + 1) * torch.arange(4, device=position.device)
        return self.edges[rows].sum(1)

    def _attention_maps(self, frames: Frames) -> dict[str, Tensor]:
        """Attention to the mentions of the goal and of the other nodes, name -> [K, ...]; empty unless it is shown."""
        if not self.shows_attention:
            return {}
        maps = frames.pairs.attention[frames.pairs.attention_of_frames]
        return {"attention/goal": maps[:, -1], "attention/grid": maps[:, :-1], CELLS: frames.nodes.cells[:, :-1]}
