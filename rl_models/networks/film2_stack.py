"""Layers of a reading network over the grid: FiLM² layers (RTFM, eqs. 1-8, 17-19) or convolutions (appendix C).

The input of each layer is the output of the layer before it, together with the offsets of the cells from the agent; the
input of the last layer is the sum of the two layers before it. Cells and texts are vectors here,
so a caller may mask cells.
"""

from typing import TypeAlias

import torch
from torch import Tensor, nn

from rl_models.networks.network_config import FirstSummary, check_channels
from rl_models.networks.readers import DocumentAttention

OFFSETS = 2
"""Channels of a cell's offset from the agent."""


class Film2(nn.Module):
    """FiLM² layer: visual features [K, H, W, inputs] and text [K, text features] -> [K, H, W, C]."""

    def __init__(
        self, inputs: int, text_features: int, channels: int, modulates_text: bool = True, kernel_size: int = 3
    ) -> None:
        """Build the layer; without `modulates_text` (eqs. 4-6) it is FiLM, and a kernel of side 1 is for one cell."""
        super().__init__()
        self.channels = channels
        self.modulates_text = modulates_text
        outputs = channels * (3 if modulates_text else 1)
        self.convolutions = nn.Conv2d(inputs, outputs, kernel_size, padding=kernel_size // 2)
        self.projections = nn.Linear(text_features, channels * (3 if modulates_text else 2))

    def forward(self, visual: Tensor, text: Tensor) -> tuple[Tensor, Tensor]:
        """V [K, H, W, C] float32 (eq. 7) and its maximum over the grid, s [K, C] float32 (eq. 8).

        From X_vis [K, H, W, inputs] and x_text [K, text features], float32 both.
        """
        # Views of channels-last memory, so nothing is copied.
        images = self.convolutions(visual.permute(0, 3, 1, 2)).permute(0, 2, 3, 1).split(self.channels, -1)
        vectors = self.projections(text)[:, None, None].split(self.channels, -1)
        output = _modulated(images[0], vectors[0], vectors[1])
        if self.modulates_text:
            output = output + _modulated(vectors[2], images[1], images[2])
        return output, largest_on_grid(output)


def largest_on_grid(cells: Tensor) -> Tensor:
    """Maximum over the whole grid (RTFM, eq. 8): [K, H, W, C] -> [K, C]."""
    # The gradient of max_pool2d is cheaper than that of amax.
    return nn.functional.max_pool2d(cells.permute(0, 3, 1, 2), cells.shape[1:3]).flatten(1)


def _modulated(features: Tensor, gain: Tensor, shift: Tensor) -> Tensor:
    """ReLU((1 + gain) * features + shift): eq. 3 for the visual features, eq. 6 for the text."""
    return torch.addcmul(shift, gain + 1, features).relu_()


class Film2Stack(nn.Module):
    """Layers of FiLM², or of FiLM."""

    def __init__(
        self,
        cell_features: int,
        text_features: int,
        context_features: int,
        channels: tuple[int, ...],
        modulates_text: bool = True,
        first_summary: FirstSummary = "linear_of_max",
        shared_features: int = 0,
    ) -> None:
        """Build the layers.

        With three or more layers the input of the last is the sum of the two before it, which must have equal channels.
        `context_features` is the width of a context of the document (eq. 18), 0 if layers do not attend to it; its last
        `shared_features` are compared with a cell as it is. Without `modulates_text` it is FiLM (the ablation
        no_text_mod). `first_summary` is s_0 of the released code (`linear_of_max`) or of the paper (`max_of_linear`).
        """
        super().__init__()
        check_channels(channels)
        self.features = channels[-1]
        self.first_summary = first_summary
        inputs = [cell_features, *channels[:-1]]
        text = text_features + context_features
        self.layers = nn.ModuleList(
            Film2(width + OFFSETS, text, out, modulates_text) for width, out in zip(inputs, channels, strict=True)
        )
        # The summary of the last layer has no use.
        summarised = inputs if context_features else []
        self.summaries = nn.ModuleList(
            nn.Linear(width + (OFFSETS if index == 0 else 0), context_features - shared_features)
            for index, width in enumerate(summarised)
        )
        picks = len(summarised) if shared_features else 0
        self.picks = nn.ModuleList(nn.Linear(cell_features + OFFSETS, 1, bias=False) for _ in range(picks))

    def forward(
        self, cells: Tensor, offsets: Tensor, fixed: Tensor, attend: DocumentAttention | None = None
    ) -> tuple[Tensor, Tensor]:
        """V of the last layer [K, H, W, F] float32, and its maximum over the grid [K, F] float32.

        Of cells [K, H, W, cell features], their offsets from the agent [K, H, W, 2], and the part of the text features
        that does not depend on the grid [K, text features], float32 each. Each layer attends to the document by what
        the layers before it show.
        """
        outputs, largest = [cells], cells
        for index, layer in enumerate(self.layers):
            text = fixed
            if attend is not None:
                summary = self.summaries[index](largest) if index else self._first_summary(cells, offsets)
                if self.picks:
                    summary = torch.cat([summary, _weighted_cells(self.picks[index], cells, offsets)], -1)
                text = torch.cat([attend(summary), fixed], -1)
            visual = torch.cat([layer_input(outputs, len(self.layers)), offsets], -1)
            output, largest = layer(visual, text)
            outputs.append(output)
        return outputs[-1], largest

    def first_query(self, cells: Tensor) -> Tensor:
        """First query to the document, of a single cell at the agent's place: [Q, F] -> [Q, F] float32."""
        query: Tensor = self.summaries[0](torch.cat([cells, cells.new_zeros(len(cells), OFFSETS)], -1))
        return query

    def _first_summary(self, cells: Tensor, offsets: Tensor) -> Tensor:
        """Summary s_0 of the cells before the first layer, [K, context features]."""
        first = torch.cat([cells, offsets], -1)
        linear = self.summaries[0]
        is_max_first = self.first_summary == "linear_of_max"
        summary: Tensor = linear(largest_on_grid(first)) if is_max_first else largest_on_grid(linear(first))
        return summary


def _weighted_cells(layer: nn.Module, cells: Tensor, offsets: Tensor) -> Tensor:
    """A mixture of the cells [K, H, W, F], by scores of cell and offset: [K, F] float32."""
    scores = layer(torch.cat([cells, offsets], -1)).flatten(1)
    return (scores.softmax(-1)[:, None] @ cells.flatten(1, 2)).squeeze(1)


class ConvolutionStack(nn.Module):
    """Convolutions over cells to which the text features are appended (RTFM, appendix C.2)."""

    def __init__(self, cell_features: int, text_features: int, channels: tuple[int, ...]) -> None:
        """Build the layers; arguments as for `Film2Stack`."""
        super().__init__()
        check_channels(channels)
        self.features = channels[-1]
        inputs = [cell_features + text_features, *channels[:-1]]
        self.layers = nn.ModuleList(
            nn.Conv2d(width + OFFSETS, out, 3, padding=1) for width, out in zip(inputs, channels, strict=True)
        )

    def forward(
        self, cells: Tensor, offsets: Tensor, fixed: Tensor, attend: DocumentAttention | None = None
    ) -> tuple[Tensor, Tensor]:
        """See `Film2Stack.forward`; `attend` is not used."""
        texts = fixed[:, None, None].expand(*cells.shape[:3], -1)
        outputs = [torch.cat([cells, texts], -1)]
        for layer in self.layers:
            visual = torch.cat([layer_input(outputs, len(self.layers)), offsets], -1)
            outputs.append(layer(visual.permute(0, 3, 1, 2)).relu_().permute(0, 2, 3, 1))
        return outputs[-1], largest_on_grid(outputs[-1])


GridStack: TypeAlias = Film2Stack | ConvolutionStack


def layer_input(outputs: list[Tensor], layers: int) -> Tensor:
    """Input [K, H, W, F] of the next layer of so many, from the outputs [K, H, W, F] so far.

    It is the last output; for the last of three or more layers the sum of the last two.
    """
    is_last = len(outputs) == layers
    return outputs[-1] + outputs[-2] if is_last and layers > 2 else outputs[-1]
