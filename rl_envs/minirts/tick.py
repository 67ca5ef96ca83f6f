"""One tick, in the order of events of the engine (golden README, "Order of events in tick t")."""

import numpy as np

from rl_envs.core.compiled import kernel
from rl_envs.minirts.combat import attack, fly
from rl_envs.minirts.economy import build, gather
from rl_envs.minirts.effects import apply_all, clean_up
from rl_envs.minirts.game import ABORT, FAILED_TICKS
from rl_envs.minirts.motion import walk
from rl_envs.minirts.orders import drop_ended, registered, sort_orders
from rl_envs.minirts.sight import look
from rl_envs.minirts.symbols import ATTACK, BUILD, CATAPULT, CHEAPEST, GATHER, HALL, MAX_HP, PEASANT, PLAYERS
from rl_envs.minirts.units import find, is_ghost

MOVED = np.float32(0.4)
"""Square of the distance at which a move is over."""
RUNNING, OVER, ABORTED = range(3)
ABORT_FAILURES, ABORT_TICKS = 250, 30


@kernel
def begin_tick(g):
    """Start a tick: forget its failed moves of earlier ticks, and raise the health of unfinished objects."""
    g.failed[g.tick & (FAILED_TICKS - 1)] = 0
    for row in range(g.num_units):
        if is_ghost(g, row):
            most = MAX_HP[g.unit_type[row]]
            g.unit_hp[row] = min(most, int((g.tick - g.unit_born[row]) / g.unit_expire[row] * most))


@kernel
def finish_tick(g, s, learned):
    """Everything after the decisions: bullets, orders, effects, sight, end test."""
    s.num_effects = 0
    fly(g, s)
    run_orders(g, s, learned)
    apply_all(g, s)
    drop_ended(g)
    look(g)
    g.winner = find_winner(g)
    if g.winner >= 0 or g.tick >= g.max_tick:
        g.result = OVER
    elif g.quirks & ABORT and is_jammed(g):
        g.result = ABORTED
    g.tick += 1


@kernel
def run_orders(g, s, learned):
    """Run all orders, which read the state at the start of the tick."""
    sort_orders(g)
    for order in range(g.num_orders):
        if g.order_kind[order] == 0:
            continue
        row = find(g, g.order_unit[order])
        if row < 0:
            g.order_kind[order] = 0
            continue
        if g.unit_order[row] != g.order_seq[order]:
            take_over(g, s, row, order)
            row = find(g, g.order_unit[order])
        if run(g, s, learned, row, order):
            g.order_kind[order] = 0
            g.unit_order[row] = -1
        g.order_tick[order] = g.tick + 1


@kernel
def take_over(g, s, row, order):
    """End a unit's order, with its refund, and register another one."""
    before = registered(g, row)
    if before >= 0:
        clean_up(g, s, before)
        g.order_kind[before] = 0
    g.unit_order[find(g, g.order_unit[order])] = g.order_seq[order]


@kernel
def run(g, s, learned, row, order):
    """Run one order; returns whether it is over."""
    kind = g.order_kind[order]
    if kind == ATTACK:
        return attack(g, s, learned, row, order)
    if kind == BUILD:
        return build(g, s, learned, row, order)
    if kind == GATHER:
        return gather(g, s, learned, row, order)
    return walk(g, s, learned, row, g.order_x[order], g.order_y[order], g.order_tick[order]) < MOVED


@kernel
def find_winner(g):
    """The side that has won, or -1 (sheet, section 1.6)."""
    halls, mobile = np.zeros(PLAYERS, np.int64), np.zeros(PLAYERS, np.int64)
    for row in range(g.num_units):
        kind = g.unit_type[row]
        if kind == HALL:
            halls[g.unit_player[row]] += 1
        elif PEASANT <= kind <= CATAPULT:
            mobile[g.unit_player[row]] += 1
    if (halls[0] > 0) != (halls[1] > 0):
        return 0 if halls[0] > 0 else 1
    broke = (mobile == 0) & (g.money < CHEAPEST)
    if broke[0] != broke[1]:
        return 1 if broke[0] else 0
    return -1


@kernel
def is_jammed(g):
    """Whether the engine stops the game for too many failed moves."""
    if g.failed[g.tick & (FAILED_TICKS - 1)] == 0:
        return False
    total = 0
    for k in range(min(g.tick, ABORT_TICKS)):
        total += g.failed[(g.tick - k) & (FAILED_TICKS - 1)]
    return total >= ABORT_FAILURES
