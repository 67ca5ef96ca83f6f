"""The queue of effects: what orders and bullets change, first in, first out (golden README, step 5).

Orders read the state at the start of the tick and only queue effects. An effect may append further ones, so a unit that
dies in this tick still moves and shoots.
"""

import numpy as np

from rl_envs.core.compiled import kernel
from rl_envs.minirts.game import DOUBLE_ANSWER, MAX_BULLETS, MAX_EFFECTS, OVERDRAFT, PLAYER_SHIFT, REFUND
from rl_envs.minirts.orders import drop_registered, has_pending, issue_attack, registered
from rl_envs.minirts.symbols import ARMOUR, BUILD, CD_MOVE, COST, LOAD, POWER
from rl_envs.minirts.units import add, count_objects, find, fits, is_building, is_free, is_ghost, remove, square

STEP, SHOT, COOLDOWN, MONEY, CREATE, HIT, HARVEST, REMOVE = range(8)
SAME_PLACE = 1e-4
"""Square of a distance below which a ghost stands on a building site; compared in double precision."""


@kernel
def queue(s, kind, unit, other, a, b, x, y):
    """Add an effect; what its numbers mean depends on its kind, see `apply`."""
    at = s.num_effects
    if at >= MAX_EFFECTS:
        return
    s.effect_kind[at], s.effect_unit[at], s.effect_other[at] = kind, unit, other
    s.effect_a[at], s.effect_b[at], s.effect_x[at], s.effect_y[at] = a, b, x, y
    s.num_effects += 1


@kernel
def queue_plain(s, kind, unit, other, a, b):
    """Add an effect without a place."""
    queue(s, kind, unit, other, a, b, np.float32(0), np.float32(0))


@kernel
def apply_all(g, s):
    """Apply the whole queue and empty it."""
    at = 0
    while at < s.num_effects:
        apply(g, s, at)
        at += 1
    s.num_effects = 0


@kernel
def apply(g, s, at):
    """Apply one effect.

    unit, other, a, b, x, y mean: STEP object, -, -, -, place; SHOT shooter, target, hit points, -, place;
    COOLDOWN object, which; MONEY object, player, amount; CREATE builder, player, type, expire, place;
    HIT target, shooter, hit points; HARVEST resource; REMOVE object.
    """
    kind, unit, other = s.effect_kind[at], s.effect_unit[at], s.effect_other[at]
    a, b, x, y = s.effect_a[at], s.effect_b[at], s.effect_x[at], s.effect_y[at]
    if kind == STEP:
        step(g, unit, x, y)
    elif kind == SHOT:
        shoot(g, unit, other, a, x, y)
    elif kind == COOLDOWN:
        row = find(g, unit)
        if row >= 0:
            g.unit_last[row, other] = g.tick
    elif kind == MONEY:
        pay(g, s, unit, other, a, at)
    elif kind == CREATE:
        create(g, s, unit, other, a, b, x, y)
    elif kind == HIT:
        hit(g, s, unit, other, a)
    elif kind == HARVEST:
        harvest(g, s, unit)
    else:
        take_away(g, s, unit)


@kernel
def step(g, unit, x, y):
    """Move an object unless another one is there by now; terrain was tested before."""
    row = find(g, unit)
    if row >= 0 and is_free(g, x, y, row):
        g.unit_x[row], g.unit_y[row] = x, y
        g.unit_last[row, CD_MOVE] = g.tick


@kernel
def shoot(g, unit, target, power, x, y):
    """Add a bullet if the shooter still exists; it starts where the shooter stood."""
    at = g.num_bullets
    if find(g, unit) < 0 or at >= MAX_BULLETS:
        return
    g.bullet_x[at], g.bullet_y[at], g.bullet_from[at] = x, y, unit
    g.bullet_state[at], g.bullet_hit[at], g.bullet_target[at] = 0, power, target
    g.num_bullets += 1


@kernel
def pay(g, s, unit, player, amount, at):
    """Change a side's money; if it would fall below 0, nothing changes and the unit's order ends."""
    if g.money[player] + amount < 0:
        row = find(g, unit)
        if row >= 0:
            drop_registered(g, row)
        if not g.quirks & OVERDRAFT:
            cancel_queued(s, unit, at)
        return
    g.money[player] += amount


@kernel
def cancel_queued(s, unit, at):
    """Cancel the payments and creations that an object queued after place `at` of the queue."""
    for later in range(at + 1, s.num_effects):
        if s.effect_unit[later] == unit and s.effect_kind[later] in (MONEY, CREATE):
            s.effect_kind[later], s.effect_unit[later] = COOLDOWN, -1


@kernel
def create(g, s, builder, player, kind, expire, x, y):
    """Create an object; a building replaces its own ghost. If there is no space, the price is refunded.

    The order continues and may create the object later for free; without the quirk `refund` it ends.
    """
    if is_building(kind):
        ghost = ghost_at(g, player, kind, x, y)
        if ghost >= 0:
            remove(g, ghost)
    if count_objects(g, player) >= g.cap or not fits(g, kind, x, y, -1) or add(g, player, kind, x, y, expire) < 0:
        queue_plain(s, MONEY, -1, player, COST[kind], 0)
        row = find(g, builder)
        if row >= 0 and not g.quirks & REFUND:
            drop_registered(g, row)


@kernel
def ghost_at(g, player, kind, x, y):
    """Row of a side's ghost of a type on a place; -1 if there is none."""
    for row in range(g.num_units):
        if g.unit_player[row] == player and g.unit_type[row] == kind and is_ghost(g, row):
            if np.float64(square(g.unit_x[row], g.unit_y[row], x, y)) < SAME_PLACE:
                return row
    return -1


@kernel
def hit(g, s, target, shooter, power):
    """Damage an object. A dead one is removed last; a damaged survivor without an order attacks the shooter."""
    row = find(g, target)
    if row < 0 or g.unit_hp[row] <= 0:
        return
    damage = max(0, power - ARMOUR[g.unit_type[row]])
    g.unit_hp[row] -= damage
    if g.unit_hp[row] <= 0:
        queue_plain(s, REMOVE, target, 0, 0, 0)
    elif damage > 0 and g.unit_order[row] < 0 and POWER[g.unit_type[row]] > 0:
        if g.quirks & DOUBLE_ANSWER or not has_pending(g, target):
            issue_attack(g, target, shooter)


@kernel
def harvest(g, s, unit):
    """Take a load from a resource; an empty one is removed."""
    row = find(g, unit)
    if row < 0 or g.unit_hp[row] <= 0:
        return
    g.unit_hp[row] -= LOAD
    if g.unit_hp[row] <= 0:
        queue_plain(s, REMOVE, unit, 0, 0, 0)


@kernel
def take_away(g, s, unit):
    """Remove an object and clean up after its order."""
    row = find(g, unit)
    if row < 0:
        return
    order = registered(g, row)
    if order >= 0:
        clean_up(g, s, order)
    drop_registered(g, row)
    remove(g, find(g, unit))


@kernel
def clean_up(g, s, order):
    """End an unfinished order: a paid build is refunded after all other effects; its ghost is removed at once."""
    if g.order_kind[order] != BUILD or not g.order_paid[order]:
        return
    kind, player = g.order_type[order], g.order_unit[order] >> PLAYER_SHIFT
    queue_plain(s, MONEY, -1, player, COST[kind], 0)
    ghost = ghost_at(g, player, kind, g.order_x[order], g.order_y[order])
    if ghost >= 0:
        remove(g, ghost)
