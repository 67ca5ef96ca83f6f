"""Convolutions and linear layers over a small grid, for agents that share weights and see themselves first.

It is the network of self-play in Carroll et al., NeurIPS 2019: a first convolution, then 3 x 3 convolutions of which
the last has no padding, then linear layers, with leaky ReLU after each. It has no memory. Input key: `lossless`, or the
one that `key` names.
"""

import torch
from torch import Tensor, nn

from rl_models.layers.dense import dense
from rl_models.layers.grid_convolutions import apply_in_chunks, leaky_convolutions, whole_input_convolution
from rl_models.layers.initialisation import glorot_
from rl_models.networks.network_config import GridCnnConfig
from rl_models.policy import Features, State, Stateless, legal_actions


class GridCnn(Stateless):
    """Grid -> convolutions -> linear layers, for each of N agents with the same weights."""

    def __init__(
        self, config: GridCnnConfig, num_agents: int, view: tuple[int, int, int], key: str = "lossless"
    ) -> None:
        """Build the network for N agents that see (C, H, W) under an observation key each."""
        super().__init__()
        channels, height, width = view
        if min(height, width) < 3:
            raise ValueError(f"the last convolution needs a grid of 3 x 3 at least, got {height} x {width}")
        self.num_agents = num_agents
        self.observation_keys = (key,)
        self.convolutions = leaky_convolutions(channels, config.channels, config.first_kernel)
        flat = config.channels[-1] * (height - 2) * (width - 2)
        self.dense = dense((flat, *config.hidden_sizes), nn.LeakyReLU)
        self.features = config.hidden_sizes[-1]
        glorot_(self)

    def forward(self, obs: dict[str, Tensor], state: State, is_first: Tensor) -> Features:
        """Features [B, T, N, F] float32 of grids [B, T, N, C, H, W] of any number type."""
        grid = obs[self.observation_keys[0]]
        features = apply_in_chunks(self._encode, grid.flatten(0, 2))
        return Features(features.unflatten(0, grid.shape[:3]), {}, legal=legal_actions(obs))

    def _encode(self, frames: Tensor) -> Tensor:
        """Grids [K, C, H, W] -> features [K, F]."""
        frames = frames.contiguous(memory_format=torch.channels_last).float()  # cheaper than to reorder floats
        last = self.convolutions(frames)
        first, *others = self.dense
        assert isinstance(first, nn.Linear)
        # The linear layer is a convolution over all cells; so its few weights are reordered, and not the many cells.
        features = whole_input_convolution(last, first.weight.unflatten(1, last.shape[1:]), first.bias)
        for layer in others:
            features = layer(features)
        return features
