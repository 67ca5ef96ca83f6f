"""Checks of a restored game: the kernels index by these numbers, and compiled code does not notice a wrong index."""

from collections.abc import Mapping

import numpy as np

from rl_envs.core.spec import Array, Arrays
from rl_envs.minirts.batch import LEARNED_KEYS, MAX_LEARNED
from rl_envs.minirts.combat import GONE
from rl_envs.minirts.factored import C_CONTINUE
from rl_envs.minirts.game import ALL_QUIRKS, MAX_BULLETS, MAX_CACHED, MAX_OBJECTS, MAX_ORDERS, PLAYER_SHIFT, TWISTER
from rl_envs.minirts.symbols import (
    BUILD,
    FINISHED,
    FIRST_BUILDING,
    GATHER,
    LEARNER,
    MAX_HP,
    MOVE,
    NO_TYPE,
    NUM_CELLS,
    NUM_TYPES,
    PLAYERS,
    RESOURCE,
    WAITING,
    WATER,
    WORK,
)
from rl_envs.minirts.tick import ABORTED

MOST_TICKS = 10**9
"""Far more than a game has of anything, and far less than int32 holds."""
MAX_AGENTS, _MAX_INTERVAL = 3, 10_000
_REACH = 20
"""Distance from the middle of the map, in cells, that no order and no bullet exceeds along an axis."""
_ROWS = {"unit": MAX_OBJECTS, "order": MAX_ORDERS, "bullet": MAX_BULLETS}
_MAX_HP = int(MAX_HP.max())
_LAST_ID = (PLAYERS << PLAYER_SHIFT) - 1
_TYPES = (NO_TYPE, NUM_TYPES - 1)

BOUNDS: Mapping[str, tuple[int, int]] = {
    "terrain": (0, WATER),
    **dict.fromkeys(("tick", "max_tick", "next_seq", "failed", "money"), (0, MOST_TICKS)),
    "cap": (0, MAX_OBJECTS),
    "quirks": (0, ALL_QUIRKS),
    "next_id": (0, (1 << PLAYER_SHIFT) - 1 - MAX_OBJECTS),
    "winner": (-1, PLAYERS - 1),
    "result": (0, ABORTED),
    "num_units": (0, MAX_OBJECTS),
    "num_orders": (0, MAX_ORDERS - 1),
    "num_bullets": (0, MAX_BULLETS),
    "num_learned": (0, MAX_LEARNED),
    "cache_used": (0, MAX_CACHED - 1),
    "cache_key": (-1, 2**31 - 1),
    "cache_tick": (-MOST_TICKS, MOST_TICKS),
    "cache_way": (-1, NUM_CELLS - 1),
    "script_kind": (0, LEARNER),
    **dict.fromkeys(("script_army", "script_least", "script_most"), (0, 127)),
    **dict.fromkeys(("script_types", "script_forced", "script_queue", "order_type"), _TYPES),
    **dict.fromkeys(("script_towers", "oracle", "order_paid"), (0, 1)),
    "script_scale": (0, 10),
    "interval": (1, _MAX_INTERVAL),
    "twister_at": (0, TWISTER),
    "enemy_average": (0, MAX_OBJECTS),
    "unit_id": (0, _LAST_ID),
    "unit_type": (0, NUM_TYPES - 1),
    "unit_player": (0, PLAYERS - 1),
    **dict.fromkeys(("unit_hp", "unit_seen_hp", "bullet_hit"), (-_MAX_HP, _MAX_HP)),
    **dict.fromkeys(("unit_born", "unit_last", "order_tick", "order_start"), (-MOST_TICKS, MOST_TICKS)),
    "unit_expire": (FINISHED, WAITING),
    "unit_order": (-1, MOST_TICKS),
    "unit_remembered": (0, (1 << PLAYERS) - 1),
    "unit_agent": (-1, MAX_AGENTS - 1),
    "unit_history": (0, C_CONTINUE),
    "order_seq": (0, MOST_TICKS),
    "order_unit": (0, _LAST_ID),
    "order_kind": (0, GATHER),
    **dict.fromkeys(("order_target", "order_hall", "bullet_from", "bullet_target"), (-1, _LAST_ID)),
    "order_scale": (0, 10),
    "order_state": (0, WORK),
    "bullet_state": (0, GONE),
}
"""State name -> lowest and highest value; they hold for rows without use, too, where the dead remain."""


def check_state(state: Arrays) -> None:
    """Refuse (ValueError) a state [B, ...] within the bounds that the kernels could not play."""
    learned = (state[LEARNED_KEYS[0]] != 0).sum(1) if LEARNED_KEYS[0] in state else 0
    if "num_learned" in state and (state["num_learned"] != learned).any():
        raise ValueError("restore: num_learned must be the number of distances in learned_key that are not 0")
    if "cache_key" in state and (state.get("cache_used", -1) != (state["cache_key"] != -1).sum(-1)).any():
        raise ValueError("restore: cache_used must be the number of entries of cache_key that are not -1")
    _check_units(state)
    orders, bullets = (_exists(rows, state.get(f"num_{rows}s")) for rows in ("order", "bullet"))
    kinds, makes = (state.get(f"order_{name}", np.zeros_like(orders, int)) for name in ("kind", "type"))
    if (orders & (kinds == BUILD) & (makes <= RESOURCE)).any():
        raise ValueError("restore: order_type of an order to build must be the type of an object that can be built")
    goes_somewhere = (kinds == MOVE) | ((kinds == BUILD) & (makes >= FIRST_BUILDING))
    _check_places(state, "order", orders & goes_somewhere)
    _check_places(state, "bullet", bullets)


def _check_units(state: Arrays) -> None:
    exists, ids = _exists("unit", state["num_units"]), state["unit_id"]
    if not ((np.diff(ids, axis=1) > 0) | ~exists[:, 1:]).all():
        raise ValueError("restore: unit_id must rise from row to row")
    if ((ids >> PLAYER_SHIFT != state["unit_player"]) & exists).any():
        raise ValueError(f"restore: unit_id must be unit_player * 2**{PLAYER_SHIFT} + a number")
    if "next_id" in state and ((ids & ((1 << PLAYER_SHIFT) - 1)) * exists >= state["next_id"][:, None]).any():
        raise ValueError("restore: next_id must be above the number of every object in unit_id")
    places = np.stack([state["unit_x"], state["unit_y"]])
    if not ((np.abs(places - 15) < 16.5) | ~exists).all():
        raise ValueError("restore: unit_x and unit_y must lie between -1.5 and 31.5")
    if {"unit_born", "tick"} <= state.keys() and ((state["unit_born"] > state["tick"][:, None]) & exists).any():
        raise ValueError("restore: unit_born must not be later than tick")
    if "unit_expire" in state and ((state["unit_expire"] == 0) & exists).any():
        raise ValueError("restore: unit_expire must be -1 for a finished object, or above 0")


def _check_places(state: Arrays, kind: str, counts: Array) -> None:
    """Orders or bullets, those that count [B, R], are on the map or a little beside it."""
    for axis in "xy":
        if (counts & (np.abs(state.get(f"{kind}_{axis}", 15 * counts) - 15) > _REACH)).any():
            raise ValueError(f"restore: {kind}_x and {kind}_y must lie on the map")


def _exists(kind: str, count: Array | None) -> Array:
    """Which rows of objects, orders or bullets are in use by their number [B], [B, R] bool; [1, R] without it."""
    return np.arange(_ROWS[kind]) < (np.zeros(1, int) if count is None else count)[:, None]
