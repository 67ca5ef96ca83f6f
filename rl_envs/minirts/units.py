"""Objects of a game: finding, adding and removing their rows, and which cells hold them.

`g` is a record of `game.GAME`; a row number is valid until something is added or removed.
"""

import numpy as np

from rl_envs.core.compiled import kernel
from rl_envs.minirts.game import HISTORY, MAX_OBJECTS, OUTSIDE, PLAYER_SHIFT
from rl_envs.minirts.symbols import DRAGON, FINISHED, FIRST_BUILDING, MAX_HP, PLAYERS, RESOURCE, ROCK, SIDE, WATER

TOUCH = np.float32(np.float32(0.36) + np.float32(0.36))
TOUCH_2 = np.float32(TOUCH * TOUCH)
"""Two objects collide if the square of their distance is smaller."""
_LOW, _HIGH, _EDGE = np.float32(-0.5), np.float32(32.5), np.float32(31.5)


@kernel
def find(g, unit_id):
    """Row of an object; -1 if it does not exist."""
    low, high = 0, g.num_units - 1
    while low <= high:
        middle = (low + high) >> 1
        here = g.unit_id[middle]
        if here == unit_id:
            return middle
        if here < unit_id:
            low = middle + 1
        else:
            high = middle - 1
    return -1


@kernel
def copy_row(g, source, target):
    """Copy an object's row over another."""
    g.unit_id[target] = g.unit_id[source]
    g.unit_type[target] = g.unit_type[source]
    g.unit_player[target] = g.unit_player[source]
    g.unit_hp[target] = g.unit_hp[source]
    g.unit_x[target] = g.unit_x[source]
    g.unit_y[target] = g.unit_y[source]
    g.unit_born[target] = g.unit_born[source]
    g.unit_expire[target] = g.unit_expire[source]
    for k in range(4):
        g.unit_last[target, k] = g.unit_last[source, k]
    g.unit_order[target] = g.unit_order[source]
    g.unit_remembered[target] = g.unit_remembered[source]
    for k in range(PLAYERS):
        g.unit_seen_hp[target, k] = g.unit_seen_hp[source, k]
    g.unit_agent[target] = g.unit_agent[source]
    for k in range(HISTORY):
        g.unit_history[target, k] = g.unit_history[source, k]


@kernel
def add(g, player, kind, x, y, expire):
    """Add an object without any check; returns its row, -1 if there is no space."""
    if g.num_units >= MAX_OBJECTS:
        return -1
    unit_id = (player << PLAYER_SHIFT) + g.next_id
    row = g.num_units
    while row > 0 and g.unit_id[row - 1] > unit_id:
        copy_row(g, row - 1, row)
        row -= 1
    g.num_units += 1
    g.next_id += 1
    g.unit_id[row] = unit_id
    g.unit_type[row] = kind
    g.unit_player[row] = player
    g.unit_hp[row] = MAX_HP[kind] if expire == FINISHED else 0
    g.unit_x[row] = x
    g.unit_y[row] = y
    g.unit_born[row] = g.tick
    g.unit_expire[row] = expire
    g.unit_last[row, :] = 0
    g.unit_order[row] = -1
    g.unit_remembered[row] = 0
    g.unit_seen_hp[row, :] = 0
    g.unit_agent[row] = -1
    g.unit_history[row, :] = 0
    return row


@kernel
def remove(g, row):
    """Remove an object's row."""
    for k in range(row, g.num_units - 1):
        copy_row(g, k + 1, k)
    g.num_units -= 1


@kernel
def to_cell(coordinate):
    """Column or row of a position, in double precision and toward zero: -1.4 is cell 0, too."""
    return int(np.float64(coordinate) + 0.5)


@kernel
def cell_index(x, y):
    """Cell of a position."""
    return to_cell(y) * SIDE + to_cell(x)


@kernel
def is_inside(x, y):
    """Whether the cell of a position is on the map."""
    column, row = to_cell(x), to_cell(y)
    return 0 <= column < SIDE and 0 <= row < SIDE


@kernel
def may_stand(kind, ground):
    """Whether a type may be on this terrain."""
    return kind == DRAGON or (ground != WATER and ground != ROCK)


@kernel
def square(ax, ay, bx, by):
    """Square of a distance, float32."""
    dx = ax - bx
    dy = ay - by
    return dx * dx + dy * dy


@kernel
def is_irregular(x, y):
    """Whether a position is so far outside that it collides only with others there."""
    return x < _LOW or y < _LOW or x > _HIGH or y > _HIGH


@kernel
def is_free(g, x, y, row):
    """Whether no object but that of `row` collides with a position."""
    irregular = is_irregular(x, y)
    for other in range(g.num_units):
        dx = x - g.unit_x[other]
        dy = y - g.unit_y[other]
        if dx * dx + dy * dy < TOUCH_2 and other != row and is_irregular(g.unit_x[other], g.unit_y[other]) == irregular:
            return False
    return True


@kernel
def fits(g, kind, x, y, row):
    """Whether an object of this type could stand at a position: map, terrain, other objects."""
    if not g.quirks & OUTSIDE and (min(x, y) < _LOW or max(x, y) >= _EDGE):
        return False
    return is_inside(x, y) and may_stand(kind, g.terrain[cell_index(x, y)]) and is_free(g, x, y, row)


@kernel
def is_ghost(g, row):
    """Whether an object is not finished."""
    return g.unit_expire[row] != FINISHED


@kernel
def is_building(kind):
    """Whether a type is a building."""
    return kind >= FIRST_BUILDING


@kernel
def count_objects(g, player):
    """Number of objects of a side, ghosts included, resources not."""
    count = 0
    for row in range(g.num_units):
        if g.unit_player[row] == player and g.unit_type[row] != RESOURCE:
            count += 1
    return count
