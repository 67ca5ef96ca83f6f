"""The learner's actions: their conversion into orders, and their legality (sheet, section 1.9).

An agent commands its own units by a table [50, 7]: command type, resource, enemy, unit type, building type, building
cell, cell to move to; rows are units in the order of the observation. Illegal choices are dropped.
"""

import numpy as np

from rl_envs.core.compiled import kernel
from rl_envs.minirts.game import HISTORY
from rl_envs.minirts.orders import registered
from rl_envs.minirts.script_orders import give, give_attack, towers_attack
from rl_envs.minirts.script_view import current_order, squared_distance
from rl_envs.minirts.symbols import (
    ATTACK,
    BUILD,
    BUILDER,
    CATAPULT,
    COST,
    FIRST_BUILDING,
    GATHER,
    HALL,
    MOVE,
    NO_TYPE,
    NOWHERE,
    NUM_TYPES,
    PEASANT,
    RAW_HIT,
    SIDE,
)
from rl_envs.minirts.units import is_building

COMMANDS = ("idle", "gather", "attack", "build building", "build unit", "move", "continue")
C_IDLE, C_GATHER, C_ATTACK, C_BUILDING, C_UNIT, C_MOVE, C_CONTINUE = range(7)
UNIT_FACTORS = ("command", "gather", "attack", "unit_type", "building_type", "building_cell", "move_cell")
MAX_LISTED = 50
"""Length of the lists of units, enemies and resources in observations and actions."""
_ZERO, _ONE = np.float32(0), np.float32(1)
_NO_PLACE = np.float32(NOWHERE)


@kernel
def command_number(kind, build_type):
    """Command number of an order."""
    if kind == GATHER:
        return C_GATHER
    if kind == ATTACK:
        return C_ATTACK
    if kind == MOVE:
        return C_MOVE
    if kind == BUILD:
        return C_BUILDING if is_building(build_type) else C_UNIT
    return C_IDLE


@kernel
def current_command(g, row):
    """Command number of an object's registered order."""
    order = registered(g, row)
    return command_number(g.order_kind[order], g.order_type[order]) if order >= 0 else C_IDLE


@kernel
def unit_class(kind):
    """0 peasant, 1 army, 2 building."""
    return 0 if kind == PEASANT else (1 if kind <= CATAPULT else 2)


@kernel
def assign_new_objects(g, s, player, agents):
    """Assign each new object to the agent with the fewest of its class, and start its command history."""
    counts = np.zeros((3, agents), np.int64)
    for k in range(s.num_own):
        row = s.own[k]
        if g.unit_agent[row] >= 0:
            counts[unit_class(g.unit_type[row]), g.unit_agent[row] % agents] += 1
    for row in range(g.num_units):
        if (
            g.unit_player[row] != player
            or g.unit_agent[row] >= 0
            or not 1 <= g.unit_type[row]
            or g.unit_expire[row] >= 0
        ):
            continue
        group = unit_class(g.unit_type[row])
        fewest = 0
        for agent in range(1, agents):
            if counts[group, agent] < counts[group, fewest]:
                fewest = agent
        g.unit_agent[row] = fewest
        counts[group, fewest] += 1
        g.unit_history[row, HISTORY - 1] = current_command(g, row)


@kernel
def note_commands(g, s):
    """Append the command of this decision to each own object's history."""
    for k in range(s.num_own):
        row = s.own[k]
        for j in range(HISTORY - 1):
            g.unit_history[row, j] = g.unit_history[row, j + 1]
        given = s.give_kind[row]
        g.unit_history[row, HISTORY - 1] = command_number(given, s.give_type[row]) if given else C_CONTINUE


@kernel
def command_all(g, s, player, tables, continues):
    """Turn the tables [N, 50, 7] of a side's agents into orders in `s.give_*`, from the lists of `look_around` in `s`.

    `continues` [N]: 1 for an agent that lets its orders continue; its towers still choose targets.
    """
    s.give_kind[:] = 0
    s.money_left = g.money[player]
    for agent in range(len(continues)):
        if continues[agent]:
            continue
        for k in range(min(s.num_own, MAX_LISTED)):
            row = s.own[k]
            if g.unit_agent[row] == agent and s.give_kind[row] == 0:
                command(g, s, row, tables[agent, k])
    towers_attack(g, s, player)


@kernel
def command(g, s, row, action):
    """Turn one row of a table into an order; an illegal one is dropped."""
    chosen = action[0]
    if not may_command(g, row, chosen):
        return
    if chosen == C_GATHER and action[1] < s.num_resources:
        hall = nearest_hall(g, s, row)
        if hall >= 0:
            give(s, row, GATHER, g.unit_id[s.resources[action[1]]], NO_TYPE, g.unit_id[hall], _ZERO, _ZERO)
            s.give_scale[row] = _ONE
    elif chosen == C_ATTACK and action[2] < s.num_enemies:
        give_attack(g, s, row, s.enemies[action[2]])
    elif chosen == C_MOVE:
        give(s, row, MOVE, -1, NO_TYPE, -1, np.float32(action[6] % SIDE), np.float32(action[6] // SIDE))
    elif chosen == C_UNIT and can_make(g, s, row, action[3]) and action[3] < FIRST_BUILDING:
        s.money_left -= COST[action[3]]
        give(s, row, BUILD, -1, action[3], -1, _NO_PLACE, _NO_PLACE)
    elif chosen == C_BUILDING and can_make(g, s, row, action[4]) and action[4] >= FIRST_BUILDING:
        s.money_left -= COST[action[4]]
        x, y = np.float32(action[5] % SIDE), np.float32(action[5] // SIDE)
        give(s, row, BUILD, -1, action[4], -1, x, y)


@kernel
def may_command(g, row, chosen):
    """Whether an object can have a command type."""
    kind = g.unit_type[row]
    if chosen in (C_GATHER, C_BUILDING):
        return kind == PEASANT and not (chosen == C_BUILDING and current_order(g, row) == BUILD)
    if chosen == C_ATTACK:
        return RAW_HIT[kind, kind] > 0
    if chosen == C_MOVE:
        return PEASANT <= kind <= CATAPULT
    return chosen == C_UNIT and is_building(kind) and current_order(g, row) == 0


@kernel
def can_make(g, s, row, kind):
    """Whether an object makes a type and the money that is left covers it."""
    return 0 <= kind < NUM_TYPES and BUILDER[kind] == g.unit_type[row] and COST[kind] <= s.money_left


@kernel
def nearest_hall(g, s, row):
    """The nearest own hall; -1 for none."""
    nearest = -1
    for k in range(s.num_own):
        hall = s.own[k]
        if g.unit_type[hall] == HALL and (
            nearest < 0 or squared_distance(g, row, hall) < squared_distance(g, row, nearest)
        ):
            nearest = hall
    return nearest
