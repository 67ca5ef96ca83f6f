"""Rooms compiled into flat bit maps, once per room, and the maps of B worlds with the tests that the rules need.

This file has cells and bits; moves and rewards are in `world.py`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rl_envs.core.spec import Array
from rl_envs.furnmove.geometry import HOLD_MASKS, HOLD_REACH, STAND, TV_BODY
from rl_envs.furnmove.observation import FLOOR, KNOWN, MARGIN, TV_ALLOWED, VISITED
from rl_envs.furnmove.observation import STAND as STAND_BIT
from rl_envs.furnmove.observation import TV_BODY as TV_BIT
from rl_envs.furnmove.room import Room, carry_poses, stand_cells

_KEPT_ROOMS = 4096


@dataclass(frozen=True)
class CompiledRoom:
    """Look-up arrays of one room inside a padded map of P = (H + 28) * (W + 28) cells."""

    cells: Array  # [P] uint8, the static bits of the map (`observation.py`)
    tv_rotations: Array  # [P] uint8, bit r: the TV centre may be here in rotation r
    tv_starts: Array  # [K, 3] int, (row, column, bits of rotations) of the TV's possible starts
    stand_places: Array  # [J, 3] int, (row, column, bits of rotations) of stands that the TV can reach


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
    goals = _bits(stand_cells(room)) * _with_neighbours(np.any(poses, axis=0))
    return CompiledRoom(cells.reshape(-1), rotations.reshape(-1), _listed(starts), _listed(goals))


def _bits(masks: Array) -> Array:
    """[4, H, W] bool -> [H, W] uint8 with bit r for mask r."""
    return np.packbits(masks, axis=0, bitorder="little")[0]


def _listed(bits: Array) -> Array:
    """Row, column and bits of the cells with any bit set, [K, 3] int64."""
    rows, columns = np.nonzero(bits)
    return np.stack([rows, columns, bits[rows, columns]], axis=-1).astype(np.int64)


def _with_neighbours(cells: Array) -> Array:
    """Cells that are in `cells` or next to one, [H, W] bool: a TV there would solve the episode."""
    padded = np.pad(cells, 1)
    return padded[1:-1, 1:-1] | padded[:-2, 1:-1] | padded[2:, 1:-1] | padded[1:-1, :-2] | padded[1:-1, 2:]


class RoomMaps:
    """One padded map per world, P = (H + 28) * (W + 28) cells.

    Attributes:
        padded_width: W + 28.
        cells: [B, P] uint8, the bits of `observation.py`.
    """

    def __init__(self, num_worlds: int, height: int, width: int) -> None:
        """Allocate empty maps for rooms of at most `height` x `width` cells."""
        self.padded_width = width + 2 * MARGIN
        size = (height + 2 * MARGIN) * self.padded_width
        self.cells = np.zeros((num_worlds, size), np.uint8)
        self._tv_rotations = np.zeros((num_worlds, size), np.uint8)
        self._first_cell = np.arange(num_worlds) * size

    def load(self, world: int, room: CompiledRoom, stand: Array, visited: Array) -> None:
        """Write the map of one world, without its TV.

        Args:
            world: index of the world.
            room: its room.
            stand: [3] int, row, column, rotation.
            visited: [H, W] bool, cells in which the TV's centre has been.
        """
        codes = self.cells[world]
        codes[:] = room.cells
        self._tv_rotations[world] = room.tv_rotations
        covered = self._inside(stand[:2] + STAND[stand[2]])
        codes[covered] = codes[covered] & ~FLOOR | STAND_BIT
        codes[self._inside(np.argwhere(visited))] |= VISITED

    def is_floor(self, rows: Array, cells: Array) -> Array:
        """Whether an agent may be in `cells` [..., 2] int of worlds `rows` [...] int, [...] bool."""
        return (self.cells.reshape(-1)[self._flat(rows, cells)] & FLOOR) != 0

    def allows_tv(self, rows: Array, tv: Array) -> Array:
        """Whether the TV may have the poses `tv` [K, 3] int in worlds `rows` [K] int, [K] bool."""
        return (self._tv_rotations.reshape(-1)[self._flat(rows, tv[:, :2])] >> tv[:, 2] & 1) != 0

    def put_tv(self, rows: Array, tv: Array) -> None:
        """Mark the cells that the TV covers; cells outside the room's masks are never marked.

        Args:
            rows: [K] int, indices of the worlds.
            tv: [K, 3] int, row, column and rotation of the TV.
        """
        covered, codes = self._body(rows, tv), self.cells.reshape(-1)
        codes[covered] |= ((codes[covered] & KNOWN) != 0) * TV_BIT

    def remove_tv(self, rows: Array, tv: Array) -> None:
        """Unmark the cells that the TV covered: worlds `rows` [K] int, poses `tv` [K, 3] int."""
        self.cells.reshape(-1)[self._body(rows, tv)] &= ~TV_BIT

    def visit(self, rows: Array, tv: Array) -> None:
        """Mark the cell of the TV's centre as visited: worlds `rows` [K] int, poses `tv` [K, 3] int."""
        self.cells.reshape(-1)[self._flat(rows, tv[:, :2])] |= VISITED

    def _body(self, rows: Array, tv: Array) -> Array:
        return self._flat(rows[:, None], tv[:, None, :2] + TV_BODY[tv[:, 2]])

    def _inside(self, cells: Array) -> Array:
        """Index of (row, column) cells [..., 2] in one flattened map."""
        return (cells[..., 0] + MARGIN) * self.padded_width + cells[..., 1] + MARGIN

    def _flat(self, rows: Array, cells: Array) -> Array:
        """Index of cells in the flattened maps of all worlds."""
        return self._first_cell[rows] + self._inside(cells)


def can_hold(tv: Array, agents: Array) -> Array:
    """Whether agents can hold a TV from their cells: tv [K, 3] int, agents [K, N, 2] int -> [K, N] bool."""
    offset = agents - tv[:, None, :2]
    near = (abs(offset) <= HOLD_REACH).all(-1)
    offset = np.clip(offset, -HOLD_REACH, HOLD_REACH) + HOLD_REACH
    return near & HOLD_MASKS[tv[:, 2, None], offset[..., 0], offset[..., 1]]
