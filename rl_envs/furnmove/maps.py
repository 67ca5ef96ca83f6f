"""Rooms compiled into flat bit maps, once per room, and the maps of B worlds with the tests that the rules need.

This file has cells and bits; moves and rewards are in `world.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from rl_envs.core.array_library import NUMPY, ArrayLibrary, Rows
from rl_envs.core.spec import Array
from rl_envs.furnmove.geometry import HOLD_CELLS, HOLD_REACH, HOLD_SIDE, STAND, TV_BODY
from rl_envs.furnmove.observation import FLOOR, KNOWN, MARGIN, TV_ALLOWED, VISITED
from rl_envs.furnmove.observation import STAND as STAND_BIT
from rl_envs.furnmove.observation import TV_BODY as TV_BIT
from rl_envs.furnmove.room import Room, carry_poses, stand_cells


@dataclass(frozen=True)
class CompiledRoom:
    """Look-up arrays of one room inside a padded map of P = (H + 28) * (W + 28) cells."""

    cells: Array  # [P] uint8, the static bits of the map (`observation.py`)
    tv_rotations: Array  # [P] uint8, bit r: the TV centre may be here in rotation r
    tv_starts: Array  # [K, 3] int, (row, column, bits of rotations) of the TV's possible starts
    stand_places: Array  # [J, 3] int, (row, column, bits of rotations) of stands that the TV can reach


@lru_cache(4096)
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
    """One padded map per world, P = (H + 28) * (W + 28) cells, and the compiled rooms from which maps are made.

    Rooms lie in slots. In NumPy each world has a slot, for its present room; with fixed shapes each room has one.

    Attributes:
        padded_width: W + 28.
        cells: [B, P] uint8, the bits of `observation.py`.
        first_cells: [B] int64, index of the first cell of each world's room in all maps, flattened.
    """

    def __init__(self, num_worlds: int, num_slots: int, height: int, width: int, xp: ArrayLibrary = NUMPY) -> None:
        """Allocate empty maps for rooms of at most `height` x `width` cells."""
        self._xp, self.padded_width = xp, width + 2 * MARGIN
        self._size = (height + 2 * MARGIN) * self.padded_width
        self.cells = xp.zeros((num_worlds, self._size), dtype=xp.uint8)
        self._rooms = xp.zeros((num_slots, self._size), dtype=xp.uint8)
        self._tv_rotations = xp.zeros((num_slots, self._size), dtype=xp.uint8)
        self._margin = MARGIN * (self.padded_width + 1)
        self.first_cells = xp.arange(num_worlds) * self._size + self._margin
        self._tv_body = xp.asarray(TV_BODY @ (self.padded_width, 1))
        self._stand = xp.asarray(STAND @ (self.padded_width, 1))
        self._hold_cells = xp.asarray(HOLD_CELLS)

    def load(self, slots: Array, rooms: Sequence[CompiledRoom]) -> None:
        """Put rooms into slots [K] int."""
        self._rooms[slots] = self._xp.asarray(np.stack([room.cells for room in rooms]))
        self._tv_rotations[slots] = self._xp.asarray(np.stack([room.tv_rotations for room in rooms]))

    def draw(self, rows: Rows, slots: Array, tv: Array, stand: Array, visited: Array) -> None:
        """Make the maps of K worlds anew, with rooms in `slots` [K].

        `tv` [K, 3] and `stand` [K, 3]: row, column and rotation; `visited` [K, H, W] bool: where the TV's centre has
        been.
        """
        self.cells[rows] = self._xp.take(self._rooms, slots, 0)
        codes, first = self.cells.reshape(-1), self.first_cells[rows]
        covered = self._covered(first + self._inside(stand), self._stand, stand)
        codes[covered] = codes.take(covered) & (255 - FLOOR) | STAND_BIT
        inside = self.cells.reshape(len(self.cells), -1, self.padded_width)[:, MARGIN:-MARGIN, MARGIN:-MARGIN]
        inside[rows] |= self._xp.astype(visited, self._xp.uint8) * VISITED
        self._put_tv(first + self._inside(tv), tv)

    def is_floor(self, rows: Rows, cells: Array) -> Array:
        """Whether agents may be in `cells` [K, J, 2] int of K worlds, [K, J] bool."""
        return (self.cells.reshape(-1).take(self.first_cells[rows][:, None] + self._inside(cells)) & FLOOR) != 0

    def allows_tv(self, slots: Array, tv: Array) -> Array:
        """Whether the TV may have the poses `tv` [K, 3] int in the rooms of `slots` [K] int, [K] bool."""
        rotations = self._tv_rotations.reshape(-1).take(slots * self._size + (self._inside(tv) + self._margin))
        return (rotations >> tv[:, 2] & 1) != 0

    def can_hold(self, tv: Array, agents: Array) -> Array:
        """See the function `can_hold`: TV [K, 3] and agents [K, N, 2] -> [K, N] bool."""
        return can_hold(tv, agents, self._hold_cells, self._xp)

    def move_tv(self, rows: Rows, before: Array, after: Array, visits: Array) -> None:
        """Move the TV of K worlds from `before` [K, 3] to `after` [K, 3], each row, column and rotation.

        Its new cell is visited where `visits` [K] bool holds.
        """
        codes, first = self.cells.reshape(-1), self.first_cells[rows]
        covered = self._covered(first + self._inside(before), self._tv_body, before)
        codes[covered] = codes.take(covered) & (255 - TV_BIT)
        centre = first + self._inside(after)
        self._put_tv(centre, after)
        codes[centre] = codes.take(centre) | self._xp.astype(visits, self._xp.uint8) * VISITED

    def _put_tv(self, centre: Array, tv: Array) -> None:
        """Mark the cells that the TV covers; cells outside the room's masks are never marked."""
        covered, codes = self._covered(centre, self._tv_body, tv), self.cells.reshape(-1)
        found = codes.take(covered)
        codes[covered] = found | (found & KNOWN) // (KNOWN // TV_BIT)

    def _covered(self, centre: Array, shape: Array, poses: Array) -> Array:
        """[K, J] int64, cells that a shape [4, J] covers around its centre [K] in K poses [K, 3]."""
        return centre[:, None] + self._xp.take(shape, poses[:, 2], 0)

    def _inside(self, cells: Array) -> Array:
        """Index of (row, column) cells [..., 2] in one flattened map, from the room's first cell."""
        return cells[..., 0] * self.padded_width + cells[..., 1]


def can_hold(tv: Array, agents: Array, hold_cells: Array = HOLD_CELLS, xp: ArrayLibrary = NUMPY) -> Array:
    """Whether agents [K, N, 2] can hold a TV [K, 3] from their cells, [K, N] bool.

    `hold_cells` is `HOLD_CELLS` [...] in the array library.
    """
    offset = (agents - tv[:, None, :2]).clip(-HOLD_REACH - 1, HOLD_REACH + 1)
    centre = tv[:, 2, None] * HOLD_SIDE**2 + HOLD_SIDE**2 // 2
    return xp.take(hold_cells, centre + offset[..., 0] * HOLD_SIDE + offset[..., 1])
