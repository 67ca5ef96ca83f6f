"""The built-in opponents (sheet, section 1.10): simple, medium and strong.

A decision sets flags, then orders follow from them; the first order that a unit gets counts. Orders go to the engine in
the order of ids.
"""

import numpy as np

from rl_envs.core.compiled import kernel
from rl_envs.minirts.orders import issue
from rl_envs.minirts.script_orders import give_orders
from rl_envs.minirts.script_view import is_threatening, look_around
from rl_envs.minirts.sight import sees
from rl_envs.minirts.symbols import (
    ARCHER,
    BARRACK,
    BLACKSMITH,
    BUILDER,
    CAVALRY,
    COST,
    DRAGON,
    HALL,
    LEARNER,
    MAX_TYPES,
    MEDIUM,
    PASSIVE,
    PEASANT,
    SPEARMAN,
    STABLE,
    STRONG,
    SWORDMAN,
    TOWER,
    WORKSHOP,
)
from rl_envs.minirts.twister import draw_between, shuffle

FLAG_OF = np.array([-1, 1, 3, 2, 4, 6, 5, 7, 8, 9, 10, 11, -1, -1, 12, 13])
"""[U] number of the flag that requests a type."""
ATTACK_BASE, ATTACK_NEAR, TO_BASE, DEFEND, SCOUT, GATHER = 14, 15, 17, 18, 19, 20
SCRIPT_TYPES = np.array([SPEARMAN, SWORDMAN, CAVALRY, ARCHER, DRAGON])
NEAR_HOME = np.float32(25)
MANY_PEASANTS, TOWERS, ENOUGH_FOR_DRAGONS = 5, 2, 250
FEET = np.array([SPEARMAN, SWORDMAN, CAVALRY])
SEARCHED = np.array([DRAGON, SWORDMAN, SPEARMAN, CAVALRY, ARCHER])
COUNTERS = np.array([ARCHER, CAVALRY, SWORDMAN, SPEARMAN, -1])
"""Unit type that beats each type of SEARCHED; -1 is the foot type of an existing factory, or a random one."""
FACTORIES = np.array([BLACKSMITH, BARRACK, STABLE, WORKSHOP])
BEST_AGAINST = np.array([CAVALRY, SWORDMAN, SPEARMAN, DRAGON])
"""Unit type for each of FACTORIES that beats the likely army of an enemy that has this factory."""


@kernel
def start_script(g, player):
    """Draw a script's thresholds, and its type unless it is forced."""
    kind = g.script_kind[player]
    if kind == STRONG:
        g.script_least[player] = draw_between(g, player, 3, 5)
        g.script_most[player] = draw_between(g, player, 5, 7)
        g.script_types[player, 0] = -1
        return
    if g.script_forced[player, 0] >= 0:
        g.script_types[player, :] = g.script_forced[player]
    else:
        g.script_types[player, 0] = SCRIPT_TYPES[draw_between(g, player, 0, len(SCRIPT_TYPES) - 1)]
    if kind == MEDIUM:
        g.script_most[player] = draw_between(g, player, 5, 7)
        g.script_least[player] = draw_between(g, player, 3, 5)
    else:
        g.script_most[player] = g.script_least[player] = 3


@kernel
def decide(g, s, player):
    """Make one decision of a scripted side: set flags, derive orders and issue them."""
    if g.script_kind[player] == PASSIVE or g.script_kind[player] == LEARNER:
        return
    look_around(g, s, player)
    if s.own_count[HALL] == 0:
        return
    set_flags(g, s, player)
    shuffle(g, player, s.type_order)
    give_orders(g, s, player)
    issue_decided(g, s)


@kernel
def issue_decided(g, s):
    """Issue the decided orders in the order of ids."""
    for row in range(g.num_units):
        if s.give_kind[row] != 0:
            issue(
                g,
                g.unit_id[row],
                s.give_kind[row],
                s.give_target[row],
                s.give_type[row],
                s.give_hall[row],
                s.give_x[row],
                s.give_y[row],
                s.give_scale[row],
            )


@kernel
def request(s, kind, budget):
    """Request a type if the budget covers it; returns the remaining budget."""
    if COST[kind] <= budget:
        s.flags[FLAG_OF[kind]] = 1
        return budget - COST[kind]
    return budget


@kernel
def count_kind(s, kind):
    """Number of own objects of a type, those in production included."""
    return s.own_count[kind] + s.in_production[kind]


@kernel
def set_flags(g, s, player):
    """Set the flags of requested types and actions."""
    s.flags[:] = 0
    s.flags[GATHER] = 1
    for k in range(s.num_enemies):
        if is_threatening(g, s, s.enemies[k], NEAR_HOME):
            s.flags[DEFEND] = 1
        if sees(g, player, s.enemies[k]):
            s.flags[ATTACK_NEAR] = 1
    if g.script_kind[player] == STRONG:
        choose_counter(g, s, player)
    budget = g.money[player]
    if count_kind(s, PEASANT) < MANY_PEASANTS:
        budget = request(s, PEASANT, budget)
    if g.script_kind[player] == STRONG and g.script_types[player, 0] < 0:
        explore(g, s, player, budget)
        return
    if g.script_towers[player] and count_kind(s, TOWER) < TOWERS:
        budget = request(s, TOWER, budget)
    request_army(g, s, player, budget)


@kernel
def explore(g, s, player, budget):
    """Rules of the strong script without a known enemy army: scouting, towers, and dragons if it has money."""
    if not is_known(g, s, HALL):
        s.flags[SCOUT] = 1
    if count_kind(s, TOWER) < TOWERS:
        budget = request(s, TOWER, budget)
    if g.money[player] < ENOUGH_FOR_DRAGONS:
        return
    if count_kind(s, WORKSHOP) == 0:
        budget = request(s, WORKSHOP, budget)
    if s.own_count[WORKSHOP] > 0 and s.own_count[DRAGON] < g.script_most[player]:
        budget = request(s, DRAGON, budget)


@kernel
def request_army(g, s, player, budget):
    """Request the factory and a unit of the script's type, and decide whether to attack."""
    kind, wants = next_type(g, s, player)
    army = 0
    for k in range(MAX_TYPES):
        other = g.script_types[player, k]
        if other >= 0:
            army += s.own_count[other]
            if count_kind(s, BUILDER[other]) == 0:
                budget = request(s, BUILDER[other], budget)
    if wants and s.own_count[BUILDER[kind]] > 0:
        budget = request(s, kind, budget)
    knows_hall = is_known(g, s, HALL)
    if army >= g.script_least[player] or s.num_resources == 0 or s.own_count[PEASANT] == 0:
        s.flags[ATTACK_BASE] = 1
        if not s.flags[DEFEND] and not s.flags[ATTACK_NEAR] and not knows_hall:
            s.flags[SCOUT] = 1
    if is_known(g, s, DRAGON):
        s.flags[ATTACK_BASE] = 1
        if not knows_hall:
            s.flags[SCOUT] = 1


@kernel
def next_type(g, s, player):
    """The type to train next, and whether one is wanted at all.

    With several types each is trained to its share of the attack's size in turn, then the last one up to the limit.
    """
    types = g.script_types[player]
    number = (types >= 0).sum()
    army = 0
    for k in range(number):
        army += s.own_count[types[k]]
    if army >= g.script_most[player]:
        return types[0], False
    for k in range(number - 1):
        share = g.script_least[player] // number + (1 if k < g.script_least[player] % number else 0)
        if s.own_count[types[k]] < share:
            return types[k], True
    return types[number - 1], True


@kernel
def choose_counter(g, s, player):
    """Let the strong script choose the type that beats the visible army or factory."""
    for k in range(len(SEARCHED)):
        if is_known(g, s, SEARCHED[k]):
            g.script_types[player, 0] = COUNTERS[k] if COUNTERS[k] >= 0 else some_foot_type(g, s, player)
            return
    if g.script_types[player, 0] >= 0:
        return
    for k in range(len(FACTORIES)):
        if is_known(g, s, FACTORIES[k]):
            g.script_types[player, 0] = BEST_AGAINST[k]
            return


@kernel
def some_foot_type(g, s, player):
    """The foot type whose factory exists, or a random one."""
    for k in range(len(FEET)):
        if s.own_count[BUILDER[FEET[k]]] > 0:
            return FEET[k]
    return FEET[draw_between(g, player, 0, len(FEET) - 1)]


@kernel
def is_known(g, s, kind):
    """Whether an enemy of a type is known."""
    for k in range(s.num_enemies):
        if g.unit_type[s.enemies[k]] == kind:
            return True
    return False
