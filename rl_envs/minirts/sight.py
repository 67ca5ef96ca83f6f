"""Sight of the two sides, a diamond around each own object, and their memory (sheet, section 1.7).

Sight is a mask of 32 bits a row of the map. Memory is one bit a side on each object that does not move, whether the
side has seen it where it stands, and its hp when it was last seen.
"""

import numpy as np

from rl_envs.core.compiled import kernel
from rl_envs.minirts.symbols import PLAYERS, RESOURCE, SIDE, SIGHT
from rl_envs.minirts.units import is_building, to_cell


def _diamonds() -> np.ndarray:
    """[32, 15] uint32, columns that an object in a column sees, by row from the topmost."""
    table = np.zeros((SIDE, 2 * SIGHT + 1), np.uint32)
    for column in range(SIDE):
        for row in range(2 * SIGHT + 1):
            reach = SIGHT - abs(row - SIGHT)
            for seen in range(max(column - reach, 0), min(column + reach, SIDE - 1) + 1):
                table[column, row] |= np.uint32(1 << seen)
    return table


DIAMOND = _diamonds()


@kernel
def look(g):
    """Update what both sides see and remember."""
    g.visible_rows[:, :] = 0
    for row in range(g.num_units):
        if g.unit_type[row] == RESOURCE:
            continue
        player = g.unit_player[row]
        column, centre = to_cell(g.unit_x[row]), to_cell(g.unit_y[row])
        for k in range(max(0, SIGHT - centre), min(2 * SIGHT + 1, SIDE + SIGHT - centre)):
            g.visible_rows[player, centre + k - SIGHT] |= DIAMOND[column, k]
    for player in range(PLAYERS):
        for row in range(SIDE):
            g.seen_rows[player, row] |= g.visible_rows[player, row]
    for row in range(g.num_units):
        kind = g.unit_type[row]
        for player in range(PLAYERS):
            stays = kind == RESOURCE or (is_building(kind) and g.unit_player[row] != player)
            if stays and is_visible(g, player, to_cell(g.unit_x[row]), to_cell(g.unit_y[row])):
                g.unit_remembered[row] |= np.uint8(1 << player)
                g.unit_seen_hp[row, player] = g.unit_hp[row]


@kernel
def is_visible(g, player, column, row):
    """Whether a side sees a cell now."""
    return (g.visible_rows[player, row] >> np.uint32(column)) & np.uint32(1) != 0


@kernel
def was_seen(g, player, column, row):
    """Whether a side has ever seen a cell."""
    return (g.seen_rows[player, row] >> np.uint32(column)) & np.uint32(1) != 0


@kernel
def sees(g, player, row):
    """Whether a side sees the cell of an object now."""
    return is_visible(g, player, to_cell(g.unit_x[row]), to_cell(g.unit_y[row]))


@kernel
def knows(g, player, row):
    """Whether a side sees an object, or remembers it where it stands."""
    return (g.unit_remembered[row] >> player) & 1 != 0 or sees(g, player, row)
