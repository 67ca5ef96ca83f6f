"""What a reading network makes of the grid: FiLM² layers (RTFM, eqs. 17-19) or plain convolutions (appendix C).

Each layer sees the one before it beside the cells' distances to the agent; the last layer sees the sum of the two
before it. Nothing here knows words: cells and texts arrive as vectors, so a caller may mask cells.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from rl_models.layers.film2 import Film2, largest_on_grid
from rl_models.networks.readers import Look

FirstSummary = Literal["linear_of_max", "max_of_linear"]

OFFSETS = 2
"""Channels of a cell's distance to the agent."""


class Film2Stack(nn.Module):
    """Layers of FiLM², or of FiLM.

    Attributes:
        features: channels of the last layer.
    """

    def __init__(
        self,
        cell_features: int,
        text_features: int,
        look_features: int,
        channels: tuple[int, ...],
        modulates_text: bool = True,
        first_summary: FirstSummary = "linear_of_max",
    ) -> None:
        """Build the layers.

        Args:
            cell_features: width of a cell.
            text_features: width of the fixed text features.
            look_features: width of a look at the document; 0: there are none.
            channels: of each layer. With three layers and more the last sees the sum of the two before it, which must
                have equal channels.
            modulates_text: False gives FiLM (no_text_mod).
            first_summary: s_0 as the released code has it, or as the paper writes it.
        """
        super().__init__()
        check_channels(channels)
        self.features = channels[-1]
        self._order = first_summary
        inputs = [cell_features, *channels[:-1]]
        text = text_features + look_features
        self.layers = nn.ModuleList(
            Film2(seen + OFFSETS, text, out, modulates_text) for seen, out in zip(inputs, channels, strict=True)
        )
        # The last layer's own summary would be used by nobody.
        summarised = inputs if look_features else []
        self.summaries = nn.ModuleList(
            nn.Linear(seen + (OFFSETS if index == 0 else 0), look_features) for index, seen in enumerate(summarised)
        )

    def forward(self, cells: Tensor, offsets: Tensor, fixed: Tensor, look: Look | None = None) -> tuple[Tensor, Tensor]:
        """Run all layers.

        Args:
            cells: [K, H, W, cell features] float32.
            offsets: [K, H, W, 2] float32.
            fixed: [K, text features] float32.
            look: attends to the document, if text features have looks.

        Returns:
            V of the last layer [K, H, W, features] and its maximum over the grid [K, features].
        """
        outputs, largest = [cells], cells
        for index, layer in enumerate(self.layers):
            text = fixed
            if look is not None:
                summary = self.summaries[index](largest) if index else self._first_summary(cells, offsets)
                text = torch.cat([look(summary), fixed], -1)
            seen = torch.cat([seen_by_layer(outputs, len(self.layers)), offsets], -1)
            output, largest = layer(seen, text)
            outputs.append(output)
        return outputs[-1], largest

    def _first_summary(self, cells: Tensor, offsets: Tensor) -> Tensor:
        """Of what there is before the first layer, s_0 [K, look features]."""
        first = torch.cat([cells, offsets], -1)
        linear = self.summaries[0]
        is_max_first = self._order == "linear_of_max"
        summary: Tensor = linear(largest_on_grid(first)) if is_max_first else largest_on_grid(linear(first))
        return summary


class ConvolutionStack(nn.Module):
    """Convolutions over cells that carry the texts with them (RTFM, appendix C.2).

    Attributes:
        features: channels of the last layer.
    """

    def __init__(self, cell_features: int, text_features: int, channels: tuple[int, ...]) -> None:
        """Build the layers; arguments as for `Film2Stack`."""
        super().__init__()
        check_channels(channels)
        self.features = channels[-1]
        inputs = [cell_features + text_features, *channels[:-1]]
        self.layers = nn.ModuleList(
            nn.Conv2d(seen + OFFSETS, out, 3, padding=1) for seen, out in zip(inputs, channels, strict=True)
        )

    def forward(self, cells: Tensor, offsets: Tensor, fixed: Tensor, look: Look | None = None) -> tuple[Tensor, Tensor]:
        """Run all layers; as for `Film2Stack`, and nobody looks."""
        texts = fixed[:, None, None].expand(*cells.shape[:3], -1)
        outputs = [torch.cat([cells, texts], -1)]
        for layer in self.layers:
            seen = torch.cat([seen_by_layer(outputs, len(self.layers)), offsets], -1)
            outputs.append(layer(seen.permute(0, 3, 1, 2)).relu_().permute(0, 2, 3, 1))
        return outputs[-1], largest_on_grid(outputs[-1])


def seen_by_layer(outputs: list[Tensor], layers: int) -> Tensor:
    """Input of the next of all layers: the one before it, or for the last of three and more the sum of two."""
    is_last = len(outputs) == layers
    return outputs[-1] + outputs[-2] if is_last and layers > 2 else outputs[-1]


def check_channels(channels: tuple[int, ...]) -> None:
    """Refuse layers whose sum cannot be formed, and none at all.

    Raises:
        ValueError: one sentence.
    """
    if not channels:
        raise ValueError("a stack needs at least one layer: give the channels of each")
    if len(channels) > 2 and channels[-2] != channels[-3]:
        raise ValueError(f"the last layer sees the sum of the two before it: make them as wide in channels {channels}")
