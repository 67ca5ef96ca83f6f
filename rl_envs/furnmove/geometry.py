"""Shapes of FurnMove on its grid: the cells from which agents can hold the television, and the cells of TV and stand.

"A Cordial Sync" (Jain et al., ECCV 2020), section 3 and the gridworld of section 6.1: cells of 0.25 m, a television
carried at 1.3 m, agents that must stay within reach of it. Cells are (row, column); rows grow to the south, columns to
the east. Headings and rotations are clockwise quarter turns: 0 north (row - 1), 1 east (column + 1), 2 south, 3 west.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

CELL_METRES = 0.25
ROTATIONS = 4
MIN_AGENT_SEPARATION = 2
"""Least Chebyshev distance between two agents, in cells."""

STEPS = np.array([(-1, 0), (0, 1), (1, 0), (0, -1)], np.int64)
"""[4, 2] int64, (row, column) of a move by one cell to the north, east, south and west."""

TOO_FAR, TV_IS_HERE, MAY_HOLD = 0, 1, 2

HOLD_TEMPLATE = np.array(
    [
        [0, 0, 2, 2, 2, 2, 2, 2, 2, 0, 0],
        [0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 0],
        [2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2],
        [2, 2, 2, 1, 1, 1, 1, 1, 2, 2, 2],
        [2, 2, 2, 1, 1, 1, 1, 1, 2, 2, 2],
        [0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 0],
        [0, 0, 2, 2, 2, 2, 2, 2, 2, 0, 0],
    ],
    np.int8,
)
"""[7, 11] int8, north up, around a television of rotation 0: `MAY_HOLD`, `TV_IS_HERE` or `TOO_FAR`."""

HOLD_REACH = HOLD_TEMPLATE.shape[1] // 2
"""Largest row or column distance from the television's centre in `HOLD_MASKS`, in cells."""


def clockwise(offsets: NDArray[Any], quarter_turns: int) -> NDArray[Any]:
    """Turn (row, column) offsets about the origin: [K, 2] int -> [K, 2] int, in the same order."""
    for _ in range(quarter_turns % ROTATIONS):
        offsets = np.stack((offsets[:, 1], -offsets[:, 0]), axis=1)
    return offsets


def rectangle(rows: range, columns: range) -> NDArray[np.int64]:
    """All (row, column) pairs of a rectangle, row by row: [K, 2] int64."""
    return np.array([(row, column) for row in rows for column in columns], np.int64)


def _all_rotations(offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.stack([clockwise(offsets, rotation) for rotation in range(ROTATIONS)])


_SQUARE = np.pad(HOLD_TEMPLATE == MAY_HOLD, ((2, 2), (0, 0)))
HOLD_MASKS = np.stack([np.rot90(_SQUARE, -rotation) for rotation in range(ROTATIONS)])
"""[4, 11, 11] bool, cells from which an agent can hold the television in the middle; 52 cells per rotation."""

HOLD_SIDE = 2 * HOLD_REACH + 3
HOLD_CELLS = np.pad(HOLD_MASKS, ((0, 0), (1, 1), (1, 1))).reshape(-1)
"""[4 * 13 * 13] bool, `HOLD_MASKS` with a rim of cells that are too far away, flat."""

TV_BODY = _all_rotations(np.concatenate((rectangle(range(-1, 0), range(-1, 2)), rectangle(range(2), range(-2, 3)))))
"""[4, 13, 2] int64, offsets of the cells that the television covers, from its centre."""

TV_BAR = _all_rotations(rectangle(range(1), range(-2, 3)))
"""[4, 5, 2] int64, offsets of the cells whose centre the television is over."""

STAND = _all_rotations(rectangle(range(-1, 2), range(-2, 3)))
"""[4, 15, 2] int64, offsets of the cells that the stand covers: 3 x 5 for rotations 0 and 2, 5 x 3 for 1 and 3."""

for _constant in (STEPS, HOLD_CELLS, HOLD_TEMPLATE, HOLD_MASKS, TV_BODY, TV_BAR, STAND):
    _constant.flags.writeable = False


def cells_where_fits(allowed: NDArray[np.bool_], offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Centres at which a shape of cells `offsets` [K, 2] covers only allowed cells (none outside), [H, W] bool.

    `allowed` is [H, W] bool, the offsets are int64, relative to the centre.
    """
    height, width = allowed.shape
    margin = int(np.abs(offsets).max())
    padded = np.pad(allowed, margin)
    fits = np.ones_like(allowed)
    for row, column in (offsets + margin).tolist():
        fits &= padded[row : row + height, column : column + width]
    return fits
