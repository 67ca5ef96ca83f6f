"""Gathering, building and training (sheet, section 1.5)."""

import numpy as np

from rl_envs.core.compiled import kernel
from rl_envs.minirts.effects import COOLDOWN, CREATE, HARVEST, MONEY, queue, queue_plain
from rl_envs.minirts.motion import walk
from rl_envs.minirts.symbols import (
    ARMY_TICKS,
    AT_RESOURCE,
    BUILDING_TICKS,
    CD_BUILD,
    CD_GATHER,
    COST,
    FINISHED,
    GATHER_TICKS,
    LOAD,
    PEASANT,
    PEASANT_TICKS,
    PLACE_GHOST,
    TO_HALL,
    TO_RESOURCE,
    WAITING,
    WALK,
    WORK,
    WORKED,
)
from rl_envs.minirts.units import find, fits, is_building, is_free, square

ARRIVED = np.float32(1)
"""Square of the distance at which a peasant is at its resource, hall or building site."""
_LOAD = np.float32(LOAD)
SPAWN_SPOTS = np.array(
    [(-1, 0), (1, 0), (0, -1), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1), (-2, 0), (2, 0), (0, -2), (0, 2)], np.float32
)
"""Offsets from a factory at which its units appear, in order: W, E, N, S, NW, SW, NE, SE, two cells away."""


def _around() -> np.ndarray:
    """[12, 2] float32, spots around a building site, of which one must be free."""
    steps = (-1.5, -0.5, 0.5, 1.5)
    return np.array([(x, y) for y in steps for x in steps if 1.5 in (abs(x), abs(y))], np.float32)


AROUND = _around()


@kernel
def gather(g, s, learned, row, order):
    """Run a gathering order; returns whether it is over."""
    resource, hall, clock = find(g, g.order_target[order]), find(g, g.order_hall[order]), g.order_tick[order]
    if resource < 0 or hall < 0:
        return True
    state = g.order_state[order]
    if state == AT_RESOURCE:
        if clock - g.unit_last[row, CD_GATHER] >= GATHER_TICKS:
            queue_plain(s, HARVEST, g.order_target[order], 0, 0, 0)
            g.order_state[order] = TO_HALL
        return False
    goal = resource if state == TO_RESOURCE else hall
    x, y = g.unit_x[goal], g.unit_y[goal]
    if walk(g, s, learned, row, x, y, clock) >= ARRIVED:
        return False
    if state == TO_RESOURCE:
        queue_plain(s, COOLDOWN, g.unit_id[row], CD_GATHER, 0, 0)
        g.order_state[order] = AT_RESOURCE
    else:
        income = int(_LOAD * g.order_scale[order])
        queue_plain(s, MONEY, g.unit_id[row], g.unit_player[row], income, 0)
        g.order_state[order] = TO_RESOURCE
    return False


@kernel
def build(g, s, learned, row, order):
    """Run a building order of a peasant, or of a building that trains a unit; returns whether it is over."""
    if is_building(g.order_type[order]):
        return construct(g, s, learned, row, order)
    return train(g, s, row, order)


@kernel
def construct(g, s, learned, row, order):
    """Place a ghost, walk to it, and work on it for 250 ticks."""
    player, kind, clock = g.unit_player[row], g.order_type[order], g.order_tick[order]
    x, y, state = g.order_x[order], g.order_y[order], g.order_state[order]
    if state == PLACE_GHOST:
        queue_plain(s, MONEY, g.unit_id[row], player, -COST[kind], 0)
        if not fits(g, kind, x, y, -1):
            queue_plain(s, MONEY, g.unit_id[row], player, COST[kind], 0)
            return True
        queue(s, CREATE, g.unit_id[row], player, kind, WAITING, x, y)
        g.order_paid[order], g.order_state[order] = 1, WALK
    elif state == WALK:
        if square(g.unit_x[row], g.unit_y[row], x, y) < ARRIVED:
            queue(s, CREATE, g.unit_id[row], player, kind, WORKED, x, y)
            queue_plain(s, COOLDOWN, g.unit_id[row], CD_BUILD, 0, 0)
            g.order_state[order] = WORK
        elif is_reachable(g, x, y, row):
            walk(g, s, learned, row, x, y, clock)
    elif clock - g.unit_last[row, CD_BUILD] >= BUILDING_TICKS:
        queue(s, CREATE, g.unit_id[row], player, kind, FINISHED, x, y)
        return True
    return False


@kernel
def is_reachable(g, x, y, row):
    """Whether one of the twelve spots around a building site is free."""
    for spot in range(len(AROUND)):
        if is_free(g, x + AROUND[spot, 0], y + AROUND[spot, 1], row):
            return True
    return False


@kernel
def train(g, s, row, order):
    """Pay, wait for the training time, and create the unit at the first free spot."""
    player, kind, state = g.unit_player[row], g.order_type[order], g.order_state[order]
    if state == PLACE_GHOST:
        queue_plain(s, MONEY, g.unit_id[row], player, -COST[kind], 0)
        g.order_paid[order], g.order_state[order] = 1, WALK
    elif state == WALK:
        queue_plain(s, COOLDOWN, g.unit_id[row], CD_BUILD, 0, 0)
        g.order_state[order] = WORK
    elif g.order_tick[order] - g.unit_last[row, CD_BUILD] >= (PEASANT_TICKS if kind == PEASANT else ARMY_TICKS):
        for spot in range(len(SPAWN_SPOTS)):
            x, y = g.unit_x[row] + SPAWN_SPOTS[spot, 0], g.unit_y[row] + SPAWN_SPOTS[spot, 1]
            if fits(g, g.unit_type[row], x, y, -1):
                queue(s, CREATE, g.unit_id[row], player, kind, FINISHED, x, y)
                return True
    return False
