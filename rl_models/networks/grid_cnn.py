"""Convolutions and dense layers over a small grid, for agents that share weights and see themselves first.

The network of self-play in Overcooked (Carroll et al., NeurIPS 2019; shipped with the game's repository): a first
convolution, others of 3 x 3 of which the last has no padding, then dense layers; leaky ReLU throughout. It has no
memory. Input key: `lossless`, or another that is named.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from rl_models.layers.grid_convolutions import see_in_parts
from rl_models.layers.initialisation import glorot_
from rl_models.policy import Features, State


@dataclass(frozen=True)
class GridCnnConfig:
    """Widths; the defaults are those of the published self-play agents."""

    convolutions: tuple[int, ...] = (25, 25, 25)
    """Number of channels of each convolution."""
    first_kernel: int = 5
    """Side of the first convolution's kernel in cells, an odd number."""
    dense: tuple[int, ...] = (64, 64, 64)
    """Widths of the dense layers."""


class GridCnn(nn.Module):
    """Grid -> convolutions -> dense layers, for each of N agents with the same weights."""

    def __init__(
        self, config: GridCnnConfig, num_agents: int, view: tuple[int, int, int], key: str = "lossless"
    ) -> None:
        """Build the network.

        Args:
            config: widths.
            num_agents: N.
            view: (C, H, W), one agent's observation.
            key: its name.

        Raises:
            ValueError: a grid smaller than the last convolution's kernel.
        """
        super().__init__()
        channels, height, width = view
        if min(height, width) < 3:
            raise ValueError(f"the last convolution needs a grid of 3 x 3 at least, got {height} x {width}")
        self.num_agents = num_agents
        self.observation_keys = (key,)
        self.convolutions = nn.Sequential(*_convolutions(channels, config))
        flat = config.convolutions[-1] * (height - 2) * (width - 2)
        self.dense = nn.Sequential(*_dense(flat, config.dense))
        self.features = config.dense[-1]
        glorot_(self)

    def initial_state(self, batch: int) -> State:
        """There is none."""
        return {}

    def forward(self, obs: dict[str, Tensor], state: State, is_first: Tensor) -> Features:
        """Features of each agent at each step.

        Args:
            obs: the grid [B, T, N, C, H, W], any number type; perhaps `legal` [B, T, N, A] bool.
            state: empty.
            is_first: not used.

        Returns:
            features [B, T, N, F].
        """
        grid = obs[self.observation_keys[0]]
        seen = see_in_parts(self._see, grid.flatten(0, 2))
        return Features(seen.unflatten(0, grid.shape[:3]), {}, legal=obs.get("legal"))

    def _see(self, frames: Tensor) -> Tensor:
        """[K, C, H, W] -> [K, F]."""
        frames = frames.float().contiguous(memory_format=torch.channels_last)
        features: Tensor = self.dense(self.convolutions(frames).flatten(1))
        return features


def _convolutions(channels: int, config: GridCnnConfig) -> Iterator[nn.Module]:
    last = len(config.convolutions) - 1
    for number, width in enumerate(config.convolutions):
        kernel = config.first_kernel if number == 0 < last else 3
        yield nn.Conv2d(channels, width, kernel, padding=0 if number == last else kernel // 2)
        yield nn.LeakyReLU()
        channels = width


def _dense(inputs: int, widths: tuple[int, ...]) -> Iterator[nn.Module]:
    for width in widths:
        yield nn.Linear(inputs, width)
        yield nn.LeakyReLU()
        inputs = width
