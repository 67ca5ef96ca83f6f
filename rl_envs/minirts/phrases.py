"""The 17 commands in words of RED's closed set (sheet, section 1.13), and the commands that each gives to the units.

`commands_for(phrase, view)` turns a phrase into a table of commands, one row a unit, from what one agent observes and
nothing else. `per_unit_action` and `collective_action` write such a table as an action of the world. A phrase is valid
for one decision and can be repeated. A building of a type that is under construction is not begun again.
"""

import functools
from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np

from rl_envs.core.spec import Array
from rl_envs.minirts.actions import CONTINUE, FLAGS
from rl_envs.minirts.factored import (
    C_ATTACK,
    C_BUILDING,
    C_CONTINUE,
    C_GATHER,
    C_IDLE,
    C_MOVE,
    C_UNIT,
    MAX_LISTED,
    UNIT_FACTORS,
)
from rl_envs.minirts.symbols import (
    ARMY,
    CATAPULT,
    FIRST_BUILDING,
    GRASS,
    HALL,
    PEASANT,
    PREFERENCE,
    RAW_HIT,
    SAND,
    SIDE,
    SOIL,
    SWORDMAN,
    TOWER,
    UNITS,
)

View: TypeAlias = Mapping[str, Array]
"""Observation of one agent in one world: keys of the world without the axes of worlds and agents."""

_BUILT = (
    *("workshop", "stable", "dragon", "guard tower", "catapult", "blacksmith", "peasant", "barrack", "archer"),
    *("cavalry", "spearman"),
)
ATTACK, MINE, MINE_ALL = "attack", "mine with all idle peasant", "send all peasant to mine"
KEEP_SCOUTING, SEND_SCOUT = "keep scouting", "send one peasant to scout"
PHRASES = (
    *(ATTACK, MINE, MINE_ALL),
    *(f"build {name}" for name in _BUILT),
    "build another swordman",
    *(KEEP_SCOUTING, SEND_SCOUT),
)
"""All phrases; an id is an index into them."""
MADE: dict[str, int] = {f"build {name}": UNITS.index(name) for name in _BUILT} | {"build another swordman": SWORDMAN}
"""Phrase -> the type that it names."""

_COMMAND, _GATHER, _ATTACK, _UNIT, _BUILDING, _SITE, _PLACE = range(len(UNIT_FACTORS))
_FIELD = 200
"""Square of the distance in cells within which a fighter prefers an enemy in sight to the enemy's buildings."""
_BLOCK, _BORDER = 3, 2
_SQUARES, _POINT_STEP = (2, 6, 10, 14), 4
_SCOUTS = tuple(UNITS.index(name) for name in ("dragon", "peasant", "spearman", "cavalry", "swordman", "archer"))
_TERRAIN_PLANES = {ground: 5 + ground for ground in (SOIL, SAND, GRASS)}
_UNSEEN_PLANE = 4


def commands_for(phrase: str, view: View) -> Array:
    """Commands that a phrase ("" for none) gives an agent's `owned` units now, [50, 7] int32 by `UNIT_FACTORS`.

    A unit that the phrase does not concern, or that cannot do it now, continues; all do if it cannot be obeyed now.
    """
    table = np.zeros((MAX_LISTED, len(UNIT_FACTORS)), np.int32)
    table[:, _COMMAND] = C_CONTINUE
    if phrase in MADE:
        _make(view, table, MADE[phrase])
    elif phrase in _RULES:
        _RULES[phrase](view, table)
    elif phrase:
        raise ValueError(f"{phrase!r} is not a phrase of MiniRTS: write one of {', '.join(PHRASES)}, or an empty text")
    return table


def obeyable(view: View) -> Array:
    """[17] bool, phrases that make at least one of the agent's units do something now."""
    return np.array([(commands_for(phrase, view)[:, _COMMAND] != C_CONTINUE).any() for phrase in PHRASES])


def per_unit_action(table: Array) -> dict[str, int]:
    """A table of commands [50, 7] int32 as an agent's action of the form `per_unit`."""
    rows = {f"{name}_{k:02}": int(table[k, j]) for k in range(MAX_LISTED) for j, name in enumerate(UNIT_FACTORS)}
    return {CONTINUE: 0} | rows


def collective_action(table: Array) -> dict[str, int]:
    """A table of commands [50, 7] int32 as an agent's action of the form `collective`.

    The commonest command is taken (the first of them if equal), and units that do something else continue: RED's rule
    for labels (sheet, section 1.13).
    """
    acting = np.flatnonzero(table[:, _COMMAND] != C_CONTINUE)
    rows, first, counts = np.unique(table[acting], axis=0, return_index=True, return_counts=True)
    if not len(acting):
        return {CONTINUE: 1} | dict.fromkeys(UNIT_FACTORS, 0) | dict.fromkeys(FLAGS, 0)
    chosen = rows[np.lexsort((first, -counts))[0]]
    flags = {flag: int((table[k] == chosen).all()) for k, flag in enumerate(FLAGS)}
    return {CONTINUE: 0} | {name: int(chosen[j]) for j, name in enumerate(UNIT_FACTORS)} | flags


def _mine_idle(view: View, table: Array) -> None:
    for k in _own(view, PEASANT):
        if view["command_type"][k] == C_IDLE:
            _gather(view, table, k)


def _mine_all(view: View, table: Array) -> None:
    for k in _own(view, PEASANT):
        if view["command_type"][k] != C_GATHER:
            _gather(view, table, k)


def _gather(view: View, table: Array, k: int) -> None:
    """Send a peasant to the resource nearest to its nearest hall."""
    halls, number = _halls(view), int(view["num_resource"])
    if len(halls) and number:
        hall = halls[_apart(view, "own", halls, view["own_x"][k], view["own_y"][k]).argmin()]
        resources = np.arange(number)
        nearest = _apart(view, "resource", resources, view["own_x"][hall], view["own_y"][hall]).argmin()
        table[k, [_COMMAND, _GATHER]] = C_GATHER, nearest


def _make(view: View, table: Array, kind: int) -> None:
    """Train one unit in the first idle factory, or let the nearest free peasant begin a building."""
    if kind < FIRST_BUILDING:
        able = np.flatnonzero(view["legal_unit_type"][:, kind] & view["owned"])
        if len(able):
            table[able[0], [_COMMAND, _UNIT]] = C_UNIT, kind
        return
    free = [k for k in _own(view, PEASANT) if view["legal_command"][k, C_BUILDING]]
    under_way = (view["command_type"] == C_BUILDING) & (view["command_unit_type"] == kind)
    site = _site(view)
    if free and site is not None and view["legal_building_type"][kind] and not under_way.any():
        nearest = free[_apart(view, "own", np.array(free), *site).argmin()]
        table[nearest, [_COMMAND, _BUILDING, _SITE]] = C_BUILDING, kind, site[1] * SIDE + site[0]


def _site(view: View) -> tuple[int, int] | None:
    """First free cell (column, row) in the block around a hall, from the side of the map's centre."""
    taken = _taken(view)
    for hall in _halls(view):
        centre_x, centre_y = int(view["own_x"][hall]), int(view["own_y"][hall])
        step_x, step_y = 1 if centre_x > SIDE // 2 else -1, 1 if centre_y > SIDE // 2 else -1
        for i in range(-_BLOCK, _BLOCK + 1):
            for j in range(-_BLOCK, _BLOCK + 1):
                x, y = centre_x + i * step_x, centre_y + j * step_y
                if min(x, y) >= _BORDER and max(x, y) < SIDE - _BORDER and not taken[y, x]:
                    return x, y
    return None


def _taken(view: View) -> Array:
    """[32, 32] bool, cells where no building is begun: no known dry land, an object, or an own construction site."""
    taken = ~np.any([view["map"][plane] > 0 for plane in _TERRAIN_PLANES.values()], axis=0)
    for name in ("own", "enemy", "resource"):
        number = int(view[f"num_{name}"])
        kinds, xs, ys = (view[f"{name}_{part}"][:number].astype(int) for part in ("type", "x", "y"))
        taken[ys, xs] = True
        # Positions are cut off, so a unit may reach into the next cell.
        mobile = (kinds >= PEASANT) & (kinds <= CATAPULT)
        for to_x, to_y in ((1, 0), (0, 1), (1, 1)):
            taken[np.minimum(ys[mobile] + to_y, SIDE - 1), np.minimum(xs[mobile] + to_x, SIDE - 1)] = True
    sites = view["command_type"] == C_BUILDING
    taken[view["command_y"][sites], view["command_x"][sites]] = True
    return taken


def _attack(view: View, table: Array) -> None:
    """Fighters attack their preferred target nearby, else the enemy's buildings; without either, one unit scouts."""
    fighters = [k for k in _own(view) if view["own_type"][k] in ARMY]
    for k in fighters:
        target = _target(view, k)
        if target is not None:
            table[k, [_COMMAND, _ATTACK]] = C_ATTACK, target
    if fighters and not (table[:, _COMMAND] == C_ATTACK).any():
        _send_scout(view, table, ARMY)


def _target(view: View, k: int) -> int | None:
    """The preferred target of a fighter; the first in the list of equally preferred ones."""
    kind, enemies = int(view["own_type"][k]), np.arange(int(view["num_enemy"]))
    kinds = view["enemy_type"][enemies].astype(int)
    hurts = RAW_HIT[kind, kinds] > 0
    near = _apart(view, "enemy", enemies, view["own_x"][k], view["own_y"][k]) <= _FIELD
    in_field = hurts & near & view["enemy_in_sight"][enemies].astype(bool)
    of_base = hurts & (kinds >= FIRST_BUILDING) & (kinds != TOWER)
    rank = np.where(PREFERENCE[kind, kinds] < 0, len(UNITS), PREFERENCE[kind, kinds])
    for group in (in_field, of_base):
        if group.any():
            return int(np.where(group, rank, 2 * len(UNITS)).argmin())
    return None


def _send_scout(view: View, table: Array, kinds: tuple[int, ...]) -> None:
    """Send one unit to the first unseen point, unless one of them is on its way to an unseen cell."""
    unseen = view["map"][_UNSEEN_PLANE] > 0
    point = _unseen_point(view, unseen)
    units = [k for k in _own(view) if view["own_type"][k] in kinds]
    movers = [k for k in units if view["command_type"][k] == C_MOVE]
    if point is None or any(unseen[view["command_y"][k], view["command_x"][k]] for k in movers):
        return
    for kind in kinds:
        able = [k for k in units if view["own_type"][k] == kind and view["command_type"][k] != C_BUILDING]
        if able:
            nearest = able[_apart(view, "own", np.array(able), *point).argmin()]
            table[nearest, [_COMMAND, _PLACE]] = C_MOVE, point[1] * SIDE + point[0]
            return


def _unseen_point(view: View, unseen: Array) -> tuple[int, int] | None:
    """First unseen point (column, row) of concentric squares, from the corner of one's hall and turning left."""
    halls = _halls(view)
    if not len(halls):
        return None
    is_right, is_low = view["own_x"][halls[0]] >= SIDE // 2, view["own_y"][halls[0]] >= SIDE // 2
    first = (2 if is_low else 3) if is_right else (1 if is_low else 0)
    for offset in _SQUARES:
        low, high = offset, SIDE - offset
        corners = ((low, low, 0, 1), (low, high, 1, 0), (high, high, 0, -1), (high, low, -1, 0))
        for side in range(4):
            from_x, from_y, step_x, step_y = corners[(first + side) % 4]
            for k in range(0, high - low, _POINT_STEP):
                x, y = from_x + k * step_x, from_y + k * step_y
                if unseen[y, x]:
                    return x, y
    return None


def _own(view: View, kind: int | None = None) -> list[int]:
    """Places in the list of the agent's own units, of one type or all."""
    wanted = view["owned"] if kind is None else view["owned"] & (view["own_type"] == kind)
    return [int(k) for k in np.flatnonzero(wanted)]


def _halls(view: View) -> Array:
    """Indices in the list of the side's halls, of all commanders."""
    number = int(view["num_own"])
    return np.flatnonzero(view["own_type"][:number] == HALL)


def _apart(view: View, name: str, rows: Array, x: int, y: int) -> Array:
    """Squares of the distances of listed objects to a cell."""
    dx = view[f"{name}_x"][rows].astype(int) - int(x)
    dy = view[f"{name}_y"][rows].astype(int) - int(y)
    return dx * dx + dy * dy


_RULES: dict[str, Callable[[View, Array], None]] = {
    ATTACK: _attack,
    MINE: _mine_idle,
    MINE_ALL: _mine_all,
    KEEP_SCOUTING: functools.partial(_send_scout, kinds=_SCOUTS),
    SEND_SCOUT: functools.partial(_send_scout, kinds=(PEASANT,)),
}
"""Phrase that makes nothing -> how its commands are written into a table."""
