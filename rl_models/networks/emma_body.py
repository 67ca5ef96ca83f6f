"""What EMMA and its Game-ID baseline share: symbols, a convolution over three moments, two towers (EMMA, section 4).

A cell's feature is the mean over what it holds of entities, as one, and of each avatar, counted whether it is there or
not: (x + avatar) / 2 for a single agent, everywhere. One's own avatar and another's have rows of their own; the
two-agent release gives them the same, so that its agents cannot tell themselves apart. Only occupied cells are
computed. This file must not know where an entity's feature comes from.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from rl_models.layers.initialisation import glorot_matrices_
from rl_models.layers.sparse_convolution import SparseConvolution
from rl_models.policy import Features, State


@dataclass(frozen=True)
class EmmaSizes:
    """What a world tells the network.

    Attributes:
        num_agents: N.
        symbols: V, numbers that a cell can show, 0 for nothing.
        avatar_symbols: how many of them, the last ones, are avatars'.
        side: cells along a side of the grid.
        moments: T of each observation; the released code has 3.
    """

    num_agents: int
    symbols: int
    avatar_symbols: int
    side: int
    moments: int = 3


@dataclass(frozen=True)
class EmmaConfig:
    """Widths and options. The defaults are the paper's, but for what its text leaves open."""

    features: int = 256
    """Width d of keys, values and symbols."""
    maps: int = 64
    """Number of output channels of the convolution, whose kernel is 2 x 2."""
    hidden: int = 128
    """Width of both hidden layers of policy and value."""
    averages_sentences: bool = False
    """Whether what is read is divided by the number of sentences, as the released code does; it makes stages of
    different scale."""
    shares_hidden: bool = False
    """Whether policy and value have the same second hidden layer, as in the released code."""


RELEASED = EmmaConfig(averages_sentences=True, shares_hidden=True)
"""With 768 wide tokens and the 25 symbols of its release EMMA has 1,942,984 parameters."""


class EmmaBody(nn.Module):
    """Table of symbols, convolution and towers.

    Attributes:
        features: 2 x hidden, those of the policy and then those of the value.
    """

    def __init__(self, config: EmmaConfig, sizes: EmmaSizes, more_inputs: int = 0) -> None:
        """Build the layers.

        Args:
            config: widths and options.
            sizes: of the world.
            more_inputs: features of a frame that reach the towers beside the grid.
        """
        super().__init__()
        self.features = 2 * config.hidden
        others = sizes.avatar_symbols if sizes.num_agents > 1 else 0
        self.symbols = nn.Embedding(sizes.symbols + others, config.features, padding_idx=0)
        self.convolution = SparseConvolution(config.features, config.maps, sizes.side, sizes.moments)
        self.first = nn.Linear(self.convolution.positions * config.maps + more_inputs, self.features)
        towers = 1 if config.shares_hidden else 2
        self.second = nn.ModuleList(nn.Linear(config.hidden, config.hidden) for _ in range(towers))
        self._sizes = sizes
        self._glorot()

    def symbol_vectors(self) -> Tensor:
        """Vectors of all symbols, [V, d]; nothing's is 0 and stays so, which the bare weight would not."""
        weight = self.symbols.weight
        return nn.functional.embedding(torch.arange(len(weight), device=weight.device), weight, padding_idx=0)

    def avatars(self, obs: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Avatars of K frames, oneself first.

        Returns:
            [K, T, N, window M], what they add to the convolution, and their cells [K, T, N].
        """
        symbols, cells = obs["avatar_symbols"].flatten(0, 2).long(), obs["avatar_cells"].flatten(0, 2)
        is_other = (torch.arange(symbols.shape[-1], device=symbols.device) > 0) & (symbols > 0)
        return self.of_symbols(symbols + is_other * self._sizes.avatar_symbols), cells

    def of_symbols(self, symbols: Tensor) -> Tensor:
        """What symbols [K, T, S] int64 of each moment add to the convolution, [K, T, S, window M]."""
        shares = self.convolution.by_moment(self.convolution.project(self.symbol_vectors()))
        moments = shares.shape[1]
        moment = torch.arange(moments, device=symbols.device)[:, None]
        return nn.functional.embedding(symbols * moments + moment, shares.flatten(0, 1))

    def grid(self, entities: tuple[Tensor, Tensor], avatars: tuple[Tensor, Tensor]) -> Tensor:
        """The convolution of K frames, [K, `positions` M].

        Args:
            entities: what they add to the convolution [K, T, S, window M], and their cells [K, T, S].
            avatars: the same of the N avatars.
        """
        shares, cells = (torch.cat([one, other], 2).flatten(1, 2) for one, other in zip(entities, avatars, strict=True))
        seen = self.convolution.lay_out(shares / (1 + self._sizes.num_agents), cells)
        return nn.functional.leaky_relu(seen).flatten(1)

    def forward(
        self, entities: tuple[Tensor, Tensor], avatars: tuple[Tensor, Tensor], more: Tensor | None = None
    ) -> Tensor:
        """Features [K, 2 hidden] of K frames; arguments as for `grid`, and `more` [K, more_inputs]."""
        grid = self.grid(entities, avatars)
        hidden = nn.functional.leaky_relu(self.first(grid if more is None else torch.cat([grid, more], -1)))
        towers = hidden.chunk(2, -1)
        above = [layer(tower) for layer, tower in zip((self.second[0], self.second[-1]), towers, strict=True)]
        return nn.functional.leaky_relu(torch.cat(above, -1))

    @torch.no_grad()
    def _glorot(self) -> None:
        """As the released code begins, each tower's first layer by itself; nothing stays nothing."""
        glorot_matrices_(self)
        self.symbols.weight[0] = 0
        for tower in self.first.weight.chunk(2):
            nn.init.xavier_uniform_(tower)


class EntityNetwork(nn.Module):
    """A network over lists of sprites. Agents share all weights and differ by what they see.

    Attributes:
        body: what is above an entity's feature.
        features: F.
        shows_attention: add attention maps to the extras, if there are any.
    """

    def __init__(self, body: EmmaBody, num_agents: int) -> None:
        super().__init__()
        self.body = body
        self.num_agents, self.features = num_agents, body.features
        self.shows_attention = False

    def initial_state(self, batch: int) -> State:
        """Nothing is remembered: observations hold the last moments."""
        return {}

    def forward(self, obs: dict[str, Tensor], state: State, is_first: Tensor) -> Features:
        """Features of every step [B, T, N, F]; `is_first` [B, T] and the state change nothing."""
        features, extras = self._look(obs)
        lead = obs["symbols"].shape[:3]
        return Features(
            features.unflatten(0, lead), {}, None, {name: value.unflatten(0, lead) for name, value in extras.items()}
        )

    def _look(self, obs: dict[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        """Features [K, F] of K = B T N frames, and extras, name -> [K, ...]."""
        raise NotImplementedError
