"""Names and numbers of MiniRTS: terrain, unit types, costs, ranges, multipliers.

Source: reference sheet of MiniRTS, sections 1.2 to 1.5. Axes: U unit types (16).
"""

import numpy as np

SIDE = 32
"""Width and height of the map in cells; the index of a cell is y * SIDE + x."""
NUM_CELLS = SIDE * SIDE
PLAYERS = 2
SOIL, SAND, GRASS, ROCK, WATER, FOG = range(6)

UNITS = (
    "resource",
    "peasant",
    "spearman",
    "swordman",
    "cavalry",
    "dragon",
    "archer",
    "catapult",
    "barrack",
    "blacksmith",
    "stable",
    "workshop",
    "aviary",
    "archery",
    "guard tower",
    "town hall",
)
RESOURCE, PEASANT, SPEARMAN, SWORDMAN, CAVALRY, DRAGON, ARCHER, CATAPULT = range(8)
BARRACK, BLACKSMITH, STABLE, WORKSHOP, AVIARY, ARCHERY, TOWER, HALL = range(8, 16)
NUM_TYPES = len(UNITS)
ARMY = (SPEARMAN, SWORDMAN, CAVALRY, DRAGON, ARCHER, CATAPULT)
FIRST_BUILDING = BARRACK
NO_TYPE = -1

ATTACK, MOVE, BUILD, GATHER = 1, 2, 3, 4
"""Kinds of orders; 0 is no order."""
NOWHERE = np.float32(-1e18)
"""Coordinate of a building order without a place: a building that trains a unit."""

VISIBLE, SEEN, UNSEEN = range(3)
PLACE_GHOST, WALK, WORK = 0, 1, 3
"""States of a building order."""
TO_RESOURCE, AT_RESOURCE, TO_HALL = range(3)
"""States of a gathering order."""
FINISHED, WAITING, WORKED = -1, 10_000_000, 250
"""`unit_expire`: a finished object, a ghost that waits for its builder, a ghost under work."""

CD_MOVE, CD_ATTACK, CD_GATHER, CD_BUILD = range(4)

SIGHT = 7
"""Manhattan radius of vision in cells, the same for all objects."""
MAX_ARMY_OBJECTS = 50
"""Largest number of objects of a side, ghosts included, resources not."""
START_MONEY = 500
LOAD = 10
"""Money of one load, and hit points that a resource loses by it."""
GATHER_TICKS = 120
BUILDING_TICKS, PEASANT_TICKS, ARMY_TICKS = 250, 50, 200


def _by_type(**values: float) -> list[float]:
    """[U], a number of each type by its name with _ for spaces; 0 for the others."""
    return [values.get(name.replace(" ", "_"), 0) for name in UNITS]


COST = np.array(
    _by_type(
        peasant=50, spearman=100, swordman=100, cavalry=100, dragon=200, archer=100, catapult=100, barrack=150,
        blacksmith=150, stable=150, workshop=200, aviary=150, archery=150, guard_tower=150, town_hall=250,
    ),
    np.int32,
)  # fmt: skip
"""[U] price in money."""
CHEAPEST = 50
MAX_HP = np.array([1000, 30, 100, 100, 100, 100, 75, 75, 250, 250, 250, 250, 250, 250, 100, 350], np.int32)
ARMOUR = np.array([1000, 0, 1, 1, 1, 2, 0, 2, 5, 5, 5, 5, 5, 5, 3, 5], np.int32)
"""[U] hit points that armour takes off each hit."""
SPEED = np.array([0, 0.05, 0.05, 0.05, 0.05, 0.04, 0.03, 0.03, *[0] * 8], np.float32)
"""[U] cells a tick."""
POWER = np.array([0, 3, 7, 7, 7, 10, 7, 10, *[0] * 6, 10, 0], np.int32)
"""[U] hit points of one hit, before multiplier and armour."""
RANGE = np.array([0, 2, 2, 2, 2, 5, 5, 7, *[0] * 6, 5, 0], np.int32)
"""[U] attack range in cells."""
RELOAD = np.array([0, 25, 20, 20, 20, 40, 40, 40, *[0] * 6, 30, 0], np.int32)
"""[U] ticks between two shots."""

BUILDER = np.full(NUM_TYPES, NO_TYPE, np.int32)
"""[U] the type that makes this one."""
BUILDER[[HALL, BARRACK, BLACKSMITH, STABLE, WORKSHOP, TOWER]] = PEASANT
BUILDER[[PEASANT, SPEARMAN, SWORDMAN, CAVALRY]] = HALL, BARRACK, BLACKSMITH, STABLE
BUILDER[[DRAGON, ARCHER, CATAPULT]] = WORKSHOP

FACTORY = {SPEARMAN: BARRACK, SWORDMAN: BLACKSMITH, CAVALRY: STABLE, DRAGON: WORKSHOP, ARCHER: WORKSHOP}
FACTORY[CATAPULT] = WORKSHOP


def _multipliers() -> np.ndarray:
    """[U, U] float32, attacker by target; 0 where a type cannot attack the other."""
    table = np.zeros((NUM_TYPES, NUM_TYPES), np.float32)
    buildings = [BARRACK, BLACKSMITH, STABLE, WORKSHOP, AVIARY, ARCHERY, HALL]
    columns = [PEASANT, SPEARMAN, SWORDMAN, CAVALRY, DRAGON, ARCHER, CATAPULT, TOWER]
    rows = {
        PEASANT: (1, 0.7, 0.7, 0.7, 0.7, 0.7, 0.7, 1.5, 2),
        SPEARMAN: (1, 1, 0.5, 1.5, 0, 1, 1, 1, 1),
        SWORDMAN: (1, 1.5, 1, 0.5, 0, 1, 1, 1, 1),
        CAVALRY: (1, 0.5, 1.5, 1, 0, 1, 1, 1, 1),
        DRAGON: (1, 1, 1, 1, 1, 0.5, 1, 1, 1),
        ARCHER: (0.5, 0.5, 0.5, 0.5, 2, 0.5, 1, 1, 1),
        CATAPULT: (1, 0, 0, 0, 0, 0, 1, 2, 2),
        TOWER: (1,) * 9,
    }
    for attacker, row in rows.items():
        table[attacker, columns] = row[:-1]
        table[attacker, buildings] = row[-1]
    return table


MULTIPLIER = _multipliers()
RAW_HIT = np.trunc(POWER.astype(np.float32)[:, None] * MULTIPLIER).astype(np.int32)
"""[U, U] hit points of a shot when it leaves, attacker by target."""

PREFERENCE = np.full((NUM_TYPES, NUM_TYPES), -1, np.int32)
"""[U, U] rank of a target for an attacker that chooses by itself, 0 first; -1 is not in its list."""
_FLYERS_FIRST = (DRAGON, TOWER, ARCHER, CATAPULT, CAVALRY, SWORDMAN, SPEARMAN, PEASANT, HALL)
for _attacker, _targets in {
    SPEARMAN: (CAVALRY, TOWER, ARCHER, CATAPULT, SPEARMAN, SWORDMAN, PEASANT, HALL),
    SWORDMAN: (SPEARMAN, TOWER, ARCHER, CATAPULT, SWORDMAN, CAVALRY, PEASANT, HALL),
    CAVALRY: (SWORDMAN, TOWER, ARCHER, CATAPULT, CAVALRY, SPEARMAN, PEASANT, HALL),
    ARCHER: _FLYERS_FIRST,
    DRAGON: _FLYERS_FIRST,
    TOWER: _FLYERS_FIRST,
    CATAPULT: (TOWER, HALL),
    PEASANT: (SWORDMAN, SPEARMAN, CAVALRY, DRAGON, ARCHER, CATAPULT, TOWER, PEASANT, HALL),
}.items():
    PREFERENCE[_attacker, list(_targets)] = np.arange(len(_targets))

PASSIVE, SIMPLE, MEDIUM, STRONG, LEARNER = range(5)
"""Kinds of players: scripts from weak to strong, and the learner."""
MAX_TYPES = 3
"""Largest number of unit types that a script trains."""
