"""One step of a unit toward a position (sheet, section 1.4)."""

import math

import numpy as np

from rl_envs.core.compiled import kernel
from rl_envs.minirts.effects import STEP, queue
from rl_envs.minirts.game import FAILED_TICKS
from rl_envs.minirts.planner import plan
from rl_envs.minirts.symbols import SIDE, SPEED
from rl_envs.minirts.units import fits, square

_FAR = np.float32(1)
"""Square of the distance from which the path planner is used."""
_CLOSE = np.float32(0.4)
_ONE = np.float32(1)


@kernel
def walk(g, s, learned, row, x, y, clock):
    """Queue one step toward a position: straight, or else turned left or right; if all are blocked, the move fails.

    Gives the squared distance before the step, float32. A unit that has arrived still takes a last step.
    """
    from_x, from_y = g.unit_x[row], g.unit_y[row]
    away = square(x, y, from_x, from_y)
    if away > _FAR:
        way = plan(g, s, learned, row, x, y, clock)
        if way >= 0:
            x, y = np.float32(way % SIDE), np.float32(way // SIDE)
    dx, dy = x - from_x, y - from_y
    if abs(dx) < _CLOSE and abs(dy) < _CLOSE:
        return away
    shrink = shrunk(dx, dy, SPEED[g.unit_type[row]])
    dx, dy = dx * shrink, dy * shrink
    for step_x, step_y in ((dx, dy), (-dy, dx), (dy, -dx)):
        to_x, to_y = from_x + step_x, from_y + step_y
        if fits(g, g.unit_type[row], to_x, to_y, row):
            queue(s, STEP, g.unit_id[row], 0, 0, 0, to_x, to_y)
            return away
    g.failed[clock & (FAILED_TICKS - 1)] += 1
    return away


@kernel
def shrunk(dx, dy, longest):
    """Factor by which a vector is shortened to a length; 1 for a short one."""
    length = math.sqrt(dx * dx + dy * dy)
    return longest / length if length > longest else _ONE
