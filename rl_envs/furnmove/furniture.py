"""Placement of furniture in a room: where rectangles fit, along a wall or apart from walls.

Part of the procedural substitute for the living rooms of "A Cordial Sync" (Jain et al., ECCV 2020, section 5), which
need AI2-THOR. Sizes count cells that are closed to an agent's centre, so they include the agent's radius.

This file must not know about televisions, agents, files or which furniture a room has.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rl_envs.furnmove.kinds import KINDS, TALL_KINDS
from rl_envs.furnmove.room import FREE, LOW, TALL, WALL, Furniture, Mask

WALL_SHARE = 0.65
"""Share of the pieces that are placed along a wall."""


@dataclass(frozen=True)
class Piece:
    """A rectangular piece of furniture.

    Attributes:
        depth, length: sides in cells; the length runs along the wall.
        kind: a name of `kinds.KINDS`.
    """

    depth: int
    length: int
    kind: str

    @property
    def is_tall(self) -> bool:
        """Whether it also blocks the lifted television."""
        return self.kind in TALL_KINDS


class FloorPlan:
    """A partly furnished room.

    Attributes:
        inside: [H, W] bool, cells within the walls.
        low, tall: [H, W] bool, cells under low and under tall furniture.
        furniture: the pieces that were placed.
    """

    def __init__(self, inside: Mask) -> None:
        self.inside = inside
        self.low = np.zeros_like(inside)
        self.tall = np.zeros_like(inside)
        self.furniture: list[Furniture] = []

    @property
    def free(self) -> Mask:
        """[H, W] bool, cells within the walls and under no furniture."""
        return self.inside & ~self.low & ~self.tall

    def place(self, piece: Piece, rng: np.random.Generator, gap_cells: int = 0) -> bool:
        """Put a piece at a random place where it fits; returns False, without a change, if there is none.

        Args:
            piece: the piece, in a random one of its two directions.
            rng: random generator.
            gap_cells: width in cells of the free passage around a piece apart from walls.
        """
        height, width = (piece.depth, piece.length) if rng.random() < 0.5 else (piece.length, piece.depth)
        at_wall = rng.random() < WALL_SHARE
        if min(self.inside.shape[0] - height, self.inside.shape[1] - width) < 0:
            return False
        fits = self._fits_at_wall(height, width) if at_wall else self._fits_apart(height, width, gap_cells)
        corners = np.flatnonzero(fits)
        if not corners.size:
            return False
        row, column = np.unravel_index(corners[rng.integers(corners.size)], fits.shape)
        cells = self.tall if piece.is_tall else self.low
        cells[row : row + height, column : column + width] = True
        place = int(row), int(column), height, width
        self.furniture.append(Furniture(piece.kind, *place, KINDS[piece.kind].height))
        return True

    def keep_floor(self, kept: Mask) -> None:
        """Fill every free cell outside of `kept` [H, W] with low furniture."""
        self.low |= self.free & ~kept

    def drawing(self) -> tuple[str, ...]:
        """The room as H strings of W characters, without the surrounding wall."""
        cells = np.where(self.tall, TALL, np.where(self.low, LOW, np.where(self.inside, FREE, WALL)))
        return tuple("".join(row) for row in cells.tolist())

    def _fits_at_wall(self, height: int, width: int) -> Mask:
        """Corners of places on free floor with their length along a wall, [H - height + 1, W - width + 1] bool."""
        rows, columns = self.inside.shape[0] - height + 1, self.inside.shape[1] - width + 1
        free = _count(~self.free, height, width) == 0
        around = np.pad(self.inside, 1)
        flush = np.zeros_like(free)
        if width >= height:
            strip = _count(around, 1, width)[:, 1 : 1 + columns] == 0
            flush |= strip[:rows] | strip[height + 1 :][:rows]
        if height >= width:
            strip = _count(around, height, 1)[1 : 1 + rows] == 0
            flush |= strip[:, :columns] | strip[:, width + 1 :][:, :columns]
        return free & flush

    def _fits_apart(self, height: int, width: int, gap_cells: int) -> Mask:
        """Corners of places with a free passage around, [H - height + 1, W - width + 1] bool."""
        closed = np.pad(~self.free, gap_cells, constant_values=True)
        return _count(closed, height + 2 * gap_cells, width + 2 * gap_cells) == 0


def _count(mask: Mask, height: int, width: int) -> NDArray[np.int32]:
    """Number of set cells in each window of the mask: [H, W] bool -> [H - height + 1, W - width + 1] int32."""
    total = np.zeros((mask.shape[0] + 1, mask.shape[1] + 1), np.int32)
    total[1:, 1:] = mask.cumsum(0, dtype=np.int32).cumsum(1)
    return total[height:, width:] - total[:-height, width:] - total[height:, :-width] + total[:-height, :-width]
