"""SILG's shared model (Zhong et al., 2021) over lists of sprites and a manual, a baseline of EnDi.

No paper describes the input of this model in MESSENGER, so the input is our reading: that of its RTFM form. The grid is
built from the newest time step, and each sprite's symbol is a word of its own. The concatenated sentences of the manual
are the document. Each agent is a field of two words (whose it is, and which symbol it has) in place of goal and
inventories. Input keys are those of `emma.py`. Earlier time steps are not used.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from rl_models.networks.emma_body import EmmaSizes
from rl_models.networks.network_config import SilgConfig
from rl_models.networks.readers import DOCUMENT, GOAL, INVENTORY
from rl_models.networks.reading import ReadingSizes
from rl_models.networks.txt2pi import reading_network
from rl_models.policy import Features, State, Stateless
from rl_models.runtime.device import longest
from rl_models.text.words import Vocabulary

SELF, OTHER = 0, 1
_SIDES = 2


class SilgEntities(Stateless):
    """Turns sprites and sentences into features of every agent.

    Attributes:
        features: F, width of the features.
        shows_attention: whether the extras hold `attention/grid` [B, T, N, layers, L] over the words of the manual.
    """

    def __init__(
        self, config: SilgConfig, sizes: EmmaSizes, sentences: Sequence[str], training_sentences: Sequence[str]
    ) -> None:
        """Build the network; words of the training sentences are learned, of all D that can be shown."""
        super().__init__()
        vocabulary = Vocabulary.of(training_sentences)
        self._side, self._symbols = sizes.side, sizes.symbols
        self._first_agent = sizes.symbols - sizes.agent_symbols
        names = _names(sizes, len(vocabulary))
        self.reading = reading_network(config, ReadingSizes(sizes.num_agents, int(names.max()) + 1, names))
        self.num_agents, self.features = sizes.num_agents, self.reading.features
        self.tokens = nn.Buffer(vocabulary.tokens(sentences), persistent=False)

    @property
    def shows_attention(self) -> bool:
        """Whether the extras hold attention maps."""
        return self.reading.shows_attention

    @shows_attention.setter
    def shows_attention(self, value: bool) -> None:
        self.reading.shows_attention = value

    def forward(self, obs: dict[str, Tensor], state: State, is_first: Tensor) -> Features:
        """Features [B, T, N, F] float32 of every step, of observations name -> [B, T, N, ...]."""
        cells, symbols = (obs[f"agent_{name}"][..., -1, :].long() for name in ("cells", "symbols"))
        agents = self._agent_names(symbols)
        inputs = {
            "grid": self._grid(obs, cells, agents),
            "position": torch.stack([cells // self._side, cells % self._side], -1),
            DOCUMENT: self._document(obs["manual"].long()),
            GOAL: self.reading.names[agents[..., 0]],
            INVENTORY: agents[..., 1:],
        }
        features: Features = self.reading(inputs, state, is_first)
        return features

    def _agent_names(self, symbols: Tensor) -> Tensor:
        """Names of the agents, the agent itself first, [..., N] int64; 0 for dead agents."""
        side = torch.ones_like(symbols)
        side[..., 0] = SELF
        names = self._symbols + side * (self._symbols - self._first_agent) + symbols - self._first_agent
        return names * (symbols > 0)

    def _grid(self, obs: dict[str, Tensor], cells: Tensor, agents: Tensor) -> Tensor:
        """Names in every cell, [..., H, W, 1 + N]: one of an entity, then one of each agent."""
        entities, entity_cells = obs["symbols"][..., -1, :].long(), obs["cells"][..., -1, :].long()
        layers = [
            (entity_cells, entities),
            *((cells[..., agent : agent + 1], agents[..., agent : agent + 1]) for agent in range(self.num_agents)),
        ]
        empty = entities.new_zeros(*entities.shape[:-1], self._side**2)
        # A sprite that is gone is a 0 in cell 0, so a cell shows the highest number among its sprites.
        planes = [empty.scatter_reduce(-1, where, names, "amax") for where, names in layers]
        return torch.stack(planes, -1).unflatten(-2, (self._side, self._side))

    def _document(self, manual: Tensor) -> Tensor:
        """Words of the concatenated sentences: [..., n] -> [..., L], padded with 0."""
        words = self.tokens[manual].flatten(-2)
        order = (words == 0).to(torch.uint8).argsort(dim=-1, stable=True)
        joined = words.gather(-1, order)
        return joined[..., : max(1, longest((joined != 0).sum(-1), joined.shape[-1]))]


def _names(sizes: EmmaSizes, first_word: int) -> Tensor:
    """[K, 2] int64, words of every name: those of the symbols, then of the agent itself, then of others."""
    entities = torch.arange(sizes.symbols - sizes.agent_symbols)
    words = torch.where(entities > 0, first_word + entities - 1, 0)
    whose = first_word + len(entities) - 1
    states = whose + _SIDES + torch.arange(sizes.agent_symbols)
    agents = [torch.stack([torch.full_like(states, whose + side), states], -1) for side in (SELF, OTHER)]
    plain = torch.stack([words, torch.zeros_like(words)], -1)
    unused = plain.new_zeros(sizes.agent_symbols, 2)
    return torch.cat([plain, unused, *agents])
