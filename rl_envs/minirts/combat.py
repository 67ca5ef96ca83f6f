"""Attack orders and bullets (sheet, section 1.4; golden README, steps 3 and 4)."""

import numpy as np

from rl_envs.core.compiled import kernel
from rl_envs.minirts.effects import COOLDOWN, HIT, SHOT, queue, queue_plain
from rl_envs.minirts.motion import shrunk, walk
from rl_envs.minirts.sight import knows
from rl_envs.minirts.symbols import CD_ATTACK, RANGE, RAW_HIT, RELOAD
from rl_envs.minirts.units import find, square

HITS_WITHIN = np.float32(np.float32(0.3) * np.float32(0.3))
BULLET_SPEED = np.float32(0.2)
FLYING, SPENT, GONE = 3, 4, 7
"""States of a bullet: 0 to FLYING flies, SPENT to 6 has hit and waits, GONE is removed."""


@kernel
def attack(g, s, learned, row, order):
    """Run an attack order; returns whether it is over."""
    target, clock = find(g, g.order_target[order]), g.order_tick[order]
    if target < 0 or not knows(g, g.unit_player[row], target):
        return True
    kind = g.unit_type[row]
    power = RAW_HIT[kind, g.unit_type[target]]
    if power == 0:
        return True
    x, y = g.unit_x[row], g.unit_y[row]
    if int(square(x, y, g.unit_x[target], g.unit_y[target])) > RANGE[kind] * RANGE[kind]:
        walk(g, s, learned, row, g.unit_x[target], g.unit_y[target], clock)
    elif clock - g.unit_last[row, CD_ATTACK] >= RELOAD[kind]:
        queue(s, SHOT, g.unit_id[row], g.order_target[order], power, 0, x, y)
        queue_plain(s, COOLDOWN, g.unit_id[row], CD_ATTACK, 0, 0)
    return False


@kernel
def fly(g, s):
    """Advance all bullets and queue their hits."""
    for k in range(g.num_bullets):
        fly_one(g, s, k)
    for k in range(g.num_bullets - 1, -1, -1):
        if g.bullet_state[k] == GONE:
            g.num_bullets -= 1
            replace(g, k, g.num_bullets)


@kernel
def fly_one(g, s, k):
    """Advance one bullet."""
    if g.bullet_from[k] >= 0 and find(g, g.bullet_from[k]) < 0:
        g.bullet_from[k] = -1
    is_spent = g.bullet_state[k] >= SPENT
    if g.bullet_state[k] != FLYING:
        g.bullet_state[k] += 1
    if is_spent:
        return
    target = find(g, g.bullet_target[k])
    if target < 0:
        g.bullet_state[k] = GONE
        return
    dx, dy = g.unit_x[target] - g.bullet_x[k], g.unit_y[target] - g.bullet_y[k]
    if dx * dx + dy * dy < HITS_WITHIN:
        queue_plain(s, HIT, g.bullet_target[k], g.bullet_from[k], g.bullet_hit[k], 0)
        g.bullet_state[k] = SPENT
        return
    shrink = shrunk(dx, dy, BULLET_SPEED)
    g.bullet_x[k] += dx * shrink
    g.bullet_y[k] += dy * shrink


@kernel
def replace(g, target, source):
    """Copy a bullet over another."""
    g.bullet_x[target] = g.bullet_x[source]
    g.bullet_y[target] = g.bullet_y[source]
    g.bullet_from[target] = g.bullet_from[source]
    g.bullet_state[target] = g.bullet_state[source]
    g.bullet_hit[target] = g.bullet_hit[source]
    g.bullet_target[target] = g.bullet_target[source]
