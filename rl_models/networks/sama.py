"""Network of SAMA: a grid of symbols, read with the command of each agent (SAMA, section 3.3, appendix C).

As in EMMA (`networks/emma.py`), symbols are queries over texts. They attend to the sentences of the manual and to the
words of the command. The words include an empty word, for symbols that the command does not concern. Both results
depend on symbol and command alone, so they are computed as a table: once a batch in training, and while acting once for
all steps with the same weights. The value also reads the commands of the other agents (the shared critic of MAPPO); the
policy does not.

Input keys: `symbols` [B, T, N, layers, H, W] uint8, 0 for nothing; `commands` [B, T, N, N] uint8, commands by number,
the agent's own first; optionally `legal` [B, T, N, A] bool. The network is not recurrent, because the grid shows the
whole state.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from rl_models.layers.dense import dense
from rl_models.layers.grid_convolutions import leaky_convolutions
from rl_models.layers.initialisation import glorot_matrices_
from rl_models.layers.sentences import SentenceReader, score_table
from rl_models.layers.words import padding_scores
from rl_models.networks.network_config import SamaNetworkConfig
from rl_models.policy import Features, State, Stateless, legal_actions
from rl_models.runtime.fixed_weights import CachedByWeights
from rl_models.text.encoder import SentenceEncoder


@dataclass(frozen=True)
class SamaSizes:
    """Sizes of a world, from which the network is built.

    Attributes:
        num_agents: N.
        symbols: V, number of symbols that a cell can show; symbol 0 is nothing.
        height, width: size of the grid in cells.
        commands: C; the encoder's first C sentences are commands, the others are the manual.
    """

    num_agents: int
    symbols: int
    height: int
    width: int
    commands: int


class Sama(Stateless):
    """Grid and commands -> features of the policy and then of the value, for each agent with the same weights."""

    def __init__(self, config: SamaNetworkConfig, sizes: SamaSizes, encoder: SentenceEncoder) -> None:
        super().__init__()
        assert isinstance(encoder, nn.Module)
        width, hidden_size = config.features, config.hidden_size
        self.num_agents, self.features = sizes.num_agents, 2 * hidden_size
        self.encoder, self._commands = encoder, sizes.commands
        self.reader = SentenceReader(encoder.features, width)
        self.word_keys, self.word_values = (nn.Linear(encoder.features, width) for _ in range(2))
        self.symbols = nn.Embedding(sizes.symbols, width, padding_idx=0)
        self.places = nn.Parameter(torch.zeros(width, sizes.height, sizes.width))
        self.convolutions = leaky_convolutions(width, config.channels)
        flat = config.channels[-1] * (sizes.height - 2) * (sizes.width - 2)
        self.policy = dense((flat + width, hidden_size, hidden_size), nn.LeakyReLU)
        self.value = dense((flat + sizes.num_agents * width, hidden_size, hidden_size), nn.LeakyReLU)
        self.nothing_said = nn.Parameter(torch.zeros(width))
        self._tables: CachedByWeights[tuple[Tensor, Tensor]] = CachedByWeights()
        for name, part in self.named_children():
            if name != "encoder":
                glorot_matrices_(part)
        with torch.no_grad():
            self.symbols.weight[0] = 0

    def forward(self, obs: dict[str, Tensor], state: State, is_first: Tensor) -> Features:
        """Features [B, T, N, 2 * hidden_size] float32 of every step, of observations name -> [B, T, N, ...]."""
        commands = obs["commands"].flatten(0, 2).long()
        table, command_vectors = self._tables.get(self.parameters(), self.compute_tables)
        grid = self._encode_grid(table, obs["symbols"].flatten(0, 2).long(), commands[:, 0])
        commanded = nn.functional.embedding(commands, command_vectors)
        towers = (
            self.policy(torch.cat([grid, commanded[:, 0]], -1)),
            self.value(torch.cat([grid, commanded.flatten(1)], -1)),
        )
        return Features(torch.cat(towers, -1).unflatten(0, obs["commands"].shape[:3]), {}, legal=legal_actions(obs))

    def compute_tables(self) -> tuple[Tensor, Tensor]:
        """Vectors of every symbol under every command [C, V, d], and vectors of the commands [C, d]."""
        numbers = torch.arange(self.encoder.num_sentences, device=self.symbols.weight.device)
        states, lengths = self.encoder(numbers)
        read, count = self.reader(states, lengths), self._commands
        queries = nn.functional.embedding(
            torch.arange(self.symbols.num_embeddings, device=numbers.device), self.symbols.weight, padding_idx=0
        )
        by_manual = score_table(queries, read.keys[count:]).softmax(-1) @ read.values[count:]
        by_words = self._attend_to_words(queries, states[:count], lengths[:count])
        is_symbol = (torch.arange(len(queries), device=numbers.device) > 0)[:, None]
        return (queries + by_manual + by_words) * is_symbol, read.values[:count]

    def _attend_to_words(self, queries: Tensor, states: Tensor, lengths: Tensor) -> Tensor:
        """Attention of symbols [V, d] over the words [C, L, F] of commands with lengths [C] -> [C, V, d]."""
        keys, values = self.word_keys(states), self.word_values(states)
        scores = (queries @ keys.mT) / math.sqrt(queries.shape[-1]) + padding_scores(states, lengths)
        nothing = (queries @ self.nothing_said)[None, :, None].expand(len(states), -1, 1)
        # The last position is the empty word, whose value is 0.
        attention = torch.cat([scores, nothing], -1).softmax(-1)[..., :-1]
        read: Tensor = attention @ values
        return read

    def _encode_grid(self, table: Tensor, symbols: Tensor, commands: Tensor) -> Tensor:
        """Grids [K, layers, H, W] of K frames with their commands [K] -> [K, F]."""
        rows = commands[:, None, None, None] * table.shape[1] + symbols
        cells = nn.functional.embedding(rows, table.flatten(0, 1)).sum(1).movedim(-1, 1)
        features: Tensor = self.convolutions(cells + self.places)
        return features.flatten(1)
