"""Body of EMMA and of its Game-ID baseline: symbols, a convolution over time steps, two towers (EMMA, section 4).

A cell's feature is the mean of its entities, which count as one, and of all agents, which count whether they are in the
cell or not: (x + agent) / 2 for a single agent, in every cell. The agent itself and another agent have different rows
of the table; in the two-agent released code they share a row, so its agents cannot identify themselves. Only occupied
cells are computed.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from rl_models.layers.initialisation import glorot_matrices_
from rl_models.layers.sparse_convolution import SparseConvolution
from rl_models.networks.network_config import EmmaConfig
from rl_models.policy import Features, State, Stateless


@dataclass(frozen=True)
class EmmaSizes:
    """Sizes of a world, from which the network is built.

    Attributes:
        num_agents: N.
        symbols: V, number of symbols that a cell can show; symbol 0 is nothing.
        agent_symbols: number of agents' symbols; they are the last ones.
        side: cells along a side of the grid.
        moments: T, time steps in each observation; the released code has 3.
    """

    num_agents: int
    symbols: int
    agent_symbols: int
    side: int
    moments: int = 3


class EmmaBody(nn.Module):
    """Table of symbols, convolution and towers: the features of the policy and then those of the value."""

    def __init__(self, config: EmmaConfig, sizes: EmmaSizes, more_inputs: int = 0) -> None:
        """Build the layers; `more_inputs` is the width of further inputs of the towers, beside the grid."""
        super().__init__()
        self.features = 2 * config.hidden_size
        others = sizes.agent_symbols if sizes.num_agents > 1 else 0
        self.symbols = nn.Embedding(sizes.symbols + others, config.features, padding_idx=0)
        self.convolution = SparseConvolution(config.features, config.channels, sizes.side, sizes.moments)
        self.first = nn.Linear(self.convolution.positions * config.channels + more_inputs, self.features)
        towers = 1 if config.shares_hidden else 2
        self.second = nn.ModuleList(nn.Linear(config.hidden_size, config.hidden_size) for _ in range(towers))
        self._sizes = sizes
        # As in the released code: each tower's first layer separately, and 0 for the vector of symbol 0.
        with torch.no_grad():
            glorot_matrices_(self)
            self.symbols.weight[0] = 0
            for tower in self.first.weight.chunk(2):
                nn.init.xavier_uniform_(tower)

    def symbol_vectors(self) -> Tensor:
        """Vectors of all symbols, [V, d] float32. The vector of symbol 0 is 0 and gets no gradient."""
        weight = self.symbols.weight
        return nn.functional.embedding(torch.arange(len(weight), device=weight.device), weight, padding_idx=0)

    def agents(self, obs: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Shares in the convolution [K, T, N, window * C] float32 and cells [K, T, N] of the agents, itself first."""
        symbols, cells = obs["agent_symbols"].flatten(0, 2).long(), obs["agent_cells"].flatten(0, 2)
        is_other = (torch.arange(symbols.shape[-1], device=symbols.device) > 0) & (symbols > 0)
        return self.project_symbols(symbols + is_other * self._sizes.agent_symbols), cells

    def project_symbols(self, symbols: Tensor) -> Tensor:
        """Shares of symbols in the convolution: [K, T, S] int64 -> [K, T, S, window * C] float32."""
        shares = self.convolution.by_moment(self.convolution.project(self.symbol_vectors()))
        moments = shares.shape[1]
        moment = torch.arange(moments, device=symbols.device)[:, None]
        return nn.functional.embedding(symbols * moments + moment, shares.flatten(0, 1))

    def grid(self, entities: tuple[Tensor, Tensor], agents: tuple[Tensor, Tensor]) -> Tensor:
        """Result of the convolution of K frames, [K, positions * C] float32.

        Entities and agents are shares in the convolution, [K, T, S, window * C], and cells, [K, T, S].
        """
        shares, cells = (torch.cat([one, other], 2).flatten(1, 2) for one, other in zip(entities, agents, strict=True))
        output = self.convolution.lay_out(shares / (1 + self._sizes.num_agents), cells)
        return nn.functional.leaky_relu(output).flatten(1)

    def forward(
        self, entities: tuple[Tensor, Tensor], agents: tuple[Tensor, Tensor], more: Tensor | None = None
    ) -> Tensor:
        """Features of K frames, [K, 2 * hidden_size] float32; `more` [K, more_inputs] are inputs beside `grid`.

        Shares in the convolution and cells are those of the entities, [K, T, S, window * C] and [K, T, S], and of the
        agents, [K, T, N, window * C] and [K, T, N].
        """
        grid = self.grid(entities, agents)
        hidden = nn.functional.leaky_relu(self.first(grid if more is None else torch.cat([grid, more], -1)))
        towers = hidden.chunk(2, -1)
        outputs = [layer(tower) for layer, tower in zip((self.second[0], self.second[-1]), towers, strict=True)]
        return nn.functional.leaky_relu(torch.cat(outputs, -1))


class EntityNetwork(Stateless):
    """Base class of networks over lists of sprites. Agents share all weights and differ in their observations.

    Observations stack the last time steps, so the networks are not recurrent.

    Attributes:
        body: the layers above an entity's feature.
        features: F, width of the features.
        shows_attention: whether the extras hold attention maps, if the network attends.
    """

    def __init__(self, body: EmmaBody, num_agents: int) -> None:
        super().__init__()
        self.body = body
        self.num_agents, self.features = num_agents, body.features
        self.shows_attention = False

    def forward(self, obs: dict[str, Tensor], state: State, is_first: Tensor) -> Features:
        """Features [B, T, N, F] float32 of every step, of observations name -> [B, T, N, ...]."""
        features, extras = self._forward_frames(obs)
        lead = obs["symbols"].shape[:3]
        extras = {name: value.unflatten(0, lead) for name, value in extras.items()}
        return Features(features.unflatten(0, lead), {}, extras=extras)

    def _forward_frames(self, obs: dict[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        """Features [K, F] of K = B * T * N frames, and extras, name -> [K, ...]."""
        raise NotImplementedError
