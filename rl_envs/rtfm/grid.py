"""Tables of a walled square room: the target of every move, the legal moves, and the walk of monsters.

The number of a cell is row * size + column. Cell 0 is a corner of the wall, which no entity can enter, so it also means
"nowhere". RTFM, section 3; for the walk of monsters the authors' engine, in which they see five cells far.
"""

from functools import cache

import numpy as np

from rl_envs.core.spec import Array

MOVES = ("stay", "up", "down", "left", "right")
NUM_MOVES = len(MOVES)
AGENT_COLOURS = ((37, 99, 214), (219, 62, 50), (126, 58, 172))
"""Colours of the agents in images."""
STEPS = np.array([[0, 0], [-1, 0], [1, 0], [0, -1], [0, 1]])
SIGHT = 5
"""Euclidean distance, in cells, up to which a monster notices an agent."""
WALKS = 300
"""Number of equally likely draws of a monster's move; a multiple of all denominators that its choices need."""
_CHASES, _FIRST_AXIS, _WANDERS = 180, 90, 60
MIN_SIZE, MAX_SIZE = 5, 15


class Grid:
    """The tables of a room of one size."""

    def __init__(self, size: int) -> None:
        """Compute the tables."""
        self.size = size  # side of the room in cells, walls included
        cells = np.arange(size * size)
        places = np.stack(np.divmod(cells, size), axis=1)
        is_inside = np.logical_and.reduce((places > 0) & (places < size - 1), axis=1)
        self.inside = cells[is_inside]  # [C] int64, cells that are not wall
        self.coordinates = places.astype(np.uint8)  # [size^2, 2] uint8, row and column of each cell
        targets = (cells[:, None] + STEPS @ (size, 1)).clip(0, len(cells) - 1)
        # [size^2, 5] bool, moves that do not lead into a wall; only stay is legal in a wall
        self.is_legal = is_inside[targets] & is_inside[:, None]
        self.is_legal[:, 0] = True
        # [size^2, 5] int64, cell after a move; the same cell for a move into a wall
        self.target = np.where(self.is_legal, targets, cells[:, None])
        apart = places[:, None] - places
        self.distance = (apart**2).sum(-1)  # [size^2, size^2] int64, squared Euclidean distances
        self._chase = self._chasing_targets(apart)
        ways = (self.target[cell, self.is_legal[cell]] for cell in cells)
        self._wander = np.stack([np.repeat(targets, _WANDERS // len(targets)) for targets in ways])

    def walk(self, monsters: Array, prey: Array, draws: Array) -> Array:
        """Cells [...] that monsters intend to enter: with probability 0.6 toward a prey in sight, else any legal move.

        A monster for which two moves come closer takes either. A monster in its prey's cell stays there. `monsters`
        [...] and `prey` [...] are cells, `draws` [...] uniform in 0 .. WALKS - 1, int each.
        """
        chase = self._chase[monsters, prey, (draws < _FIRST_AXIS).view(np.int8)]
        wander = self._wander[monsters, draws % _WANDERS]
        return np.where((draws < _CHASES) & (chase > 0), chase, wander)

    def _chasing_targets(self, apart: Array) -> Array:
        """[size^2, size^2, 2] int64, next cell by monster's cell, prey's cell and axis; 0 if out of sight."""
        cells = np.arange(self.size**2)
        steps = -np.sign(apart) * (self.size, 1)
        either = np.where(steps == 0, steps[..., ::-1], steps)
        return np.where((self.distance <= SIGHT**2)[..., None], cells[:, None, None] + either, 0)


@cache
def make_grid(size: int) -> Grid:
    """The tables of a size, made once per process."""
    return Grid(size)
