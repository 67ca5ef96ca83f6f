"""Running orders: issuing, the order in which they run, and which one is a unit's own (golden README, step 4).

A unit's registered order is the one that ran last for the first time; its number `seq` stands in `unit_order`.
"""

import numpy as np

from rl_envs.core.compiled import kernel
from rl_envs.minirts.game import MAX_ORDERS
from rl_envs.minirts.symbols import ATTACK, GATHER, NO_TYPE
from rl_envs.minirts.units import find, is_building, is_ghost

TAKEN, SAME_TARGET, SAME_RESOURCE, ON_GHOST, BUSY = range(5)
"""Results of issuing an order; an order with any result but TAKEN is dropped."""


@kernel
def registered(g, row):
    """Index of an object's registered order; -1 if it has none."""
    seq = g.unit_order[row]
    if seq < 0:
        return -1
    for order in range(g.num_orders):
        if g.order_seq[order] == seq and g.order_kind[order] != 0:
            return order
    return -1


@kernel
def drop_registered(g, row):
    """End an object's registered order without cleaning up."""
    order = registered(g, row)
    if order >= 0:
        g.order_kind[order] = 0
    g.unit_order[row] = -1


@kernel
def order_outcome(g, row, kind, target, hall):
    """Whether an order to an object is taken, or why it is dropped."""
    order = registered(g, row)
    running = g.order_kind[order] if order >= 0 else 0
    if kind == ATTACK:
        other = find(g, target)
        if other >= 0 and is_ghost(g, other):
            return ON_GHOST
        if running == ATTACK and g.order_target[order] == target:
            return SAME_TARGET
    if kind == GATHER and running == GATHER and g.order_target[order] == target and g.order_hall[order] == hall:
        return SAME_RESOURCE
    return BUSY if running != 0 and is_building(g.unit_type[row]) else TAKEN


@kernel
def issue(g, unit, kind, target, build_type, hall, x, y, scale):
    """Issue an order to an existing unit; returns its result."""
    row = find(g, unit)
    fate = order_outcome(g, row, kind, target, hall)
    if fate == TAKEN:
        append(g, unit, kind, target, build_type, hall, x, y, scale)
    return fate


@kernel
def issue_attack(g, unit, target):
    """Let a unit answer an attack; it runs in the next tick with this tick's clock."""
    append(g, unit, ATTACK, target, NO_TYPE, -1, np.float32(0), np.float32(0), np.float32(0))


@kernel
def has_pending(g, unit):
    """Whether an order to a unit waits or runs."""
    for order in range(g.num_orders):
        if g.order_unit[order] == unit and g.order_kind[order] != 0:
            return True
    return False


@kernel
def append(g, unit, kind, target, build_type, hall, x, y, scale):
    """Add an order to the list."""
    at = g.num_orders
    if at >= MAX_ORDERS - 1:
        return
    g.order_seq[at], g.order_unit[at], g.order_kind[at] = g.next_seq, unit, kind
    g.order_target[at], g.order_type[at], g.order_hall[at] = target, build_type, hall
    g.order_x[at], g.order_y[at], g.order_scale[at] = x, y, scale
    g.order_state[at], g.order_paid[at] = 0, 0
    g.order_tick[at], g.order_start[at] = g.tick, g.tick
    g.num_orders += 1
    g.next_seq += 1


@kernel
def move_order(g, source, target):
    """Copy an order over another."""
    g.order_seq[target] = g.order_seq[source]
    g.order_unit[target] = g.order_unit[source]
    g.order_kind[target] = g.order_kind[source]
    g.order_target[target] = g.order_target[source]
    g.order_type[target] = g.order_type[source]
    g.order_hall[target] = g.order_hall[source]
    g.order_x[target] = g.order_x[source]
    g.order_y[target] = g.order_y[source]
    g.order_scale[target] = g.order_scale[source]
    g.order_state[target] = g.order_state[source]
    g.order_paid[target] = g.order_paid[source]
    g.order_tick[target] = g.order_tick[source]
    g.order_start[target] = g.order_start[source]


@kernel
def comes_before(g, one, other):
    """Whether an order runs before another: older clock, then newer issue, then smaller number."""
    if g.order_tick[one] != g.order_tick[other]:
        return g.order_tick[one] < g.order_tick[other]
    if g.order_start[one] != g.order_start[other]:
        return g.order_start[one] > g.order_start[other]
    return g.order_seq[one] < g.order_seq[other]


@kernel
def sort_orders(g):
    """Sort the list by insertion; most ticks find it sorted. The last place of the arrays is room for one."""
    spare = MAX_ORDERS - 1
    for k in range(1, g.num_orders):
        if not comes_before(g, k, k - 1):
            continue
        move_order(g, k, spare)
        at = k
        while at > 0 and comes_before(g, spare, at - 1):
            move_order(g, at - 1, at)
            at -= 1
        move_order(g, spare, at)


@kernel
def drop_ended(g):
    """Remove ended orders from the list."""
    kept = 0
    for k in range(g.num_orders):
        if g.order_kind[k] != 0:
            if kept != k:
                move_order(g, k, kept)
            kept += 1
    g.num_orders = kept
