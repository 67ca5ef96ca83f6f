"""Next position of a walking unit: on a free straight line, or a cell of a path that A* finds (sheet, section 1.4).

The search goes over cells and steps to four neighbours. Its heuristic is Euclid's distance, or what earlier searches
learned about this goal. Costs are float32, and ties are broken by the smaller cost so far, then by the larger cell.
Answers are cached for ten ticks a side, whatever the unit.
"""

import math

import numpy as np

from rl_envs.core.compiled import kernel
from rl_envs.minirts.game import MAX_CACHED, MAX_PLANS, SHARED_CACHE, WRAP
from rl_envs.minirts.sight import was_seen
from rl_envs.minirts.symbols import DRAGON, NUM_CELLS, SIDE
from rl_envs.minirts.units import cell_index, is_free, is_inside, may_stand, square, to_cell

STRAIGHT, BLOCKED = -1, -2
"""Instead of a way point: the straight line is free; no path was found."""
CACHED_TICKS = 10
MAX_POPS = 1000
_NEAR = np.float32(4)
_ONE, _TEN = np.float32(1), np.float32(10)
_BESIDE = np.float32(1e-5)
"""Added to the learned distance of a cell beside the path."""


@kernel
def plan(g, s, learned, row, x, y, clock):
    """Way point of an object on its way to a position: a cell, STRAIGHT or BLOCKED."""
    player = g.unit_player[row]
    start, goal = cell_index(g.unit_x[row], g.unit_y[row]), cell_index(x, y)
    group = 1 if g.unit_type[row] == DRAGON and not g.quirks & SHARED_CACHE else 0
    way = cached(g, player, group, start, goal, clock)
    if way != BLOCKED:
        return way
    pops, kind = 0, 1
    if line_is_free(g, row, x, y):
        way = STRAIGHT
    else:
        way, pops = search(g, s, learned, row, start, goal)
        kind = 4 if way == BLOCKED else 2
    log(s, clock, player, g.unit_id[row], start, goal, kind, way, pops)
    if way != BLOCKED:
        remember(g, player, group, start, goal, clock, way)
    return way


@kernel
def log(s, clock, player, unit_id, start, goal, kind, way, pops):
    """Note a computed path; the log is for tests."""
    if s.num_plans < MAX_PLANS:
        entry = s.plans[s.num_plans]
        entry[0], entry[1], entry[2], entry[3] = clock, player, unit_id, start
        entry[4], entry[5], entry[6], entry[7] = goal, kind, way, pops
        s.num_plans += 1


@kernel
def cached(g, player, group, start, goal, clock):
    """A way point that is less than ten ticks old; BLOCKED if there is none."""
    key = (group * NUM_CELLS * 2 + start) * NUM_CELLS * 2 + goal
    slot = (key * 40503 >> 4) & (MAX_CACHED - 1)
    while g.cache_key[player, slot] != -1:
        if g.cache_key[player, slot] == key:
            return int(g.cache_way[player, slot]) if clock - g.cache_tick[player, slot] < CACHED_TICKS else BLOCKED
        slot = (slot + 1) & (MAX_CACHED - 1)
    return BLOCKED


@kernel
def remember(g, player, group, start, goal, clock, way):
    """Put a way point into the cache; a cache that is half full is emptied of old ones first."""
    if g.cache_used[player] >= MAX_CACHED // 2:
        forget_old(g, player, clock)
    key = (group * NUM_CELLS * 2 + start) * NUM_CELLS * 2 + goal
    slot = (key * 40503 >> 4) & (MAX_CACHED - 1)
    while g.cache_key[player, slot] != -1 and g.cache_key[player, slot] != key:
        slot = (slot + 1) & (MAX_CACHED - 1)
    if g.cache_key[player, slot] == -1:
        if g.cache_used[player] >= MAX_CACHED - 1:
            return
        g.cache_used[player] += 1
    g.cache_key[player, slot], g.cache_tick[player, slot], g.cache_way[player, slot] = key, clock, way


@kernel
def forget_old(g, player, clock):
    """Keep only the entries that may still be valid."""
    keys, ticks, ways = g.cache_key[player].copy(), g.cache_tick[player].copy(), g.cache_way[player].copy()
    g.cache_key[player, :] = -1
    g.cache_used[player] = 0
    for k in range(MAX_CACHED):
        if keys[k] != -1 and clock - ticks[k] <= CACHED_TICKS:
            slot = (keys[k] * 40503 >> 4) & (MAX_CACHED - 1)
            while g.cache_key[player, slot] != -1:
                slot = (slot + 1) & (MAX_CACHED - 1)
            g.cache_key[player, slot], g.cache_tick[player, slot], g.cache_way[player, slot] = (
                keys[k],
                ticks[k],
                ways[k],
            )
            g.cache_used[player] += 1


@kernel
def line_is_free(g, row, x, y):
    """Whether samples of the straight line from an object to a position are free, every tenth of a cell.

    Terrain counts where the side has seen it, objects always; the cells of both ends are exempt.
    """
    from_x, from_y = g.unit_x[row], g.unit_y[row]
    dx, dy = x - from_x, y - from_y
    distance = math.sqrt(dx * dx + dy * dy)
    samples = int(np.float64(distance * _TEN) + 0.5)
    if samples <= 1:
        return True
    length = distance / np.float32(samples)
    step_x, step_y = dx / distance * length, dy / distance * length
    start, goal = cell_index(from_x, from_y), cell_index(x, y)
    before = start
    for k in range(1, samples):
        at_x, at_y = from_x + step_x * np.float32(k), from_y + step_y * np.float32(k)
        cell = cell_index(at_x, at_y)
        if cell == before:
            continue
        before = cell
        if cell != start and cell != goal and not is_passable(g, row, at_x, at_y):
            return False
    return True


@kernel
def is_passable(g, row, x, y):
    """Whether a side believes that its object could stand at a position."""
    return is_inside(x, y) and is_walkable(g, row, to_cell(x), to_cell(y)) and is_free(g, x, y, row)


@kernel
def is_walkable(g, row, column, line):
    """Whether the terrain of a cell on the map is free for an object, as far as its side has seen it."""
    ground = g.terrain[line * SIDE + column]
    return may_stand(g.unit_type[row], ground) or not was_seen(g, g.unit_player[row], column, line)


@kernel
def search(g, s, learned, row, start, goal):
    """A* from cell to cell: the way point, or BLOCKED, and the number of pops."""
    player = g.unit_player[row]
    s.stamp += 1
    s.entered[start], s.parent[start], s.cost[start] = s.stamp, -1, np.float32(0)
    size = push(s.heap, 0, sort_key(distance_to(g, learned, player, start, goal), np.float32(0), start))
    pops = 0
    while size > 0:
        cell = NUM_CELLS - 1 - int(s.heap[0] & np.uint64(NUM_CELLS - 1))
        size = pop(s.heap, size)
        s.popped[pops] = cell
        pops += 1
        if cell == goal or pops >= MAX_POPS:
            learn(g, s, learned, player, cell, goal, pops)
            return way_point(g, s, row, cell), pops
        for to_x, to_y in ((1, 0), (0, 1), (-1, 0), (0, -1)):
            size = enter(g, s, learned, row, cell, to_x, to_y, goal, size)
    return BLOCKED, pops + 1


@kernel
def enter(g, s, learned, row, cell, to_x, to_y, goal, size):
    """Put a neighbour on the heap unless it is taken or blocked; returns the heap's new size.

    Column 32 counts as the next row's first cell until the map test, from which the goal is exempt.
    """
    column, line = cell % SIDE + to_x, cell // SIDE + to_y
    other = line * SIDE + column
    if other < 0 or other >= NUM_CELLS or s.entered[other] == s.stamp:
        return size
    if not g.quirks & WRAP and not 0 <= column < SIDE:
        return size
    if other != goal and not is_step_free(g, row, column, line):
        return size
    cost = s.cost[cell] + _ONE
    s.entered[other], s.parent[other], s.cost[other] = s.stamp, cell, cost
    ahead = distance_to(g, learned, g.unit_player[row], other, goal)
    return push(s.heap, size, sort_key(cost + ahead, cost, other))


@kernel
def is_step_free(g, row, column, line):
    """Whether a path may enter a cell; objects count only near the walking one."""
    if not (0 <= column < SIDE and 0 <= line < SIDE) or not is_walkable(g, row, column, line):
        return False
    x, y = np.float32(column), np.float32(line)
    near = square(g.unit_x[row], g.unit_y[row], x, y) < _NEAR
    return not near or is_free(g, x, y, row)


@kernel
def way_point(g, s, row, cell):
    """The path's cell that is nearest to its end and in free straight view."""
    while cell >= 0:
        if line_is_free(g, row, np.float32(cell % SIDE), np.float32(cell // SIDE)):
            return cell
        cell = int(s.parent[cell])
    return BLOCKED


@kernel
def float_bits(value):
    """The bits of a float32 that is not negative; they sort as the numbers do."""
    return np.uint64(np.float32(value).view(np.uint32))


@kernel
def sort_key(total, cost, cell):
    """Smaller total, then smaller cost, then larger cell; costs are whole numbers below 2048."""
    return float_bits(total) << np.uint64(32) | np.uint64(cost) << np.uint64(10) | np.uint64(NUM_CELLS - 1 - cell)


@kernel
def push(heap, size, key):
    """Add a key to a binary heap; returns its new size."""
    at = size
    while at > 0:
        above = (at - 1) >> 1
        if heap[above] <= key:
            break
        heap[at] = heap[above]
        at = above
    heap[at] = key
    return size + 1


@kernel
def pop(heap, size):
    """Remove the smallest key; returns the new size."""
    size -= 1
    key = heap[size]
    at = 0
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        if below + 1 < size and heap[below + 1] < heap[below]:
            below += 1
        if key <= heap[below]:
            break
        heap[at] = heap[below]
        at = below
    heap[at] = key
    return size


@kernel
def euclid(cell, goal):
    """Straight distance of two cells, float32."""
    dx = np.float32(cell % SIDE - goal % SIDE)
    dy = np.float32(cell // SIDE - goal // SIDE)
    return math.sqrt(dx * dx + dy * dy)


@kernel
def first_slot(key, mask):
    """Slot at which the search for a key begins."""
    return ((np.int64(key) * 2654435761 & 0xFFFFFFFF) >> 8) & mask


@kernel
def distance_slot(learned, player, cell, goal):
    """Slot of a cell's distance to a goal, or the free slot where it belongs; and the key."""
    key = (int(player) * NUM_CELLS + goal) * NUM_CELLS + cell + 1
    mask = len(learned) - 1
    slot = first_slot(key, mask)
    while learned[slot].key != 0 and learned[slot].key != key:
        slot = (slot + 1) & mask
    return slot, key


@kernel
def distance_to(g, learned, player, cell, goal):
    """Learned distance of a cell to a goal, or Euclid's."""
    slot, key = distance_slot(learned, player, cell, goal)
    return learned[slot].value if learned[slot].key == key else euclid(cell, goal)


@kernel
def learn(g, s, learned, player, end, goal, pops):
    """Update the learned distances of the `pops` popped cells after a search that ended at `end`.

    If the search was aborted, `end` is not the goal, and its own distance to the goal is added.
    """
    total = s.cost[end] + distance_to(g, learned, player, end, goal)
    for k in range(pops):
        store(g, s, learned, player, int(s.popped[k]), goal, (total + _BESIDE) - s.cost[s.popped[k]])
    cell = int(end)
    while cell >= 0:
        store(g, s, learned, player, cell, goal, total - s.cost[cell])
        cell = int(s.parent[cell])


@kernel
def store(g, s, learned, player, cell, goal, value):
    """Store a distance, at least Euclid's; if the table is full, set the overflow flag."""
    least = euclid(cell, goal)
    slot, key = distance_slot(learned, player, cell, goal)
    if learned[slot].key == 0:
        if value <= least:
            return
        if 4 * g.num_learned >= 3 * len(learned):
            s.overflow = 1
            return
        learned[slot].key = key
        g.num_learned += 1
    learned[slot].value = max(value, least)
