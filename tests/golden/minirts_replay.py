"""Recordings of MiniRTS as states of our engine, and our states as rows of recordings."""

import json

import numpy as np

from rl_envs.minirts import kernels
from rl_envs.minirts.game import LEARNED, MIN_LEARNED, SCRATCH, blank_games, fog_of, rows_of
from rl_envs.minirts.planner import BLOCKED
from rl_envs.minirts.symbols import MAX_ARMY_OBJECTS

CELLS = 1024
UNIT = ("id", "type", "player", "hp", "x", "y", "born", "expire")
ORDER = ("unit", "kind", "target", "type", "hall", "x", "y", "scale", "state", "paid", "tick", "start")
COOLDOWNS = ("move", "attack", "gather", "build")


class Recording:
    """One file: one game."""

    def __init__(self, path):
        self.data = dict(np.load(path, allow_pickle=False))
        self.meta = json.loads(str(self.data["meta"]))
        self.games = blank_games(1)
        self.scratch = np.zeros(1, SCRATCH)
        self.learned = np.zeros(1 << 18, LEARNED)

    def rows(self, name, index):
        """Rows of snapshot `index`: name is unit, bullet or cmd."""
        start, stop = self.data[f"{name}_off"][index : index + 2]
        return slice(start, stop)

    def restore(self, deep=0):
        """Put the game into the restore point number `deep`; returns its tick."""
        data, game = self.data, self.games[0]
        self.games[...] = blank_games(1)
        tick = int(data["deep_tick"][deep])
        at = int(np.flatnonzero(data["snap_tick"] == tick)[0])
        game["terrain"] = data["terrain"].reshape(-1)
        game["tick"], game["next_id"] = tick, data["snap_next_id"][at]
        game["money"] = data["snap_money"][at]
        game["max_tick"] = self.meta["max_tick"]
        game["cap"] = self.meta["max_num_units_per_player"]
        self._restore_rows(at)
        self._restore_sight(tick)
        self._restore_paths(deep, tick)
        return tick

    def _restore_rows(self, at):
        data, game = self.data, self.games[0]
        units, orders, bullets = (self.rows(name, at) for name in ("unit", "cmd", "bullet"))
        count = units.stop - units.start
        game["num_units"] = count
        for name in UNIT:
            game[f"unit_{name}"][:count] = data[f"unit_{name}"][units]
        for column, name in enumerate(COOLDOWNS):
            game["unit_last"][:count, column] = data[f"unit_last_{name}"][units]
        alive = np.isin(data["cmd_unit"][orders], data["unit_id"][units])
        chosen = np.flatnonzero(alive) + orders.start
        game["num_orders"] = len(chosen)
        for name in (*ORDER, "seq"):
            game[f"order_{name}"][: len(chosen)] = data[f"cmd_{name}"][chosen]
        game["next_seq"] = data["cmd_seq"].max(initial=0) + 1
        for row in chosen[data["cmd_current"][chosen] == 1]:
            owner = np.flatnonzero(game["unit_id"][:count] == data["cmd_unit"][row])
            game["unit_order"][owner] = data["cmd_seq"][row]
        game["num_bullets"] = bullets.stop - bullets.start
        for ours, theirs in (("x", "x"), ("y", "y"), ("from", "from"), ("state", "state"), ("target", "target")):
            game[f"bullet_{ours}"][: game["num_bullets"]] = data[f"bullet_{theirs}"][bullets]
        game["bullet_hit"][: game["num_bullets"]] = -data["bullet_att"][bullets].astype(int)
        recent = (data["trace_tick"] >= game["tick"] - 40) & (data["trace_tick"] < game["tick"])
        for time, failed in zip(data["trace_tick"][recent], data["trace_failed_moves"][recent], strict=True):
            game["failed"][int(time) % 64] = failed

    def _restore_sight(self, tick):
        data, game = self.data, self.games[0]
        at = int(np.flatnonzero(data["fog_tick"] == tick)[0])
        game["visible_rows"], game["seen_rows"] = rows_of(data["fog"][at])
        seen = slice(*data["seen_off"][at : at + 2])
        for unit, player in zip(data["seen_unit"][seen], data["seen_player"][seen], strict=True):
            game["unit_remembered"][game["unit_id"] == unit] |= np.uint8(1 << player)

    def _restore_paths(self, deep, tick):
        data = self.data
        cached = slice(*data["cache_off"][deep : deep + 2])
        names = ("player", "from", "to", "tick", "way")
        for player, start, goal, when, way in zip(*(data[f"cache_{n}"][cached] for n in names), strict=True):
            if tick - when <= 10:
                kernels.put_in_cache(self.games, 0, player, start, goal, when, way)
        self.learned[...] = 0
        known = slice(*data["heur_off"][deep : deep + 2])
        for row in zip(*(data[f"heur_{n}"][known] for n in ("player", "cell", "goal", "value")), strict=True):
            kernels.put_in_learned(self.games, 0, self.scratch, self.learned, *row)
