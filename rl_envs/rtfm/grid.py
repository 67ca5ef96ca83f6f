"""Tables of a walled square room: where every move leads, what is legal, how a monster walks.

Cells are numbered row * size + column. Cell 0 is a corner of the wall where nobody can be, so it also stands for
"nowhere". RTFM, section 3, and for the walk of the monsters the authors' engine, which lets them see five cells far.
This file must not know who stands where.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from rl_envs.core.spec import Array

MOVES = ("stay", "up", "down", "left", "right")
NUM_MOVES = len(MOVES)
STEPS = np.array([[0, 0], [-1, 0], [1, 0], [0, -1], [0, 1]])
SIGHT = 5
"""Euclidean distance, in cells, up to which a monster notices an agent."""
WALKS = 300
"""A monster's draw is one of so many equally likely numbers, a multiple of everything that its choices divide by."""
_CHASES, _FIRST_AXIS, _WANDERS = 180, 90, 60
MIN_SIZE, MAX_SIZE = 5, 15


class Grid:
    """The tables of one size.

    Attributes:
        size: side of the room in cells, walls included.
        inside: [C] int64, cells that are not wall.
        coordinates: [size^2, 2] uint8, row and column of each cell.
        is_legal: [size^2, 5] bool, moves that do not lead into a wall; only stay is legal in a wall.
        target: [size^2, 5] int64, where a move leads; nowhere else if into a wall.
        distance: [size^2, size^2] int64, squared Euclidean distances.
    """

    def __init__(self, size: int) -> None:
        """Tabulate.

        Raises:
            ValueError: a size for which cells cannot be counted in a byte, or in which nothing fits.
        """
        if not MIN_SIZE <= size <= MAX_SIZE:
            raise ValueError(f"size counts the walls and must be {MIN_SIZE} to {MAX_SIZE} cells, got {size}")
        self.size = size
        cells = np.arange(size * size)
        places = np.stack(np.divmod(cells, size), axis=1)
        is_inside = np.logical_and.reduce((places > 0) & (places < size - 1), axis=1)
        self.inside = cells[is_inside]
        self.coordinates = places.astype(np.uint8)
        targets = (cells[:, None] + STEPS @ (size, 1)).clip(0, len(cells) - 1)
        self.is_legal = is_inside[targets] & is_inside[:, None]
        self.is_legal[:, 0] = True
        self.target = np.where(self.is_legal, targets, cells[:, None])
        apart = places[:, None] - places
        self.distance = (apart**2).sum(-1)
        self._chase = self._chasing_targets(apart)
        self._wander = np.stack([_spread(self.target[cell, self.is_legal[cell]]) for cell in cells])

    def walk(self, monsters: Array, prey: Array, draws: Array) -> Array:
        """Where monsters mean to go: toward the prey with probability 0.6 if they see it, else any legal way.

        A monster that comes closer by two moves takes either; that stays where it shares its prey's cell.

        Args:
            monsters: any shape, their cells.
            prey: same shape, cells of the agents that they would chase.
            draws: same shape, uniform in 0 .. WALKS - 1.

        Returns:
            same shape int64, cells.
        """
        chase = self._chase[monsters, prey, (draws < _FIRST_AXIS).view(np.int8)]
        wander = self._wander[monsters, draws % _WANDERS]
        return np.where((draws < _CHASES) & (chase > 0), chase, wander)

    def _chasing_targets(self, apart: Array) -> Array:
        """[size^2, size^2, 2] int64, the next cell by monster's, prey's cell and axis; 0 if out of sight."""
        cells = np.arange(self.size**2)
        steps = -np.sign(apart) * (self.size, 1)
        either = np.where(steps == 0, steps[..., ::-1], steps)
        return np.where((self.distance <= SIGHT**2)[..., None], cells[:, None, None] + either, 0)


@cache
def grid_of(size: int) -> Grid:
    """The tables of a size, made once a process."""
    return Grid(size)


def _spread(targets: Array) -> Array:
    """These equally likely cells as a table of `_WANDERS` entries."""
    return np.repeat(targets, _WANDERS // len(targets))
