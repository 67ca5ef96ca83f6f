"""Knowledge of a scripted side: its lists of objects, what is in production, distances (sheet, sections 1.8 and 1.10).

Lists hold row numbers by unit type, then by id, without ghosts.
"""

import numpy as np

from rl_envs.core.compiled import kernel
from rl_envs.minirts.orders import registered
from rl_envs.minirts.sight import knows
from rl_envs.minirts.symbols import BUILD, GATHER, HALL, MULTIPLIER, NUM_TYPES, PEASANT, PREFERENCE, RESOURCE, TOWER
from rl_envs.minirts.units import is_ghost, square

IDLE = 0
_NO_RANK = 1000


@kernel
def look_around(g, s, player):
    """Fill the lists of own objects, known enemies and known resources, and the counts of own types."""
    s.num_own = s.num_enemies = s.num_resources = 0
    s.own_count[:] = 0
    for kind in range(NUM_TYPES):
        for row in range(g.num_units):
            if g.unit_type[row] != kind or is_ghost(g, row):
                continue
            if kind == RESOURCE:
                if g.oracle[player] or knows(g, player, row):
                    s.resources[s.num_resources] = row
                    s.num_resources += 1
            elif g.unit_player[row] == player:
                s.own[s.num_own] = row
                s.num_own += 1
                s.own_count[kind] += 1
            elif g.oracle[player] or knows(g, player, row):
                s.enemies[s.num_enemies] = row
                s.num_enemies += 1
    count_production(g, s, player)


@kernel
def count_production(g, s, player):
    """Count own running build orders by type."""
    s.in_production[:] = 0
    for k in range(s.num_own):
        order = registered(g, s.own[k])
        if order >= 0 and g.order_kind[order] == BUILD:
            s.in_production[g.order_type[order]] += 1
    if g.script_queue[player] >= 0:
        s.in_production[g.script_queue[player]] += 1


@kernel
def current_order(g, row):
    """Kind of an object's registered order; IDLE without one."""
    order = registered(g, row)
    return int(g.order_kind[order]) if order >= 0 else IDLE


@kernel
def is_idle_or_gathering(g, row):
    """Whether an order of a peasant may be replaced."""
    kind = current_order(g, row)
    return kind in (IDLE, GATHER)


@kernel
def squared_distance(g, one, other):
    """Square of the distance of two objects."""
    return square(g.unit_x[one], g.unit_y[one], g.unit_x[other], g.unit_y[other])


@kernel
def is_threatening(g, s, enemy, reach):
    """Whether an enemy is near an own hall or tower; `reach` is squared."""
    for k in range(s.num_own):
        row = s.own[k]
        if g.unit_type[row] in (HALL, TOWER) and squared_distance(g, row, enemy) <= reach:
            return True
    return False


@kernel
def best_target(g, s, row, reach):
    """The candidate within a squared distance that an object attacks; -1 for none.

    The lowest preference wins, the first by id if equal; without any preference the first by id that can be damaged.
    A peasant is replaced by the nearest candidate that builds or trains, at any distance.
    """
    kind = g.unit_type[row]
    best, best_rank = -1, _NO_RANK
    for k in range(s.num_candidates):
        enemy = s.candidates[k]
        if squared_distance(g, row, enemy) > reach:
            continue
        rank = PREFERENCE[kind, g.unit_type[enemy]]
        if rank < 0:
            is_first = best < 0 or (best_rank == _NO_RANK and enemy < best)
            if is_first and MULTIPLIER[kind, g.unit_type[enemy]] > 0:
                best = enemy
        elif rank < best_rank:
            best, best_rank = enemy, rank
    if best >= 0 and g.unit_type[best] == PEASANT:
        builder = nearest_builder(g, s, row)
        return builder if builder >= 0 else best
    return best


@kernel
def nearest_builder(g, s, row):
    """The nearest candidate with a build order, the first by id if equally near; -1 for none."""
    nearest, distance = -1, np.float32(np.inf)
    for k in range(s.num_candidates):
        enemy = s.candidates[k]
        away = squared_distance(g, row, enemy)
        if (away < distance or (away == distance and enemy < nearest)) and current_order(g, enemy) == BUILD:
            nearest, distance = enemy, away
    return nearest
