"""From a script's flags to orders: attack, build, scout, defend, gather (sheet, section 1.10)."""

import numpy as np

from rl_envs.core.compiled import kernel
from rl_envs.minirts.game import MAX_OBJECTS
from rl_envs.minirts.script_view import (
    best_target,
    current_order,
    is_idle_or_gathering,
    is_threatening,
    squared_distance,
)
from rl_envs.minirts.sight import sees, was_seen
from rl_envs.minirts.symbols import (
    ARCHER,
    ATTACK,
    BUILD,
    BUILDER,
    CATAPULT,
    CAVALRY,
    COST,
    DRAGON,
    GATHER,
    HALL,
    MOVE,
    NO_TYPE,
    NOWHERE,
    NUM_TYPES,
    PEASANT,
    SIDE,
    SPEARMAN,
    SWORDMAN,
    TOWER,
)
from rl_envs.minirts.units import is_building, is_free, may_stand, square, to_cell

_ZERO, _ONE = np.float32(0), np.float32(1)
_NO_PLACE = np.float32(NOWHERE)
TOWER_REACH, HOME_REACH, FIELD_REACH = np.float32(25), np.float32(25), np.float32(200)
ANYWHERE = np.float32(np.inf)
HUNT_BUILDERS, HUNT_ALL = np.float32(64), np.float32(9)
BLOCK = 3
"""Buildings stand at most so many cells from the hall, in x and in y."""
BORDER = 2
SCOUTS = np.array([DRAGON, PEASANT, SPEARMAN, CAVALRY, SWORDMAN, ARCHER])
FLAG_OF_TYPE = np.array([-1, 1, 3, 2, 4, 6, 5, 7, 8, 9, 10, 11, -1, -1, 12, 13])
SQUARES = np.array([2, 6, 10, 14])
"""Offsets of the squares along which a scout goes, from the edge of the map."""
POINT_STEP = 4
F_BASE, F_NEAR, F_DEFEND, F_SCOUT = 14, 15, 18, 19


@kernel
def give_orders(g, s, player):
    """Turn flags into orders, one a unit at most."""
    s.give_kind[:] = 0
    towers_attack(g, s, player)
    hunt_peasants(g, s)
    build_all(g, s, player)
    if s.flags[F_SCOUT]:
        scout(g, s, player)
    if s.flags[F_DEFEND]:
        defend(g, s)
    if s.flags[F_NEAR]:
        attack_near(g, s, player)
    if s.flags[F_BASE]:
        attack_base(g, s)
    gather_all(g, s, player)


@kernel
def give(s, row, kind, target, build_type, hall, x, y):
    """Assign an order to a row that has none."""
    if s.give_kind[row] != 0:
        return
    s.give_kind[row], s.give_target[row], s.give_type[row] = kind, target, build_type
    s.give_hall[row], s.give_x[row], s.give_y[row], s.give_scale[row] = hall, x, y, _ZERO


@kernel
def give_attack(g, s, row, target):
    """Assign an attack."""
    give(s, row, ATTACK, g.unit_id[target], NO_TYPE, -1, _ZERO, _ZERO)


@kernel
def is_fighter(kind):
    """Whether a type belongs to the army."""
    return SPEARMAN <= kind <= CATAPULT


@kernel
def towers_attack(g, s, player):
    """Each tower attacks its preferred target within its range; other enemies are ignored."""
    for k in range(s.num_own):
        row = s.own[k]
        if g.unit_type[row] == TOWER:
            s.num_candidates = 0
            for j in range(s.num_enemies):
                if squared_distance(g, row, s.enemies[j]) <= TOWER_REACH and sees(g, player, s.enemies[j]):
                    add_candidate(s, s.enemies[j])
            attack_best(g, s, row, TOWER_REACH)


@kernel
def add_candidate(s, enemy):
    """Add an enemy to the candidates."""
    s.candidates[s.num_candidates] = enemy
    s.num_candidates += 1


@kernel
def attack_best(g, s, row, reach):
    """Let an object attack its preferred candidate within a squared distance."""
    target = best_target(g, s, row, reach)
    if target >= 0:
        give_attack(g, s, row, target)


@kernel
def hunt_peasants(g, s):
    """Idle and gathering peasants attack enemy peasants that build near them, or come very near."""
    for k in range(s.num_own):
        row = s.own[k]
        if g.unit_type[row] != PEASANT or not is_idle_or_gathering(g, row):
            continue
        for j in range(s.num_enemies):
            enemy = s.enemies[j]
            if g.unit_type[enemy] != PEASANT:
                continue
            distance = squared_distance(g, row, enemy)
            if distance <= HUNT_ALL or (distance <= HUNT_BUILDERS and current_order(g, enemy) == BUILD):
                give_attack(g, s, row, enemy)
                break


@kernel
def build_all(g, s, player):
    """Build the requested types in shuffled order; a request without money waits and blocks the others."""
    s.money_left = g.money[player]
    s.num_sites = 0
    for k in range(NUM_TYPES):
        kind = s.type_order[k]
        flag = FLAG_OF_TYPE[kind]
        if flag >= 0 and s.flags[flag] and g.script_queue[player] < 0:
            g.script_queue[player] = kind
        waiting = g.script_queue[player]
        if waiting >= 0 and COST[waiting] <= s.money_left:
            s.money_left -= COST[waiting]
            g.script_queue[player] = -1
            build_one(g, s, player, waiting)


@kernel
def build_one(g, s, player, kind):
    """Order one building or unit."""
    if not is_building(kind):
        for k in range(s.num_own):
            row = s.own[k]
            if g.unit_type[row] == BUILDER[kind] and (kind == PEASANT or current_order(g, row) == 0):
                give(s, row, BUILD, -1, kind, -1, _NO_PLACE, _NO_PLACE)
                return
        return
    x, y = free_site(g, s, own_hall(g, s))
    if x >= 0:
        row = nearest_worker(g, s, np.float32(x), np.float32(y))
        if row >= 0:
            s.sites[s.num_sites, 0], s.sites[s.num_sites, 1] = x, y
            s.num_sites += 1
            give(s, row, BUILD, -1, kind, -1, np.float32(x), np.float32(y))


@kernel
def own_hall(g, s):
    """The first own hall."""
    for k in range(s.num_own):
        if g.unit_type[s.own[k]] == HALL:
            return s.own[k]
    return -1


@kernel
def free_site(g, s, hall):
    """First free cell around the hall, from the side of the map's centre; (-1, -1) for none."""
    centre_x, centre_y = to_cell(g.unit_x[hall]), to_cell(g.unit_y[hall])
    step_x, step_y = 1 if centre_x > SIDE // 2 else -1, 1 if centre_y > SIDE // 2 else -1
    for i in range(-BLOCK, BLOCK + 1):
        for j in range(-BLOCK, BLOCK + 1):
            x, y = centre_x + i * step_x, centre_y + j * step_y
            if BORDER <= x < SIDE - BORDER and BORDER <= y < SIDE - BORDER and is_site_free(g, s, x, y):
                return x, y
    return -1, -1


@kernel
def is_site_free(g, s, x, y):
    """Whether a building fits on a cell where none was ordered in this decision."""
    for k in range(s.num_sites):
        if s.sites[k, 0] == x and s.sites[k, 1] == y:
            return False
    return may_stand(PEASANT, g.terrain[y * SIDE + x]) and is_free(g, np.float32(x), np.float32(y), -1)


@kernel
def nearest_worker(g, s, x, y):
    """Nearest peasant without an order in this decision that is not building; -1 for none."""
    nearest, distance = -1, np.float32(np.inf)
    for k in range(s.num_own):
        row = s.own[k]
        if g.unit_type[row] == PEASANT and s.give_kind[row] == 0 and current_order(g, row) != BUILD:
            away = square(g.unit_x[row], g.unit_y[row], x, y)
            if away < distance:
                nearest, distance = row, away
    return nearest


@kernel
def scout(g, s, player):
    """Send one unit to the first unseen point of the squares."""
    x, y = unseen_point(g, s, player)
    if x < 0:
        return
    for kind in SCOUTS:
        nearest, distance = -1, np.float32(np.inf)
        for k in range(s.num_own):
            row = s.own[k]
            if g.unit_type[row] == kind and s.give_kind[row] == 0 and current_order(g, row) != BUILD:
                away = square(g.unit_x[row], g.unit_y[row], np.float32(x), np.float32(y))
                if away < distance:
                    nearest, distance = row, away
        if nearest >= 0:
            give(s, nearest, MOVE, -1, NO_TYPE, -1, np.float32(x), np.float32(y))
            return


@kernel
def unseen_point(g, s, player):
    """First unseen point of concentric squares, from the own corner and always turning left; (-1, -1) for none."""
    hall = own_hall(g, s)
    is_right, is_low = g.unit_x[hall] >= SIDE // 2, g.unit_y[hall] >= SIDE // 2
    corner = (2 if is_low else 3) if is_right else (1 if is_low else 0)
    for offset in SQUARES:
        low, high = offset, SIDE - offset
        for side in range(4):
            from_x, from_y, step_x, step_y = side_of_square(low, high, (corner + side) % 4)
            for k in range((high - low) // POINT_STEP):
                x, y = from_x + k * POINT_STEP * step_x, from_y + k * POINT_STEP * step_y
                if not was_seen(g, player, x, y):
                    return x, y
    return -1, -1


@kernel
def side_of_square(low, high, corner):
    """A corner of a square and the step along the side that begins there: 0 top left, then down, right, up, left."""
    if corner == 0:
        return low, low, 0, 1
    if corner == 1:
        return low, high, 1, 0
    if corner == 2:
        return high, high, 0, -1
    return high, low, -1, 0


@kernel
def defend(g, s):
    """Fighters attack their preferred target among the enemies near a hall or tower."""
    s.num_candidates = 0
    for k in range(s.num_enemies):
        if is_threatening(g, s, s.enemies[k], HOME_REACH):
            add_candidate(s, s.enemies[k])
    attack_candidates(g, s, ANYWHERE)


@kernel
def attack_near(g, s, player):
    """Fighters attack their preferred target among the enemies in sight around them."""
    s.num_candidates = 0
    for k in range(s.num_enemies):
        if sees(g, player, s.enemies[k]):
            add_candidate(s, s.enemies[k])
    attack_candidates(g, s, FIELD_REACH)


@kernel
def attack_base(g, s):
    """Fighters attack their preferred target among the known buildings except towers: the hall, if it is known."""
    s.num_candidates = 0
    for k in range(s.num_enemies):
        kind = g.unit_type[s.enemies[k]]
        if is_building(kind) and kind != TOWER:
            add_candidate(s, s.enemies[k])
    attack_candidates(g, s, ANYWHERE)


@kernel
def attack_candidates(g, s, reach):
    """Each fighter attacks its preferred candidate within a squared distance."""
    for k in range(s.num_own):
        if is_fighter(g.unit_type[s.own[k]]):
            attack_best(g, s, s.own[k], reach)


@kernel
def gather_all(g, s, player):
    """Idle peasants gather at the hall that got the fewest in this decision."""
    if s.num_resources == 0:
        return
    sent = np.zeros(MAX_OBJECTS, np.int64)
    for k in range(s.num_own):
        row = s.own[k]
        if g.unit_type[row] == PEASANT and s.give_kind[row] == 0 and current_order(g, row) == 0:
            hall = hall_for(g, s, sent)
            sent[hall] += 1
            resource = nearest_resource(g, s, hall)
            give(s, row, GATHER, g.unit_id[resource], NO_TYPE, g.unit_id[hall], _ZERO, _ZERO)
            s.give_scale[row] = g.script_scale[player]


@kernel
def hall_for(g, s, sent):
    """The hall with the fewest new peasants among those nearest to some known resource; the first if equal."""
    chosen = -1
    for k in range(s.num_own):
        hall = s.own[k]
        if g.unit_type[hall] == HALL and is_nearest_to_some(g, s, hall):
            if chosen < 0 or sent[hall] < sent[chosen]:
                chosen = hall
    return chosen if chosen >= 0 else own_hall(g, s)


@kernel
def is_nearest_to_some(g, s, hall):
    """Whether a hall is the nearest one of some known resource."""
    for k in range(s.num_resources):
        resource, is_nearest = s.resources[k], True
        for j in range(s.num_own):
            other = s.own[j]
            if g.unit_type[other] == HALL and squared_distance(g, other, resource) < squared_distance(
                g, hall, resource
            ):
                is_nearest = False
        if is_nearest:
            return True
    return False


@kernel
def nearest_resource(g, s, hall):
    """The known resource nearest to a hall."""
    nearest = s.resources[0]
    for k in range(1, s.num_resources):
        if squared_distance(g, s.resources[k], hall) < squared_distance(g, nearest, hall):
            nearest = s.resources[k]
    return nearest
