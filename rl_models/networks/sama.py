"""SAMA's policy: a grid of symbols read in the light of what each agent is told to do (SAMA, section 3.3, appendix C).

As in EMMA (`networks/emma.py`), symbols are queries that look for what is said about them, and become it. Here they ask
twice: the manual's sentences, and the words of the sub-goal, of which one says nothing, for cells that a sub-goal does
not concern. Both answers depend on symbol and sub-goal alone, so they are worked out as a table: once a batch, and
while acting once for all steps with the same weights. The value looks at what the others are told, too (the shared
critic of MAPPO); the policy does not.

Input keys: `symbols` [B, T, N, layers, H, W] uint8, 0 for nothing; `told` [B, T, N, N] uint8, sentences by number,
one's own first; perhaps `legal` [B, T, N, A] bool. There is no memory: the grid shows all that the future depends on.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from rl_models.layers.attention import padding_of
from rl_models.layers.initialisation import glorot_matrices_
from rl_models.layers.manual_attention import score_table
from rl_models.layers.sentence_reader import SentenceReader
from rl_models.networks.fixed_weights import OncePerWeights
from rl_models.policy import Features, State
from rl_models.text.encoder import SentenceEncoder


@dataclass(frozen=True)
class SamaNetworkConfig:
    """Widths; the paper gives EMMA's without the grid's."""

    features: int = 32
    """Width d of symbols, keys and values."""
    convolutions: tuple[int, ...] = (32, 32)
    """Number of channels of each convolution; all kernels are 3 x 3, and the last one has no padding."""
    hidden: int = 64
    """Width of both hidden layers of policy and value."""


@dataclass(frozen=True)
class SamaSizes:
    """What a world tells the network.

    Attributes:
        num_agents: N.
        symbols: V, numbers that a cell can show, 0 for nothing.
        height, width: of the grid.
        commands: C, how many of the encoder's sentences, the first ones, can be told; the others are the manual.
    """

    num_agents: int
    symbols: int
    height: int
    width: int
    commands: int


class Sama(nn.Module):
    """Grid and sub-goal -> features, for each agent with the same weights.

    Attributes:
        features: 2 x hidden, those of the policy and then those of the value.
    """

    def __init__(self, config: SamaNetworkConfig, sizes: SamaSizes, encoder: SentenceEncoder) -> None:
        super().__init__()
        assert isinstance(encoder, nn.Module)
        width, hidden = config.features, config.hidden
        self.num_agents, self.features = sizes.num_agents, 2 * hidden
        self.encoder, self._commands = encoder, sizes.commands
        self.reader = SentenceReader(encoder.features, width)
        self.word_keys, self.word_values = (nn.Linear(encoder.features, width) for _ in range(2))
        self.symbols = nn.Embedding(sizes.symbols, width, padding_idx=0)
        self.places = nn.Parameter(torch.zeros(width, sizes.height, sizes.width))
        self.convolutions = nn.Sequential(*_convolutions(width, config.convolutions))
        flat = config.convolutions[-1] * (sizes.height - 2) * (sizes.width - 2)
        self.policy = _tower(flat + width, hidden)
        self.value = _tower(flat + sizes.num_agents * width, hidden)
        self.nothing_said = nn.Parameter(torch.zeros(width))
        self._reading: OncePerWeights[tuple[Tensor, Tensor]] = OncePerWeights()
        for name, part in self.named_children():
            if name != "encoder":
                glorot_matrices_(part)
        with torch.no_grad():
            self.symbols.weight[0] = 0

    def initial_state(self, batch: int) -> State:
        """There is none."""
        return {}

    def forward(self, obs: dict[str, Tensor], state: State, is_first: Tensor) -> Features:
        """Features of every step [B, T, N, 2 hidden]; `is_first` [B, T] and the state change nothing."""
        told = obs["told"].flatten(0, 2).long()
        table, summaries = self._reading.get(self.parameters(), self._read)
        grid = self._see(table, obs["symbols"].flatten(0, 2).long(), told[:, 0])
        of_all = nn.functional.embedding(told, summaries)
        towers = (
            self.policy(torch.cat([grid, of_all[:, 0]], -1)),
            self.value(torch.cat([grid, of_all.flatten(1)], -1)),
        )
        return Features(torch.cat(towers, -1).unflatten(0, obs["told"].shape[:3]), {}, legal=obs.get("legal"))

    def _read(self) -> tuple[Tensor, Tensor]:
        """What every symbol becomes under every command [C, V, d], and the commands' own vectors [C, d]."""
        numbers = torch.arange(self.encoder.num_sentences, device=self.symbols.weight.device)
        states, lengths = self.encoder(numbers)
        read, count = self.reader(states, lengths), self._commands
        queries = nn.functional.embedding(
            torch.arange(self.symbols.num_embeddings, device=numbers.device), self.symbols.weight, padding_idx=0
        )
        by_manual = score_table(queries, read.keys[count:]).softmax(-1) @ read.values[count:]
        by_words = self._ask_words(queries, states[:count], lengths[:count])
        is_there = (torch.arange(len(queries), device=numbers.device) > 0)[:, None]
        return (queries + by_manual + by_words) * is_there, read.values[:count]

    def _ask_words(self, queries: Tensor, states: Tensor, lengths: Tensor) -> Tensor:
        """Symbols [V, d] over the words of each command, [C, L, F] with lengths [C] -> [C, V, d]."""
        keys, values = self.word_keys(states), self.word_values(states)
        scores = (queries @ keys.mT) / math.sqrt(queries.shape[-1]) + padding_of(states, lengths)
        nothing = (queries @ self.nothing_said)[None, :, None].expand(len(states), -1, 1)
        # The last place is that of nothing said, whose value is 0.
        attention = torch.cat([scores, nothing], -1).softmax(-1)[..., :-1]
        read: Tensor = attention @ values
        return read

    def _see(self, table: Tensor, symbols: Tensor, told: Tensor) -> Tensor:
        """Grids of K frames [K, layers, H, W] under their commands [K] -> [K, flat]."""
        rows = told[:, None, None, None] * table.shape[1] + symbols
        cells = nn.functional.embedding(rows, table.flatten(0, 1)).sum(1).movedim(-1, 1)
        seen: Tensor = self.convolutions(cells + self.places)
        return seen.flatten(1)


def _convolutions(channels: int, widths: tuple[int, ...]) -> Iterator[nn.Module]:
    for number, width in enumerate(widths, start=1):
        yield nn.Conv2d(channels, width, 3, padding=int(number < len(widths)))
        yield nn.LeakyReLU()
        channels = width


def _tower(inputs: int, hidden: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, hidden), nn.LeakyReLU(), nn.Linear(hidden, hidden), nn.LeakyReLU())
