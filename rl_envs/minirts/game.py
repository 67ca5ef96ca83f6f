"""One game as one record of plain numbers, and the working memory of a kernel.

A batch is an array of such records, so a kernel receives one pointer; outside the kernels each field is an ordinary
NumPy array `games[name]` [B, ...]. Objects stand in rows by id without gaps, so a row number is valid only while
nothing is created or removed; everything that lasts refers to ids.
"""

import numpy as np

from rl_envs.minirts.symbols import MAX_ARMY_OBJECTS, NUM_CELLS, NUM_TYPES, PLAYERS, SIDE, UNSEEN

MAX_OBJECTS, MAX_ORDERS, MAX_BULLETS, MAX_CACHED = 128, 384, 256, 1024
FAILED_TICKS = 64
"""Length of the ring of failed moves; the abort looks back 30 ticks."""
HISTORY = 25
"""Number of past commands that an observation shows of a unit."""
TWISTER = 624
PLAYER_SHIFT = 24
"""id = player * 2**24 + serial number."""
QUIRKS = ("overdraft", "refund", "double_answer", "wrap", "shared_cache", "outside", "abort")
"""Peculiarities of the engine, one bit each of `quirks` in this order; `world.py` describes them."""
OVERDRAFT, REFUND, DOUBLE_ANSWER, WRAP, SHARED_CACHE, OUTSIDE, ABORT = (1 << bit for bit in range(len(QUIRKS)))
ALL_QUIRKS = (1 << len(QUIRKS)) - 1
MIN_LEARNED = 8192
"""Smallest capacity of the table of learned distances; it doubles when three quarters are full."""

_OBJECT_FIELDS = [
    ("unit_id", "i4", ()),
    ("unit_type", "i1", ()),
    ("unit_player", "i1", ()),
    ("unit_hp", "i4", ()),
    ("unit_x", "f4", ()),
    ("unit_y", "f4", ()),
    ("unit_born", "i4", ()),
    ("unit_expire", "i4", ()),
    ("unit_last", "i4", (4,)),
    ("unit_order", "i4", ()),
    ("unit_remembered", "u1", ()),
    ("unit_seen_hp", "i4", (PLAYERS,)),
    ("unit_agent", "i1", ()),
    ("unit_history", "i1", (HISTORY,)),
]
_ORDER_FIELDS = [
    ("order_seq", "i4", ()),
    ("order_unit", "i4", ()),
    ("order_kind", "i1", ()),
    ("order_target", "i4", ()),
    ("order_type", "i1", ()),
    ("order_hall", "i4", ()),
    ("order_x", "f4", ()),
    ("order_y", "f4", ()),
    ("order_scale", "f4", ()),
    ("order_state", "i1", ()),
    ("order_paid", "i1", ()),
    ("order_tick", "i4", ()),
    ("order_start", "i4", ()),
]
_BULLET_FIELDS = [
    ("bullet_x", "f4", ()),
    ("bullet_y", "f4", ()),
    ("bullet_from", "i4", ()),
    ("bullet_state", "i1", ()),
    ("bullet_hit", "i4", ()),
    ("bullet_target", "i4", ()),
]
_CACHE_FIELDS = [("cache_key", "i4", ()), ("cache_tick", "i4", ()), ("cache_way", "i2", ())]
_SIDE_FIELDS = [
    ("money", "i4", ()),
    ("visible_rows", "u4", (SIDE,)),
    ("seen_rows", "u4", (SIDE,)),
    ("cache_used", "i4", ()),
    *[(name, kind, (MAX_CACHED,)) for name, kind, _ in _CACHE_FIELDS],
    ("script_kind", "i1", ()),
    ("script_army", "i1", ()),
    ("script_types", "i1", (3,)),
    ("script_forced", "i1", (3,)),
    ("script_least", "i1", ()),
    ("script_most", "i1", ()),
    ("script_towers", "i1", ()),
    ("script_queue", "i1", ()),
    ("script_scale", "f4", ()),
    ("interval", "i4", ()),
    ("twister", "u4", (TWISTER,)),
    ("twister_at", "i4", ()),
    ("enemy_average", "f4", (16,)),
    ("oracle", "i1", ()),
]
_GAME_FIELDS = [
    ("terrain", "u1", (NUM_CELLS,)),
    ("tick", "i4", ()),
    ("max_tick", "i4", ()),
    ("cap", "i4", ()),
    ("quirks", "i4", ()),
    ("next_id", "i4", ()),
    ("next_seq", "i4", ()),
    ("winner", "i1", ()),
    ("result", "i1", ()),
    ("num_units", "i4", ()),
    ("num_orders", "i4", ()),
    ("num_bullets", "i4", ()),
    ("num_learned", "i4", ()),
    ("failed", "i4", (FAILED_TICKS,)),
]


def _rows(fields: list[tuple], count: int) -> list[tuple]:
    """The same fields, once for each of `count` things."""
    return [(name, kind, (count, *shape)) for name, kind, shape in fields]


GAME = np.dtype(
    [
        *_GAME_FIELDS,
        *_rows(_SIDE_FIELDS, PLAYERS),
        *_rows(_OBJECT_FIELDS, MAX_OBJECTS),
        *_rows(_ORDER_FIELDS, MAX_ORDERS),
        *_rows(_BULLET_FIELDS, MAX_BULLETS),
    ],
    align=True,
)
"""State of a game, without its learned distances."""

LEARNED = np.dtype([("key", "i4"), ("value", "f4")])
"""A slot of the hash table of learned distances: 1 + (player * 1024 + goal) * 1024 + cell, or 0; and the distance."""

MAX_EFFECTS, MAX_PLANS = 4096, 4096
SCRATCH = np.dtype(
    [
        ("num_effects", "i4"),
        ("effect_kind", "i1", (MAX_EFFECTS,)),
        ("effect_unit", "i4", (MAX_EFFECTS,)),
        ("effect_other", "i4", (MAX_EFFECTS,)),
        ("effect_a", "i4", (MAX_EFFECTS,)),
        ("effect_b", "i4", (MAX_EFFECTS,)),
        ("effect_x", "f4", (MAX_EFFECTS,)),
        ("effect_y", "f4", (MAX_EFFECTS,)),
        ("stamp", "i4"),
        ("entered", "i4", (NUM_CELLS,)),
        ("parent", "i2", (NUM_CELLS,)),
        ("cost", "f4", (NUM_CELLS,)),
        ("popped", "i2", (NUM_CELLS,)),
        ("heap", "u8", (NUM_CELLS,)),
        ("overflow", "i4"),
        *[(f"num_{name}", "i4") for name in ("own", "enemies", "resources", "candidates", "sites")],
        *[(name, "i4", (MAX_OBJECTS,)) for name in ("own", "enemies", "resources", "candidates")],
        *[(name, "i4", (NUM_TYPES,)) for name in ("own_count", "in_production", "type_order")],
        ("sites", "i4", (NUM_TYPES, 2)),
        ("flags", "i1", (21,)),
        ("money_left", "i4"),
        *[(f"give_{name}", "i4", (MAX_OBJECTS,)) for name in ("kind", "target", "type", "hall")],
        *[(f"give_{name}", "f4", (MAX_OBJECTS,)) for name in ("x", "y", "scale")],
        ("num_plans", "i4"),
        ("plans", "i4", (MAX_PLANS, 8)),
    ],
    align=True,
)
"""Working memory of one kernel call; nothing in it outlives a tick but the log of planned paths."""

GAME_NAMES: tuple[str, ...] = GAME.names or ()


def blank_games(count: int) -> np.ndarray:
    """[count] records of empty games: no objects, nothing seen, no scripts."""
    games = np.zeros(count, GAME)
    games["winner"] = -1
    games["unit_order"] = games["order_target"] = games["order_hall"] = -1
    games["cache_key"] = -1
    games["script_queue"] = games["script_types"] = games["script_forced"] = -1
    games["script_scale"] = 1
    games["unit_expire"] = games["unit_agent"] = -1
    games["quirks"] = ALL_QUIRKS
    games["cap"], games["max_tick"], games["interval"] = MAX_ARMY_OBJECTS, 10**9, 50
    return games


def fog_map(visible: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Row masks `visible` and `seen`, [..., 32] and [..., 32] uint32, as states of cells, [..., 32, 32] uint8.

    A cell is visible, seen or unseen.
    """
    columns = np.arange(SIDE, dtype=np.uint32)
    now, once = ((rows[..., None] >> columns) & 1 for rows in (visible, seen))
    return (UNSEEN - once - now).astype(np.uint8)


def to_row_masks(states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The reverse of `fog_map`: states [..., 32, 32] to visible and seen row masks, [..., 32] uint32 each."""
    bits = np.uint32(1) << np.arange(SIDE, dtype=np.uint32)
    return tuple(((states <= limit) * bits).sum(-1, dtype=np.uint32) for limit in (0, 1))
