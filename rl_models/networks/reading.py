"""A network that reads: words, a reader of the texts, a stack over the grid, one output layer (RTFM, section 4.2).

It joins any reader of `readers.py` with any stack of `film2_stack.py`; txt2π, FiLM and CNN are three choices. Agents
share all weights and differ by what they see. Input keys: `grid`, `position`, `inventory`, `document`, `goal` and, if
the policy may only take legal moves, `legal`. It knows no world: the words of the names in the grid are handed in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from rl_models.networks.features import Features, State
from rl_models.networks.film2_stack import ConvolutionStack, Film2Stack
from rl_models.networks.readers import DOCUMENT, GOAL, INVENTORY, Reading, SummaryReader, Txt2PiReader
from rl_models.networks.texts import Encoded, Shown, shown_texts

Activation = Literal["tanh", "relu"]

_FRAMES_AT_ONCE = 256
"""Frames that go through the layers together on a CPU: more of them leave its caches."""


@dataclass(frozen=True)
class Sizes:
    """What a world tells a reading network.

    Attributes:
        num_agents: N.
        vocabulary: V, number of words.
        names: [K, words of a name], word ids of every name that a cell can show, padded with 0.
    """

    num_agents: int
    vocabulary: int
    names: Tensor


class ReadingNetwork(nn.Module):
    """Texts and grid in, features of every agent out.

    Attributes:
        features: F.
        shows_attention: add attention maps to the extras, `attention/goal` [B, T, N, L] and `attention/grid`
            [B, T, N, layers, L], where the reader attends.
    """

    def __init__(
        self,
        sizes: Sizes,
        words: nn.Embedding,
        reader: Txt2PiReader | SummaryReader,
        stack: Film2Stack | ConvolutionStack,
        features: int,
        activation: Activation,
    ) -> None:
        super().__init__()
        self.num_agents = sizes.num_agents
        self.features = features
        self.shows_attention = False
        self.words = words
        self.reader = reader
        self.stack = stack
        self.output = nn.Linear(stack.features, features)
        self._activation: Callable[[Tensor], Tensor] = {"tanh": torch.tanh, "relu": torch.relu}[activation]
        self.names: Tensor
        self.register_buffer("names", sizes.names.long(), persistent=False)

    def initial_state(self, batch: int) -> State:
        """Nothing is remembered."""
        return {}

    def encode_text(self, key: str, tokens: Tensor) -> Encoded:
        """Encodings of D texts [D, L], name -> [D, ...]; whoever acts may keep them while the weights stay."""
        return self.reader.encode_text(key, tokens)

    def forward(self, obs: dict[str, Tensor], state: State, is_first: Tensor) -> Features:
        """Features of every step; `is_first` [B, T] and the state change nothing.

        Args:
            obs: `grid` [B, T, N, H, W, P] uint8, names in each cell; `position` [B, T, N, N, 2] uint8, row and column
                of the agents, oneself first; `inventory` [B, T, N, N] uint8, names; `document` and `goal` as
                `texts.py` describes; perhaps `legal` [B, T, N, A] bool.
            state: empty.
            is_first: an episode begins at this step.
        """
        lead = obs["grid"].shape[:3]
        reading = self.read(obs)
        pooled, maps = self._look(obs["grid"].flatten(0, 2), obs["position"].flatten(0, 2)[:, 0], reading)
        features = self._activation(self.output(pooled)).unflatten(0, lead)
        extras = {name: value.unflatten(0, lead) for name, value in maps.items()}
        legal = obs["legal"].bool() if "legal" in obs else None
        return Features(features, {}, None, extras, legal)

    def read(self, obs: dict[str, Tensor]) -> Reading:
        """What the texts say to K = B T N frames."""
        document, goal = (shown_texts(obs, key, self.encode_text) for key in (DOCUMENT, GOAL))
        used, rows = obs["inventory"].flatten(0, 2).unique(return_inverse=True)
        inventories = Shown(self.encode_text(INVENTORY, self.names[used.long()]), rows.flatten())
        of_frames = inventories.of_frames("summary").view(*rows.shape, -1).flatten(1)
        reading: Reading = self.reader(document, goal, of_frames)
        return reading

    def cells(self, grid: Tensor) -> Tensor:
        """Bags of words, [K, H, W, P] uint8 -> [K, H, W, F]: the sum of the words of all names in a cell."""
        bags = self.words(self.names).sum(1)
        return nn.functional.embedding(grid.long(), bags).sum(-2)

    def _look(self, grid: Tensor, position: Tensor, reading: Reading) -> tuple[Tensor, dict[str, Tensor]]:
        """Maximum of the last layer over the grid [K, F] and attention maps, some frames at a time."""
        size = _FRAMES_AT_ONCE if grid.device.type == "cpu" else len(grid)
        pooled, weights = [], []
        parts = zip(grid.split(size), position.split(size), reading.split(size), strict=True)
        for names, place, (fixed, look) in parts:
            cells = self.cells(names)
            pooled.append(self.stack(cells, offsets_to(place, cells), fixed, look)[1])
            if self.shows_attention and look is not None:
                weights.append(torch.stack(look.weights, 1))
        maps = {"attention/grid": torch.cat(weights)} if weights else {}
        if self.shows_attention and reading.goal_attention is not None:
            maps["attention/goal"] = reading.goal_attention
        return torch.cat(pooled), maps


def offsets_to(position: Tensor, cells: Tensor) -> Tensor:
    """Signed distances of all cells to a place: columns in widths of the grid, rows in heights (X_pos).

    Args:
        position: [K, 2], row and column.
        cells: [K, H, W, F].

    Returns:
        [K, H, W, 2] float32.
    """
    height, width = cells.shape[1:3]
    row, column = position.to(cells.dtype)[:, None, None].unbind(-1)
    across = (torch.arange(width, device=cells.device) - column) / width
    down = (torch.arange(height, device=cells.device)[:, None] - row) / height
    return torch.stack([across.expand(-1, height, -1), down.expand(-1, -1, width)], -1)
