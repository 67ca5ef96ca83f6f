"""What QMIX sees: a vector as it is, or one of RTFM's rooms as symbols without its document.

An encoder of observations gives every agent a vector; an encoder of states gives the mixing network one, which is free
to hold what no agent knows, because only learning needs it. No encoder here knows a world: the words of names are
handed in.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from rl_models.networks.reading import Sizes
from rl_models.networks.texts import Encoded, shown_texts

GOAL = "goal"


class VectorEncoder(nn.Module):
    """An observation that is a vector already.

    Attributes:
        features: its width.
    """

    def __init__(self, key: str, features: int) -> None:
        super().__init__()
        self.key, self.features = key, features

    def forward(self, obs: dict[str, Tensor]) -> Tensor:
        """[B, T, N, F] float32."""
        return obs[self.key].float()


class VectorState(nn.Module):
    """What all agents see, side by side, as the global state.

    Attributes:
        features: N times the width of one agent's observation.
    """

    def __init__(self, key: str, features: int, num_agents: int) -> None:
        super().__init__()
        self.key, self.features = key, num_agents * features

    def forward(self, obs: dict[str, Tensor]) -> Tensor:
        """[B, T, S] float32."""
        return obs[self.key].float().flatten(2)


@dataclass(frozen=True)
class RoomConfig:
    """How rooms are seen."""

    word_features: int = 16
    """Of the vector of each word."""
    cell_features: tuple[int, int] = (64, 64)
    """Of the two layers that every cell goes through."""
    state_features: int = 64
    """Of the global state; hypernetworks on all symbols of all cells would begin with a mixture far too steep."""
    sees_goal: bool = True
    """The goal's team is told, as the sum of the goal's words: no more than a symbol where goals have one form."""


class Symbols(nn.Module):
    """Learned vectors of words, and sums of them for names and the goal: no order, no sentence, no document."""

    def __init__(self, config: RoomConfig, sizes: Sizes) -> None:
        """Build the table.

        Args:
            config: widths.
            sizes: of the world.
        """
        super().__init__()
        self.words = nn.Embedding(sizes.vocabulary, config.word_features, padding_idx=0)
        self.features = config.word_features * (sizes.num_agents + config.sees_goal)
        self._sees_goal = config.sees_goal
        self.names: Tensor
        self.register_buffer("names", sizes.names.long(), persistent=False)

    def of_names(self, numbers: Tensor) -> Tensor:
        """Names [...] uint8 -> [..., F]."""
        return nn.functional.embedding(numbers.long(), self.words(self.names).sum(1))

    def carried(self, obs: dict[str, Tensor]) -> Tensor:
        """What stands in no cell, inventories and the goal, for K = B T N frames: [K, features]."""
        told = self.of_names(obs["inventory"].flatten(0, 2)).flatten(1)
        return torch.cat([told, self._goal(obs)], -1) if self._sees_goal else told

    def _goal(self, obs: dict[str, Tensor]) -> Tensor:
        """The goal's symbol, [K, F]."""
        if obs[GOAL].ndim == 4:  # tokens, as a replay has them: adding them up is cheaper than finding equal ones
            return self._of_text(GOAL, obs[GOAL].flatten(0, 2))["symbol"]
        return shown_texts(obs, GOAL, self._of_text).of_frames("symbol")

    def _of_text(self, key: str, tokens: Tensor) -> Encoded:
        return {"symbol": self.words(tokens.long()).sum(-2)}


class RoomEncoder(nn.Module):
    """A room as one agent sees it: each cell with its offset to the agent through two layers, then their maximum.

    A cell needs no neighbours, for where it is says all about them; so no convolution is paid for. Rows and columns
    have learned vectors: whether a monster is one step or two away must make a difference from the start.

    Attributes:
        features: of what is left of all cells.
    """

    def __init__(self, config: RoomConfig, sizes: Sizes, side: int) -> None:
        """Build the layers.

        Args:
            config: widths.
            sizes: of the world.
            side: of the training room in cells; what is further away in larger ones counts as that far.
        """
        super().__init__()
        hidden, self.features = config.cell_features
        self.symbols = Symbols(config, sizes)
        self.cells = nn.Linear(config.word_features, hidden)
        self.carried = nn.Linear(self.symbols.features, hidden, bias=False)
        self.rows, self.columns = (nn.Embedding(2 * side + 1, hidden) for _ in range(2))
        self.output = nn.Linear(hidden, self.features)
        self._side = side

    def forward(self, obs: dict[str, Tensor]) -> Tensor:
        """`grid` [B, T, N, H, W, P], `position` [B, T, N, N, 2], `inventory` [B, T, N, N], `goal` -> [B, T, N, F]."""
        lead, grid = obs["grid"].shape[:3], obs["grid"].flatten(0, 2)
        row, column = obs["position"].flatten(0, 2)[:, 0].long().unbind(-1)
        rows, columns = self.rows(self._offsets(row, grid.shape[1])), self.columns(self._offsets(column, grid.shape[2]))
        around = self.carried(self.symbols.carried(obs))[:, None, None] + rows[:, :, None] + columns[:, None]
        hidden = torch.relu(self.cells(self.symbols.of_names(grid).sum(-2)) + around)
        return torch.relu(self.output(hidden)).amax((1, 2)).unflatten(0, lead)

    def _offsets(self, place: Tensor, length: int) -> Tensor:
        """Numbers of the vectors of all rows (or columns) around an agent's: [K] -> [K, length]."""
        steps = torch.arange(length, device=place.device) - place[:, None]
        return steps.clamp(-self._side, self._side) + self._side


class RoomState(nn.Module):
    """The whole room as the first agent sees it, which is all there is, through one layer: the global state.

    Attributes:
        features: of the state.
    """

    def __init__(self, config: RoomConfig, sizes: Sizes, cells: int) -> None:
        """Build the layer.

        Args:
            config: widths.
            sizes: of the world.
            cells: H W; a mixing network belongs to rooms of one size, agents do not.
        """
        super().__init__()
        self.symbols = Symbols(config, sizes)
        self.features = config.state_features
        self.output = nn.Linear(cells * config.word_features + self.symbols.features, self.features)

    def forward(self, obs: dict[str, Tensor]) -> Tensor:
        """As `RoomEncoder`, [B, T, S]."""
        first = {key: obs[key][:, :, :1] for key in ("grid", "inventory", GOAL) if key in obs}
        first |= {key: value for key, value in obs.items() if key.startswith("texts/")}
        lead = first["grid"].shape[:2]
        cells = self.symbols.of_names(first["grid"].flatten(0, 2)).sum(-2).flatten(1)
        return torch.relu(self.output(torch.cat([cells, self.symbols.carried(first)], -1))).unflatten(0, lead)
