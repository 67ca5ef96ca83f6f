"""A network that reads: words, a reader of the texts, a stack over the grid, one output layer (RTFM, section 4.2).

It joins any reader of `readers.py` or `silg_reader.py` with any stack of `film2_stack.py`; txt2π, FiLM, CNN and SILG
are four choices. Agents share all weights and differ by what they see. Input keys: `grid`, `position`, `inventory`,
`document`, `goal` and, if the policy may only take legal moves, `legal`. It knows no world: the words of the names in
the grid are handed in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from rl_models.networks.film2_stack import ConvolutionStack, Film2Stack
from rl_models.networks.readers import DOCUMENT, GOAL, INVENTORY, Look, Reading, SummaryReader, Txt2PiReader
from rl_models.networks.silg_reader import SilgReader
from rl_models.networks.texts import Encoded, Shown, shown_texts
from rl_models.policy import Features, State

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
        reader: Txt2PiReader | SummaryReader | SilgReader,
        stack: Film2Stack | ConvolutionStack,
        features: int,
        activation: Activation,
    ) -> None:
        """Put the parts together.

        Args:
            sizes: of the world.
            words: embedding of all words.
            reader: of the texts.
            stack: over the grid.
            features: F of the output layer; 0: there is none, and features are what the stack leaves.
            activation: of the output layer.
        """
        super().__init__()
        self.num_agents = sizes.num_agents
        self.features = features or stack.features
        self.shows_attention = False
        self.words = words
        self.reader = reader
        self.stack = stack
        self.output = nn.Linear(stack.features, features) if features else nn.Identity()
        functions: dict[str, Callable[[Tensor], Tensor]] = {"tanh": torch.tanh, "relu": torch.relu}
        self._activation = functions[activation] if features else nn.Identity()
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
        pooled, found = self._look(obs, self.read(obs))
        extras = {name: value.unflatten(0, lead) for name, value in found.items()}
        legal = obs["legal"].bool() if "legal" in obs else None
        return Features(self._finished(pooled).unflatten(0, lead), {}, None, extras, legal)

    def read(self, obs: dict[str, Tensor]) -> Reading:
        """What the texts say to K = B T N frames."""
        document, goal = (shown_texts(obs, key, self.encode_text) for key in (DOCUMENT, GOAL))
        used, rows = obs["inventory"].flatten(0, 2).unique(return_inverse=True)
        inventories = Shown(self.encode_text(INVENTORY, self.names[used.long()]), rows.flatten())
        of_frames = inventories.of_frames("summary").view(*rows.shape, -1).flatten(1)
        reading: Reading = self.reader(document, goal, of_frames)
        return reading

    def cells(self, grid: Tensor, weights: Tensor | None = None) -> Tensor:
        """Bags of words: the sum of the words of all names in a cell.

        Args:
            grid: [K, H, W, P] uint8.
            weights: [K, H, W, P] float, how much each name counts; 1 if left out.

        Returns:
            [K, H, W, F].
        """
        bags = nn.functional.embedding(grid.long(), self.words(self.names).sum(1))
        return (bags if weights is None else bags * weights[..., None]).sum(-2)

    def _finished(self, pooled: Tensor) -> Tensor:
        """Through the output layer, [K, F]."""
        features: Tensor = self._activation(self.output(pooled))
        return features

    def _look(self, obs: dict[str, Tensor], reading: Reading) -> tuple[Tensor, dict[str, Tensor]]:
        """What the stack makes of K = B T N frames [K, F], and extras, name -> [K, ...]; some frames at a time."""
        grid = obs["grid"]
        size = _FRAMES_AT_ONCE if grid.device.type == "cpu" else grid[..., 0, 0, 0].numel()
        seen = {key: obs[key].flatten(0, 2).split(size) for key in self._seen_keys(obs)}
        parts = [
            self._look_at({key: value[part] for key, value in seen.items()}, fixed, look)
            for part, (fixed, look) in enumerate(reading.split(size))
        ]
        extras = {name: torch.cat([found[name] for _, found in parts]) for name in parts[0][1]}
        if self.shows_attention and reading.goal_attention is not None:
            extras["attention/goal"] = reading.goal_attention
        return torch.cat([pooled for pooled, _ in parts]), extras

    def _seen_keys(self, obs: dict[str, Tensor]) -> tuple[str, ...]:
        """What `_look_at` needs of the observations."""
        return "grid", "position"

    def _look_at(self, seen: dict[str, Tensor], fixed: Tensor, look: Look | None) -> tuple[Tensor, dict[str, Tensor]]:
        """Maximum of the last layer over the grid [K, F] and attention maps, for a part of the frames."""
        cells = self.cells(seen["grid"])
        pooled = self.stack(cells, offsets_to(seen["position"][:, 0], cells), fixed, look)[1]
        return pooled, self._maps(look)

    def _maps(self, look: Look | None) -> dict[str, Tensor]:
        """Attention of all looks so far, if it is shown."""
        return {"attention/grid": torch.stack(look.weights, 1)} if self.shows_attention and look is not None else {}


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
