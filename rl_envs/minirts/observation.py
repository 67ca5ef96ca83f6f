"""Observations of a side (sheet, section 1.8): the map, lists of objects, commands, counts.

Lists are sorted by type, then by id, and hold 50 objects at most. Enemies and resources are those in sight or
remembered; `oracle` shows all. hp is the true fraction, of remembered objects when they were last seen. The engine's
own form is 1 at full health, else 0, and uses the current health of remembered objects, too.
"""

import numpy as np

from rl_envs.core.compiled import kernel
from rl_envs.minirts.factored import C_ATTACK, C_GATHER, MAX_LISTED, current_command, may_command
from rl_envs.minirts.game import HISTORY
from rl_envs.minirts.orders import registered
from rl_envs.minirts.sight import sees
from rl_envs.minirts.symbols import BUILD, FOG, MAX_HP, MOVE, NUM_CELLS, NUM_TYPES, SIDE
from rl_envs.minirts.units import is_building

NUM_COUNTS = 34
NUM_PLANES = 42
"""y, x, visible, seen, unseen, terrain (6), own by type (15), enemies by type (15), resources."""
_SIGHT_PLANE, _TERRAIN_PLANE, _OWN_PLANE, _ENEMY_PLANE, _RESOURCE_PLANE = 2, 5, 11, 26, 41
MONEY_BINS, MONEY_BIN = 11, 50
_DECAY = np.float32(0.98)
_FRESH = np.float32(np.float32(1) - _DECAY)

LIST_NAMES = ("own", "enemy", "resource")
OBSERVATION = np.dtype(
    [
        ("map", "u1", (NUM_PLANES, SIDE, SIDE)),
        *[(f"num_{name}", "u1") for name in LIST_NAMES],
        *[(f"{name}_type", "u1", (MAX_LISTED,)) for name in LIST_NAMES],
        *[(f"{name}_hp", "f4", (MAX_LISTED,)) for name in LIST_NAMES],
        *[(f"{name}_{axis}", "u1", (MAX_LISTED,)) for name in LIST_NAMES for axis in "xy"],
        *[(f"{name}_in_sight", "u1", (MAX_LISTED,)) for name in LIST_NAMES[1:]],
        *[(f"command_{name}", "u1", (MAX_LISTED,)) for name in ("type", "unit_type", "x", "y", "gather", "attack")],
        ("past_commands", "u1", (MAX_LISTED, HISTORY)),
        ("money", "i4"),
        ("money_bin", "u1", (MONEY_BINS,)),
        ("count", "f4", (NUM_COUNTS,)),
        ("in_production", "u1", (NUM_TYPES,)),
        ("enemy_average", "f4", (NUM_TYPES,)),
        ("owner", "i1", (MAX_LISTED,)),
        ("legal_command", "u1", (MAX_LISTED, 7)),
    ],
    align=True,
)
"""One side's observation, as a kernel writes it."""
OBSERVATION_NAMES: tuple[str, ...] = OBSERVATION.names or ()


@kernel
def average_enemies(g, s, player):
    """Update the running average of known enemies by type, once a decision."""
    counts = np.zeros(NUM_TYPES, np.float32)
    for k in range(s.num_enemies):
        counts[g.unit_type[s.enemies[k]]] += np.float32(1)
    for kind in range(NUM_TYPES):
        g.enemy_average[player, kind] = g.enemy_average[player, kind] * _DECAY + counts[kind] * _FRESH


@kernel
def observe(g, s, player, out, true_hp):
    """Write what a side observes into `out`, a zeroed record of `OBSERVATION`; `look_around` must have filled `s`.

    With `true_hp`, hp is the true fraction.
    """
    observe_cells(g, player, out)
    out.num_own = observe_list(
        g, player, s.own, s.num_own, out.map, _OWN_PLANE - 1, true_hp, out.own_type, out.own_hp, out.own_x, out.own_y
    )
    out.num_enemy = observe_list(
        g, player, s.enemies, s.num_enemies, out.map, _ENEMY_PLANE - 1, true_hp, out.enemy_type, out.enemy_hp,
        out.enemy_x, out.enemy_y,
    )  # fmt: skip
    out.num_resource = observe_list(
        g, player, s.resources, s.num_resources, out.map, _RESOURCE_PLANE, true_hp, out.resource_type,
        out.resource_hp, out.resource_x, out.resource_y,
    )  # fmt: skip
    for k in range(out.num_enemy):
        out.enemy_in_sight[k] = sees(g, player, s.enemies[k])
    for k in range(out.num_resource):
        out.resource_in_sight[k] = sees(g, player, s.resources[k])
    observe_commands(g, s, out)
    observe_counts(g, s, player, out)


@kernel
def observe_cells(g, player, out):
    """Coordinates, sight and known terrain."""
    for y in range(SIDE):
        now, once = g.visible_rows[player, y], g.seen_rows[player, y]
        for x in range(SIDE):
            out.map[0, y, x], out.map[1, y, x] = y, x
            seen = (once >> np.uint32(x)) & np.uint32(1)
            state = 2 - int(seen) - int((now >> np.uint32(x)) & np.uint32(1))
            out.map[_SIGHT_PLANE + state, y, x] = 1
            ground = g.terrain[y * SIDE + x] if seen else FOG
            out.map[_TERRAIN_PLANE + ground, y, x] = 1
            out.count[state] += np.float32(1)
    for state in range(3):
        out.count[state] /= np.float32(NUM_CELLS)


@kernel
def truncated(coordinate):
    """Column or row of a position in observations: truncated, not rounded."""
    return int(max(coordinate, np.float32(0)))


@kernel
def observe_list(g, player, rows, number, planes, first_plane, true_hp, types, hp, xs, ys):
    """Write a list and its planes; returns its length."""
    for k in range(number):
        row = rows[k]
        kind, x, y = g.unit_type[row], truncated(g.unit_x[row]), truncated(g.unit_y[row])
        planes[first_plane + kind, y, x] += 1
        if k >= MAX_LISTED:
            continue
        types[k], xs[k], ys[k], hp[k] = kind, x, y, shown_hp(g, player, row, true_hp)
    return min(number, MAX_LISTED)


@kernel
def shown_hp(g, player, row, true_hp):
    """Health of an object as a side observes it."""
    most = MAX_HP[g.unit_type[row]]
    if not true_hp:
        return np.float32(1) if g.unit_hp[row] >= most else np.float32(0)
    is_known = g.oracle[player] or sees(g, player, row)
    hp = g.unit_hp[row] if is_known else g.unit_seen_hp[row, player]
    return np.float32(hp) / np.float32(most)


@kernel
def observe_commands(g, s, out):
    """Present and past commands, owners and legal commands of the own units."""
    for k in range(min(s.num_own, MAX_LISTED)):
        row = s.own[k]
        out.owner[k] = g.unit_agent[row]
        for j in range(HISTORY):
            out.past_commands[k, j] = g.unit_history[row, j]
        for chosen in range(7):
            out.legal_command[k, chosen] = chosen == 6 or may_command(g, row, chosen)
        order = registered(g, row)
        if order >= 0:
            observe_command(g, s, row, order, k, out)


@kernel
def observe_command(g, s, row, order, k, out):
    """One unit's present command; one whose target is not known any more shows as idle."""
    command, kind = current_command(g, row), g.order_kind[order]
    if command == C_GATHER or command == C_ATTACK:
        rows, number = (s.resources, s.num_resources) if command == C_GATHER else (s.enemies, s.num_enemies)
        for j in range(min(number, MAX_LISTED)):
            if g.unit_id[rows[j]] == g.order_target[order]:
                out.command_type[k] = command
                if command == C_GATHER:
                    out.command_gather[k] = j
                else:
                    out.command_attack[k] = j
                    out.command_unit_type[k] = g.unit_type[rows[j]]
        return
    out.command_type[k] = command
    if kind == BUILD:
        out.command_unit_type[k] = g.order_type[order]
    if kind == MOVE or (kind == BUILD and is_building(g.order_type[order])):
        out.command_x[k], out.command_y[k] = truncated(g.order_x[order]), truncated(g.order_y[order])


@kernel
def observe_counts(g, s, player, out):
    """Money, numbers of objects, production and the average of enemies."""
    out.money = g.money[player]
    out.money_bin[min(g.money[player] // MONEY_BIN, MONEY_BINS - 1)] = 1
    for k in range(s.num_own):
        out.count[2 + g.unit_type[s.own[k]]] += np.float32(1)
    for k in range(s.num_enemies):
        out.count[17 + g.unit_type[s.enemies[k]]] += np.float32(1)
    out.count[NUM_COUNTS - 1] = np.float32(s.num_resources)
    for kind in range(NUM_TYPES):
        out.in_production[kind] = s.in_production[kind]
        out.enemy_average[kind] = g.enemy_average[player, kind]
