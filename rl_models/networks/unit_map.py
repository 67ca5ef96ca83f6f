"""Planes of a cell map, drawn from lists of units, and the convolutions over them (RED's map trunk).

A fragment holds the lists and one number per cell, about 2 kB a step, in place of 42 planes of 1024 cells. What a unit
sees of the map is gathered at its cell before the 1x1 convolution, which so runs over units and not over all cells.
"""

from itertools import pairwise

import torch
from torch import Tensor, nn

from rl_models.layers.weight_norm import NormalisedConvolution, NormalisedLinear
from rl_models.unit_spec import UnitSpec

Frames = dict[str, Tensor]
"""Observation key -> [K, ...], K = B * T frames."""


def is_listed(frames: Frames, name: str) -> Tensor:
    """[K, U] bool, entries of a list that are units; the others are padding."""
    return (
        torch.arange(frames[f"{name}_type"].shape[1], device=frames[f"num_{name}"].device)
        < (frames[f"num_{name}"][:, None])
    )


def unit_cells(frames: Frames, name: str, side: int) -> Tensor:
    """[K, U] int64, cell y * side + x of each unit; of padding, too."""
    rows, columns = (frames[f"{name}_{axis}"].long().clamp(0, side - 1) for axis in "yx")
    return rows * side + columns


_LAYERS = 3
"""Number of 3x3 convolutions of a map."""


class UnitMap(nn.Module):
    """Lists of units and the ground -> planes [K, P, H, W]; planes -> features [K, H * W, F]."""

    def __init__(self, spec: UnitSpec, channels: int) -> None:
        super().__init__()
        self._spec = spec
        side = torch.arange(spec.side, dtype=torch.float32) / spec.side
        places = torch.stack([side[:, None].expand(-1, spec.side), side.expand(spec.side, -1)], -1)
        self.places = nn.Buffer(places, persistent=False)
        self.ground_planes = nn.Buffer(torch.tensor(spec.ground_planes).float(), persistent=False)
        widths = [spec.num_planes, *[channels] * _LAYERS]
        self.convolutions = nn.ModuleList(NormalisedConvolution(ins, outs) for ins, outs in pairwise(widths))

    def planes(self, frames: Frames) -> Tensor:
        """Coordinates, ground and numbers of units by list and kind, [K, P, H, W] float32, channels last in memory."""
        spec, number = self._spec, len(frames[self._spec.ground])
        ground = self.ground_planes[frames[spec.ground].long()]
        places = self.places.expand(number, -1, -1, -1)
        units = (self._units(frames, each) for each in range(len(spec.lists)))
        return torch.cat([places, ground, *units], -1).permute(0, 3, 1, 2)

    def _units(self, frames: Frames, which: int) -> Tensor:
        """How many units of each drawn kind of a list stand in each cell, [K, H, W, kinds] float32."""
        spec, drawn = self._spec, self._spec.lists[which]
        kinds = drawn.last_kind - drawn.first_kind + 1
        kind = frames[f"{drawn.name}_type"].long() - drawn.first_kind
        counts = is_listed(frames, drawn.name) & (kind >= 0) & (kind < kinds)
        place = unit_cells(frames, drawn.name, spec.side) * kinds + kind.clamp(0, kinds - 1)
        planes = torch.zeros(len(kind), spec.side**2 * kinds, device=kind.device)
        return planes.scatter_add(1, place, counts.float()).view(-1, spec.side, spec.side, kinds)

    def forward(self, frames: Frames) -> Tensor:
        """Features of all cells, [K, H * W, F] float32."""
        features = self.planes(frames)
        for convolution in self.convolutions:
            features = torch.relu(convolution(features))
        return features.flatten(2).transpose(1, 2)


def gather_at_units(features: Tensor, frames: Frames, spec: UnitSpec) -> dict[str, Tensor]:
    """Features of all cells [K, H * W, F] where each list's units stand, name -> [K, U, F].

    One gather serves all lists: the gradient of each gather is as large as the map.
    """
    cells = [unit_cells(frames, one.name, spec.side) for one in spec.lists]
    found = features.gather(1, torch.cat(cells, 1)[..., None].expand(-1, -1, features.shape[-1]))
    pieces = found.split([each.shape[1] for each in cells], 1)
    return {one.name: piece for one, piece in zip(spec.lists, pieces, strict=True)}


class CellFeatures(nn.Module):
    """A 1x1 convolution with ReLU, at the cells that are given."""

    def __init__(self, channels: int, features: int) -> None:
        super().__init__()
        self.project = NormalisedLinear(channels, features, per_output=True)

    def forward(self, features: Tensor) -> Tensor:
        """[K, U, channels] -> [K, U, features] float32."""
        return torch.relu(self.project(features))
