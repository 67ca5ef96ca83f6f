"""A room compiled into the flat, padded arrays that the rules use, computed once per room and cached.

This file knows rooms and geometry, not agents, episodes or chance.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rl_envs.core.spec import Array
from rl_envs.furnmove.observation import FLOOR, KNOWN, MARGIN, TV_ALLOWED
from rl_envs.furnmove.poses import carry_poses
from rl_envs.furnmove.room import Room, stand_cells

_KEPT_ROOMS = 4096


@dataclass(frozen=True)
class CompiledRoom:
    """Look-up arrays of one room inside a padded map of P = (H + 28) * (W + 28) cells.

    Attributes:
        cells: [P] uint8, the static bits of the map (`observation.py`).
        tv_rotations: [P] uint8, bit r: the TV centre may be here in rotation r.
        tv_starts: [K, 3] int, (row, column, bits of rotations) of the TV's possible starts.
        stand_places: [J, 3] int, (row, column, bits of rotations) of stands that the TV can reach.
    """

    cells: Array
    tv_rotations: Array
    tv_starts: Array
    stand_places: Array


class CompiledRooms:
    """Compiles the rooms of a sequence at their first use and caches the last few thousand."""

    def __init__(self, rooms: Sequence[Room], height: int, width: int) -> None:
        self._rooms, self._height, self._width = rooms, height, width
        self._kept: OrderedDict[int, CompiledRoom] = OrderedDict()

    def __getitem__(self, index: int) -> CompiledRoom:
        """Room `index`, compiled."""
        if index in self._kept:
            self._kept.move_to_end(index)
        else:
            self._kept[index] = compile_room(self._rooms[index], self._height, self._width)
            if len(self._kept) > _KEPT_ROOMS:
                self._kept.popitem(last=False)
        return self._kept[index]


def compile_room(room: Room, height: int, width: int) -> CompiledRoom:
    """Compile a room into the map of a world whose largest room has `height` x `width` cells."""
    cells = np.zeros((height + 2 * MARGIN, width + 2 * MARGIN), np.uint8)
    rotations = np.zeros_like(cells)
    rows, columns = room.agent_cells.shape
    inside = (slice(MARGIN, MARGIN + rows), slice(MARGIN, MARGIN + columns))
    any_rotation = room.tv_cells.any(0)
    cells[inside] = (
        room.agent_cells * FLOOR + any_rotation * TV_ALLOWED + (room.agent_cells | any_rotation) * KNOWN
    ).astype(np.uint8)
    rotations[inside] = _bits(room.tv_cells)
    poses = carry_poses(room)
    starts = _bits(poses) * room.agent_cells
    goals = _bits(stand_cells(room)) * _beside(np.any(poses, axis=0))
    return CompiledRoom(cells.reshape(-1), rotations.reshape(-1), _listed(starts), _listed(goals))


def _bits(masks: Array) -> Array:
    """[4, H, W] bool -> [H, W] uint8 with bit r for mask r."""
    return np.packbits(masks, axis=0, bitorder="little")[0]


def _listed(bits: Array) -> Array:
    """Row, column and bits of the cells with any bit set, [K, 3] int64."""
    rows, columns = np.nonzero(bits)
    return np.stack([rows, columns, bits[rows, columns]], axis=-1).astype(np.int64)


def _beside(cells: Array) -> Array:
    """Cells that are in `cells` or next to one, [H, W] bool: a TV there would solve the episode."""
    padded = np.pad(cells, 1)
    return padded[1:-1, 1:-1] | padded[:-2, 1:-1] | padded[2:, 1:-1] | padded[1:-1, :-2] | padded[1:-1, 2:]
