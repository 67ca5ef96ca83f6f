"""The map generator: two rivers with fords, two bases, resources, peasants and extra units (sheet, section 1.2).

Its random numbers are the engine's: s <- (1009 s + 9007) mod 65537, a draw is s mod (hi - lo + 1) + lo. So
there are 65,537 maps. The map and the units each begin again at the seed.

`placed` [P, 4] int32 lists objects in the order of placing: player, unit type, x, y.
"""

import numpy as np

from rl_envs.core.compiled import entry, kernel
from rl_envs.minirts.symbols import (
    ARCHER,
    BARRACK,
    BLACKSMITH,
    CATAPULT,
    CAVALRY,
    DRAGON,
    GRASS,
    HALL,
    NUM_CELLS,
    PEASANT,
    RESOURCE,
    SIDE,
    SPEARMAN,
    STABLE,
    SWORDMAN,
    TOWER,
    WATER,
    WORKSHOP,
)

_MODULUS, _STUCK = 65_537, 49_859
KNOT, SEGMENTS = 10, 3
"""Cells from one knot of a river to the next, and number of segments."""
BASE_TRIES, PLACE_TRIES = 100, 21
RINGS, RING_OBJECTS, FAR_RING = 3, 3, 16
EXTRA_TYPES = np.array(
    [SPEARMAN, SWORDMAN, CAVALRY, ARCHER, DRAGON, CATAPULT, TOWER, WORKSHOP, BLACKSMITH, STABLE, BARRACK]
)
EXTRA_FOR_PLAYER_1 = 7
"""Extra units of player 1 are of the first seven types; player 0 draws from all."""
MAX_PLACED = 256


@kernel
def draw(state, low, high):
    """One draw from low .. high; `state` [1] int64 is changed."""
    if state[0] == _STUCK:
        state[0] += 1
    state[0] = (1009 * state[0] + 9007) % _MODULUS
    return state[0] % (high - low + 1) + low


@entry
def generate(seed, fair, distance, peasants, extras, terrain, placed):
    """Write a map; gives the number of rows of `placed`, 0 where no two bases are connected.

    Only the remainder of `seed` modulo 65,537 matters. `fair`: near resources lie exactly on rings, else in bands;
    `distance`: cells from the hall to the first ring, and radius of its square of grass; `peasants`: of a side;
    `extras`: extra units that each side may get. Written: `terrain` [1024] uint8, `placed` [256, 4] int32.
    """
    state = np.empty(1, np.int64)
    state[0] = seed % _MODULUS
    terrain[:] = GRASS
    river(state, terrain, False)
    river(state, terrain, True)
    state[0] = seed % _MODULUS
    bases = np.empty((2, 2), np.int64)
    reached = np.zeros(NUM_CELLS, np.bool_)
    queue = np.empty(NUM_CELLS, np.int64)
    if not find_bases(state, terrain, bases, reached, queue):
        return 0
    count = 0
    for player in range(2):
        count = settle(state, terrain, bases[player], player, fair, distance, peasants, extras, placed, count)
    return count


@kernel
def river(state, terrain, southward):
    """Draw one river: along x, or along y if it runs southward."""
    knot = draw(state, 1, 2)
    fords = draw(state, 2, 3)
    has_ford = np.zeros(SEGMENTS, np.bool_)
    while has_ford.sum() < fords:
        has_ford[draw(state, 1, SEGMENTS) - 1] = True
    for segment in range(SEGMENTS):
        following = draw(state, max(knot - 2, 1), min(knot + 2, 2))
        across = (following - knot) * KNOT
        steps = max(KNOT, abs(across))
        length = draw(state, 2, 4)
        start = draw(state, 0, steps - length)
        for i in range(steps + 1):
            if has_ford[segment] and start <= i < start + length:
                continue
            along = segment * KNOT + int(i / steps * KNOT)
            beside = knot * KNOT + np.sign(across) * int(i / steps * max(1, abs(across)))
            x, y = (beside, along) if southward else (along, beside)
            terrain[y * SIDE + x] = WATER
            if southward and abs(across) < KNOT:
                x -= 1
            else:
                y -= 1
            if x >= 0 and y >= 0:
                terrain[y * SIDE + x] = WATER
        knot = following


@kernel
def find_bases(state, terrain, bases, reached, queue):
    """Draw two cells near opposite edges that a land path joins; False after 100 tries."""
    transposed = draw(state, 0, 999) < 500
    swapped = draw(state, 0, 999) < 500
    for _ in range(BASE_TRIES):
        bases[0, 0] = draw(state, 2, 29)
        bases[1, 0] = draw(state, 2, 29)
        bases[0, 1] = draw(state, 2, 4)
        bases[1, 1] = 31 - draw(state, 2, 4)
        if transposed:
            for base in range(2):
                bases[base, 0], bases[base, 1] = bases[base, 1], bases[base, 0]
        if swapped:
            for axis in range(2):
                bases[0, axis], bases[1, axis] = bases[1, axis], bases[0, axis]
        flood(terrain, bases[0, 0], bases[0, 1], reached, queue)
        if reached[bases[1, 1] * SIDE + bases[1, 0]]:
            return True
    return False


@kernel
def flood(terrain, x, y, reached, queue):
    """Mark the land that joins a cell, by steps to the four neighbours; the cell itself may be water."""
    reached[:] = False
    queue[0] = y * SIDE + x
    reached[queue[0]] = True
    first, last = 0, 1
    while first < last:
        cell = queue[first]
        first += 1
        for to_x, to_y in ((1, 0), (0, 1), (-1, 0), (0, -1)):
            x, y = cell % SIDE + to_x, cell // SIDE + to_y
            if 0 <= x < SIDE and 0 <= y < SIDE:
                other = y * SIDE + x
                if not reached[other] and terrain[other] != WATER:
                    reached[other] = True
                    queue[last] = other
                    last += 1


@kernel
def is_open(terrain, x, y):
    """Whether a cell and its four neighbours are land inside the map."""
    for to_x, to_y in ((0, 0), (1, 0), (0, 1), (-1, 0), (0, -1)):
        at_x, at_y = x + to_x, y + to_y
        if not (0 <= at_x < SIDE and 0 <= at_y < SIDE) or terrain[at_y * SIDE + at_x] == WATER:
            return False
    return True


@kernel
def settle(state, terrain, base, player, fair, distance, peasants, extras, placed, count):
    """Clear a base's square and place its hall, resources, peasants and extra units; returns the new count."""
    for y in range(max(base[1] - distance, 0), min(base[1] + distance, SIDE - 1) + 1):
        for x in range(max(base[0] - distance, 0), min(base[0] + distance, SIDE - 1) + 1):
            terrain[y * SIDE + x] = GRASS
    count = put(placed, count, player, HALL, base[0], base[1])
    reached = np.zeros(NUM_CELLS, np.bool_)
    flood(terrain, base[0], base[1], reached, np.empty(NUM_CELLS, np.int64))
    for ring in range(1, RINGS + 1):
        far = ring * distance
        near = far if fair else max((ring - 1) * distance, 1)
        count = place_resource(state, terrain, reached, base, near, far, player, placed, count)
    for _ in range(RING_OBJECTS):
        count = place_resource(state, terrain, reached, base, FAR_RING, FAR_RING, player, placed, count)
    for _ in range(peasants):
        count = place_near(state, terrain, base, player, PEASANT, placed, count)
    for _ in range(extras):
        if draw(state, 1, 2) == 2:
            kinds = len(EXTRA_TYPES) if player == 0 else EXTRA_FOR_PLAYER_1
            kind = EXTRA_TYPES[draw(state, 1, kinds) - 1]
            count = place_near(state, terrain, base, player, kind, placed, count)
    return count


@kernel
def place_resource(state, terrain, reached, base, near, far, player, placed, count):
    """Place a resource at a Manhattan distance of near .. far; on a taken place it is silently missing."""
    candidates = np.empty((NUM_CELLS, 2), np.int64)
    found = 0
    for to_x in range(-far, far + 1):
        for to_y in range(-far, far + 1):
            x, y = base[0] + to_x, base[1] + to_y
            if near <= abs(to_x) + abs(to_y) <= far and is_open(terrain, x, y) and reached[y * SIDE + x]:
                candidates[found] = x, y
                found += 1
    if found == 0:
        return count
    chosen = candidates[draw(state, 1, found) - 1]
    if is_taken(placed, count, chosen[0], chosen[1]):
        return count
    return put(placed, count, player, RESOURCE, chosen[0], chosen[1])


@kernel
def place_near(state, terrain, base, player, kind, placed, count):
    """Place a unit within five cells of the hall; after 21 tries it is missing."""
    for _ in range(PLACE_TRIES):
        x = base[0] + draw(state, -5, 5)
        y = base[1] + draw(state, -5, 5)
        if is_open(terrain, x, y) and not is_taken(placed, count, x, y):
            return put(placed, count, player, kind, x, y)
    return count


@kernel
def is_taken(placed, count, x, y):
    """Whether an object stands on a cell."""
    for row in range(count):
        if placed[row, 2] == x and placed[row, 3] == y:
            return True
    return False


@kernel
def put(placed, count, player, kind, x, y):
    """Add an object; returns the new count."""
    placed[count, 0], placed[count, 1], placed[count, 2], placed[count, 3] = player, kind, x, y
    return count + 1
