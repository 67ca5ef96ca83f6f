"""Encoders of QMIX: observations and global states that are vectors, or grids of named things without a document.

An encoder of observations returns a vector for each agent. An encoder of states returns one vector for the mixing
network; it may hold information that no agent has, because only learning uses it. Encoders are independent of the
environment: the words of the names are an argument.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from rl_models.networks.reading import ReadingSizes
from rl_models.runtime.texts import Encoded, encode_texts

GOAL = "goal"


class VectorEncoder(nn.Module):
    """Encoder of an observation that is a vector, or an array that is flattened; it returns the observation."""

    def __init__(self, key: str, features: int) -> None:
        super().__init__()
        self.key, self.features = key, features

    def forward(self, obs: dict[str, Tensor]) -> Tensor:
        """The observation under `key` [B, T, N, ...], as [B, T, N, F] float32."""
        return obs[self.key].float().flatten(3)


class FirstAgentState(VectorEncoder):
    """Global state that is the first agent's observation, for worlds in which each agent sees everything."""

    def forward(self, obs: dict[str, Tensor]) -> Tensor:
        """The observation under `key` [B, T, N, ...], as [B, T, S] float32."""
        return obs[self.key][:, :, 0].float().flatten(2)


@dataclass(frozen=True)
class GridSymbolsConfig:
    """Widths and options of the encoders of grids."""

    word_features: int = 16
    """Width of a word's vector."""
    cell_features: tuple[int, int] = (64, 64)
    """Widths of the two layers for cells."""
    state_features: int = 64
    """Width of the global state. Hypernetworks on the symbols of all cells would start with far too large weights."""
    sees_goal: bool = True
    """Whether the encoder gets the goal, as the sum of its words. If all goals have one form, this is one symbol."""


class Symbols(nn.Module):
    """Learned vectors of words, and their sums for names and the goal, without the order of words."""

    def __init__(self, config: GridSymbolsConfig, sizes: ReadingSizes) -> None:
        super().__init__()
        self.words = nn.Embedding(sizes.vocabulary, config.word_features, padding_idx=0)
        self.features = config.word_features * (sizes.num_agents + config.sees_goal)
        self._sees_goal = config.sees_goal
        self.names = nn.Buffer(sizes.names.long(), persistent=False)

    def embed_names(self, numbers: Tensor) -> Tensor:
        """Vectors of names: [...] uint8 -> [..., F] float32."""
        return nn.functional.embedding(numbers.long(), self.words(self.names).sum(1))

    def carried(self, obs: dict[str, Tensor]) -> Tensor:
        """Inventories [B, T, N, N] uint8 of K = B * T * N frames, and the goal if it is seen, [K, features] float32."""
        inventories = self.embed_names(obs["inventory"].flatten(0, 2)).flatten(1)
        return torch.cat([inventories, self._goal(obs)], -1) if self._sees_goal else inventories

    def _goal(self, obs: dict[str, Tensor]) -> Tensor:
        """The sum of the goal's words, [K, F]."""
        if obs[GOAL].ndim == 4:  # tokens, as in a replay buffer; adding them up costs less than finding equal goals
            return self._embed_text(GOAL, obs[GOAL].flatten(0, 2))["symbol"]
        return encode_texts(obs, GOAL, self._embed_text).of_frames("symbol")

    def _embed_text(self, key: str, tokens: Tensor) -> Encoded:
        return {"symbol": self.words(tokens.long()).sum(-2)}


class GridSymbolsEncoder(nn.Module):
    """Encoder of a grid for one agent: two layers for each cell with its offset to the agent, then the maximum.

    The offset says where a cell is, so there is no convolution over its neighbours. Rows and columns have learned
    vectors, so one step and two steps of distance differ from the start of training.
    """

    def __init__(self, config: GridSymbolsConfig, sizes: ReadingSizes, side: int) -> None:
        """Build the layers; offsets beyond the side of the training grid count as this side."""
        super().__init__()
        hidden, self.features = config.cell_features
        self.symbols = Symbols(config, sizes)
        self.cells = nn.Linear(config.word_features, hidden)
        self.carried = nn.Linear(self.symbols.features, hidden, bias=False)
        self.rows, self.columns = (nn.Embedding(2 * side + 1, hidden) for _ in range(2))
        self.output = nn.Linear(hidden, self.features)
        self._side = side

    def forward(self, obs: dict[str, Tensor]) -> Tensor:
        """Encoded grids [B, T, N, F] float32 of the inputs [B, T, N, ...] of `ReadingNetwork` without a document."""
        lead, grid = obs["grid"].shape[:3], obs["grid"].flatten(0, 2)
        row, column = obs["position"].flatten(0, 2)[:, 0].long().unbind(-1)
        rows, columns = self.rows(self._offsets(row, grid.shape[1])), self.columns(self._offsets(column, grid.shape[2]))
        around = self.carried(self.symbols.carried(obs))[:, None, None] + rows[:, :, None] + columns[:, None]
        hidden = torch.relu(self.cells(self.symbols.embed_names(grid).sum(-2)) + around)
        return torch.relu(self.output(hidden)).amax((1, 2)).unflatten(0, lead)

    def _offsets(self, position: Tensor, length: int) -> Tensor:
        """Indices of the vectors of all rows (or columns) relative to the agent's: [K] -> [K, length]."""
        steps = torch.arange(length, device=position.device) - position[:, None]
        return steps.clamp(-self._side, self._side) + self._side


class GridSymbolsState(nn.Module):
    """Global state of a grid: one layer over all that the first agent observes, which is the whole grid."""

    def __init__(self, config: GridSymbolsConfig, sizes: ReadingSizes, cells: int) -> None:
        """Build the layer for grids of H * W cells; agents work in grids of any size, a mixing network does not."""
        super().__init__()
        self.symbols = Symbols(config, sizes)
        self.features = config.state_features
        self.output = nn.Linear(cells * config.word_features + self.symbols.features, self.features)

    def forward(self, obs: dict[str, Tensor]) -> Tensor:
        """Global states, [B, T, S] float32, from the observations of `GridSymbolsEncoder`, name -> [B, T, N, ...]."""
        first = {key: obs[key][:, :, :1] for key in ("grid", "inventory", GOAL) if key in obs}
        first |= {key: value for key, value in obs.items() if key.startswith("texts/")}
        lead = first["grid"].shape[:2]
        cells = self.symbols.embed_names(first["grid"].flatten(0, 2)).sum(-2).flatten(1)
        return torch.relu(self.output(torch.cat([cells, self.symbols.carried(first)], -1))).unflatten(0, lead)
