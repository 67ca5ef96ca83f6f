"""The rooms of B worlds as bit maps, and the tests that the rules of FurnMove need.

This file has cells and bits; moves and rewards are in `world.py`.
"""

from __future__ import annotations

import numpy as np

from rl_envs.core.spec import Array
from rl_envs.furnmove.compiled_room import CompiledRoom
from rl_envs.furnmove.geometry import HOLD_MASKS, HOLD_REACH, STAND, TV_BODY
from rl_envs.furnmove.observation import FLOOR, KNOWN, MARGIN, VISITED
from rl_envs.furnmove.observation import STAND as STAND_BIT
from rl_envs.furnmove.observation import TV_BODY as TV_BIT


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
        """Whether an agent may be in `cells` [..., 2] of worlds `rows` [...], [...] bool."""
        return (self.cells.reshape(-1)[self._flat(rows, cells)] & FLOOR) != 0

    def allows_tv(self, rows: Array, tv: Array) -> Array:
        """Whether the TV may have the poses `tv` [K, 3], [K] bool."""
        return (self._tv_rotations.reshape(-1)[self._flat(rows, tv[:, :2])] >> tv[:, 2] & 1) != 0

    def put_tv(self, rows: Array, tv: Array) -> None:
        """Mark the cells that the TV covers; cells outside the room's masks are never marked."""
        covered, codes = self._body(rows, tv), self.cells.reshape(-1)
        codes[covered] |= ((codes[covered] & KNOWN) != 0) * TV_BIT

    def take_tv(self, rows: Array, tv: Array) -> None:
        """Unmark the cells that the TV covered."""
        self.cells.reshape(-1)[self._body(rows, tv)] &= ~TV_BIT

    def visit(self, rows: Array, tv: Array) -> None:
        """Mark the cell of the TV's centre as visited."""
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
    """Whether agents can hold a TV from their cells: tv [K, 3], agents [K, N, 2] -> [K, N] bool."""
    offset = agents - tv[:, None, :2]
    near = (abs(offset) <= HOLD_REACH).all(-1)
    offset = np.clip(offset, -HOLD_REACH, HOLD_REACH) + HOLD_REACH
    return near & HOLD_MASKS[tv[:, 2, None], offset[..., 0], offset[..., 1]]
