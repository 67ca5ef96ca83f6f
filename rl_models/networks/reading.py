"""Reading network: embedding of words, reader of the texts, layers over the grid, output layer (RTFM, section 4.2).

It combines any reader of `readers.py` with any stack of `film2_stack.py`; txt2π, FiLM, CNN and SILG
are four combinations. Agents share all weights and differ in their observations. Input keys: `grid`, `position`,
`inventory`, `document`, `goal` and, if the policy may only take legal moves, `legal`. The network is independent of the
environment: the words of the names in the grid are an argument.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from rl_models.layers.words import padding_scores
from rl_models.networks.film2_stack import Film2Stack, GridStack
from rl_models.networks.mentions import DOCUMENTS, MAX_CONTRASTED, SCORES
from rl_models.networks.network_config import Activation
from rl_models.networks.readers import DOCUMENT, GOAL, INVENTORY, DocumentAttention, DocumentReader, TextFeatures
from rl_models.policy import Features, State, Stateless, legal_actions
from rl_models.runtime.added_observations import NOISE
from rl_models.runtime.device import distinct
from rl_models.runtime.texts import Encoded, EncodedTexts, encode_texts

_FRAMES_AT_ONCE = 256
"""Frames in one chunk on a CPU; with more of them the layers do not fit into the caches."""


@dataclass(frozen=True)
class ReadingSizes:
    """Sizes of a world, from which a reading network is built.

    Attributes:
        num_agents: N.
        vocabulary: V, number of words.
        names: [K, L] int, word ids of each of K names that a cell can show, padded with 0.
        make_states: builds the states of words by a frozen encoder; None where words are learned.
    """

    num_agents: int
    vocabulary: int
    names: Tensor
    make_states: Callable[[], nn.Module] | None = field(default=None, kw_only=True)

    def make_words(self, features: int) -> nn.Module:
        """Module from word ids [D, L] to vectors [D, L, features] with an attribute `embedding_dim`, the width."""
        if self.make_states is None:
            return nn.Embedding(self.vocabulary, features, padding_idx=0)
        return ProjectedStates(self.make_states(), features)


class ProjectedStates(nn.Module):
    """Frozen states of words, projected to the width of a learned word, `embedding_dim`."""

    def __init__(self, states: nn.Module, features: int) -> None:
        super().__init__()
        self.states, self.embedding_dim = states, features
        self.projection = nn.Linear(int(getattr(states, "features")), features, bias=False)  # noqa: B009

    def forward(self, tokens: Tensor) -> Tensor:
        """Word ids [D, L] int -> vectors [D, L, F] float32, 0 on padding."""
        projected: Tensor = self.projection(self.states(tokens))
        return projected


class ReadingNetwork(Stateless):
    """Turns texts and a grid into features of every agent.

    Attributes:
        features: F, width of the features.
        shows_attention: whether the extras hold the attention of the reader, `attention/goal` [B, T, N, L] and
            `attention/grid` [B, T, N, layers, L] float32.
    """

    def __init__(
        self,
        sizes: ReadingSizes,
        words: nn.Module,
        reader: DocumentReader,
        stack: GridStack,
        features: int,
        activation: Activation,
        contrasts: bool = False,
    ) -> None:
        """Build the output layer and store the parts.

        `words` are those of `ReadingSizes.make_words`. With `features` 0 there is no output layer, and the features are
        those of the stack. `contrasts`: the extras hold, while learning, how well the names in the grid fit the
        documents.
        """
        super().__init__()
        self.contrasts = contrasts
        self.num_agents = sizes.num_agents
        self.features = features or stack.features
        self.shows_attention = False
        self.words = words
        self.reader = reader
        self.stack = stack
        self.output = nn.Linear(stack.features, features) if features else nn.Identity()
        functions: dict[str, Callable[[Tensor], Tensor]] = {"tanh": torch.tanh, "relu": torch.relu}
        self.activation = functions[activation] if features else nn.Identity()
        self.names = nn.Buffer(sizes.names.long(), persistent=False)

    def encode_text(self, key: str, tokens: Tensor) -> Encoded:
        """Encodings of D texts: tokens [D, L] int -> name -> [D, ...]. They are valid until the weights change."""
        return self.reader.encode_text(key, tokens)

    def forward(self, obs: dict[str, Tensor], state: State, is_first: Tensor) -> Features:
        """Features [B, T, N, F] float32 of every step.

        Inputs: `grid` [B, T, N, H, W, P] uint8, names in each cell; `position` [B, T, N, N, 2] uint8, row and column of
        the agents, the agent itself first; `inventory` [B, T, N, N] uint8, names; `document` and `goal` as `texts.py`
        describes; optionally `legal` [B, T, N, A] bool.
        """
        lead = obs["grid"].shape[:3]
        texts = self.read(obs)
        pooled, found = self._run_stack(obs, texts)
        if self.contrasts and torch.is_grad_enabled():
            found |= self._contrast(obs["grid"].flatten(0, 2), texts.document)
        extras = {name: value.unflatten(0, lead) for name, value in found.items()}
        return Features(self._output_features(pooled).unflatten(0, lead), {}, None, extras, legal_actions(obs))

    def read(self, obs: dict[str, Tensor]) -> TextFeatures:
        """Text features of K = B * T * N frames, from the texts in `obs`, name -> [B, T, N, ...]."""
        document, goal = (encode_texts(obs, key, self.encode_text) for key in (DOCUMENT, GOAL))
        used, rows = distinct(obs["inventory"].flatten(0, 2), len(self.names))
        inventories = EncodedTexts(self.encode_text(INVENTORY, self.names[used.long()]), rows.flatten())
        summaries = inventories.of_frames("summary").view(*rows.shape, -1).flatten(1)
        features: TextFeatures = self.reader(document, goal, summaries)
        return features

    def cells(self, grid: Tensor, weights: Tensor | None = None) -> Tensor:
        """Bags of words of all cells, [K, H, W, F] float32: the sum of the words of names [K, H, W, P] uint8.

        `weights` [K, H, W, P] float32 are those of the names; None is weight 1.
        """
        bags = nn.functional.embedding(grid.long(), self.words(self.names).sum(1))
        return (bags if weights is None else bags * weights[..., None]).sum(-2)

    def _output_features(self, pooled: Tensor) -> Tensor:
        """Features [K, F] of the output layer."""
        features: Tensor = self.activation(self.output(pooled))
        return features

    def _run_stack(self, obs: dict[str, Tensor], texts: TextFeatures) -> tuple[Tensor, dict[str, Tensor]]:
        """Pooled features [K, F] of K = B * T * N frames, and extras, name -> [K, ...]; computed in chunks."""
        grid = obs["grid"]
        size = _FRAMES_AT_ONCE if grid.device.type == "cpu" else grid[..., 0, 0, 0].numel()
        visual = {key: obs[key].flatten(0, 2).split(size) for key in ("grid", "position", NOISE) if key in obs}
        chunks = [
            self._run_chunk({key: value[chunk] for key, value in visual.items()}, fixed, attend)
            for chunk, (fixed, attend) in enumerate(texts.split(size))
        ]
        extras = {name: torch.cat([found[name] for _, found in chunks]) for name in chunks[0][1]}
        if self.shows_attention and texts.goal_attention is not None:
            extras["attention/goal"] = texts.goal_attention
        return torch.cat([pooled for pooled, _ in chunks]), extras

    def _run_chunk(
        self, visual: dict[str, Tensor], fixed: Tensor, attend: DocumentAttention | None
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Maximum of the last layer over the grid [K, F] and extras, name -> [K, ...], of one chunk of frames."""
        cells = self.cells(visual["grid"])
        pooled = self.stack(cells, offsets_to(visual["position"][:, 0], cells), fixed, attend)[1]
        return pooled, self._attention_maps(attend)

    def _contrast(self, grid: Tensor, document: EncodedTexts | None) -> dict[str, Tensor]:
        """Scores [K, U] of frames and documents: sum over names of logsumexp over words of query . state."""
        assert document is not None and isinstance(self.stack, Film2Stack)
        used, rows = document.rows.unique(return_inverse=True)
        states, lengths = (
            document.encoded[name].index_select(0, used[:MAX_CONTRASTED]) for name in ("visual_states", "lengths")
        )
        queries = self.stack.first_query(self.words(self.names).sum(1))
        best = (queries @ states[..., : queries.shape[1]].mT + padding_scores(states, lengths)).logsumexp(-1)
        scores = nn.functional.embedding(grid.long().flatten(1), best.T.contiguous()).sum(1)
        return {SCORES: scores, DOCUMENTS: rows.clamp(max=len(states))}

    def _attention_maps(self, attend: DocumentAttention | None) -> dict[str, Tensor]:
        """Attention weights of all calls of `attend` so far, if the network shows attention."""
        if not self.shows_attention or attend is None:
            return {}
        return {"attention/grid": torch.stack(attend.weights, 1)}


def offsets_to(position: Tensor, cells: Tensor) -> Tensor:
    """Offsets of all cells from a row and column [K, 2] (X_pos), [K, H, W, 2] float32: in grid widths and heights.

    Of the cells [K, H, W, F] only shape, type and device matter.
    """
    height, width = cells.shape[1:3]
    row, column = position.to(cells.dtype)[:, None, None].unbind(-1)
    across = (torch.arange(width, device=cells.device) - column) / width
    down = (torch.arange(height, device=cells.device)[:, None] - row) / height
    return torch.stack([across.expand(-1, height, -1), down.expand(-1, -1, width)], -1)
