"""Recordings of MiniRTS as states of our engine, and our states as rows of recordings."""

import json

import numpy as np

from rl_envs.minirts import kernels
from rl_envs.minirts.game import LEARNED, SCRATCH, blank_games, fog_map, to_row_masks
from rl_envs.minirts.observation import OBSERVATION
from rl_envs.minirts.planner import BLOCKED
from rl_envs.minirts.symbols import MEDIUM, PASSIVE, SIMPLE, STRONG

UNIT = ("id", "type", "player", "hp", "x", "y", "born", "expire")
ORDER = ("unit", "kind", "target", "type", "hall", "x", "y", "scale", "state", "paid", "tick", "start")
GIVEN = ORDER[:8]
COOLDOWNS = ("move", "attack", "gather", "build")
"""In the order of `CD_MOVE` and so on."""
BULLET = {"x": "x", "y": "y", "from": "from", "state": "state", "target": "target", "hit": "att"}
PLAN = ("tick", "player", "unit", "from", "to", "kind", "way", "pops")
SCRIPTS = {"none": PASSIVE, "simple": SIMPLE, "medium": MEDIUM, "strong": STRONG}
LISTS = {"own": "army", "enemy": "enemy", "resource": "resource"}
OBSERVED = {
    "in_production": "cons_count",
    "enemy_average": "moving_enemy_count",
    "count": "count",
    "money_bin": "resource_bin",
    "past_commands": "prev_cmd",
    **{f"command_{name}": f"current_cmd_{name}" for name in ("type", "unit_type", "x", "y")},
    **{f"command_{name}": f"current_cmd_{name}_idx" for name in ("gather", "attack")},
    **{f"{ours}_{name}": f"{theirs}_{name}" for ours, theirs in LISTS.items() for name in ("type", "hp", "x", "y")},
}
NO_TABLES, NO_CONTINUES = np.zeros((1, 50, 7), np.int32), np.ones(1, np.int8)


class Recording:
    """One file: one game."""

    def __init__(self, path):
        self.data = dict(np.load(path, allow_pickle=False))
        self.meta = json.loads(str(self.data["meta"]))
        self.games = blank_games(1)
        self.scratch = np.zeros(1, SCRATCH)
        self.learned = np.zeros(1 << 18, LEARNED)
        self.game = self.games[0]
        self._snapshots = {int(tick): k for k, tick in enumerate(self.data["snap_tick"])}
        self._trace = {int(tick): k for k, tick in enumerate(self.data["trace_tick"])}
        self._fogs = {int(tick): k for k, tick in enumerate(self.data["fog_tick"])}

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
        self.next_plan = int((data["plan_tick"] < tick).sum())
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
        game["visible_rows"], game["seen_rows"] = to_row_masks(data["fog"][at])
        seen = slice(*data["seen_off"][at : at + 2])
        for unit, player in zip(data["seen_unit"][seen], data["seen_player"][seen], strict=True):
            game["unit_remembered"][game["unit_id"] == unit] |= np.uint8(1 << player)

    def _restore_paths(self, deep, tick):
        data = self.data
        cached = slice(*data["cache_off"][deep : deep + 2])
        names = ("player", "from", "to", "tick", "way")
        for player, start, goal, when, way in zip(*(data[f"cache_{n}"][cached] for n in names), strict=True):
            if tick - when <= 10:  # the engine forgets older ones
                kernels.put_in_cache(self.games, 0, player, start, goal, when, way)
        self.learned[...] = 0
        known = slice(*data["heur_off"][deep : deep + 2])
        for row in zip(*(data[f"heur_{n}"][known] for n in ("player", "cell", "goal", "value")), strict=True):
            kernels.put_in_learned(self.games, 0, self.scratch, self.learned, *row)

    def replay(self):
        """Play to the end with the recorded orders and compare everything that was recorded."""
        while self.game["tick"] < self.data["end_tick"]:
            self.compare_state()
            kernels.begin(self.games, 0)
            self.decide()
            self.scratch["num_plans"] = 0
            self.call(kernels.FINISH)
            self.compare_trace()
        self.compare_state()
        assert self.next_plan == len(self.data["plan_tick"]), "paths that were recorded and not planned"

    def decide(self):
        """Issue this tick's recorded orders; every fate must be the recorded one."""
        for player in range(2):
            self.hand_over(player)

    def hand_over(self, player):
        data, tick = self.data, int(self.game["tick"])
        for k in np.flatnonzero((data["act_tick"] == tick) & (data["act_player"] == player)):
            numbers = [int(data[f"act_{name}"][k]) for name in GIVEN[:5]]
            places = [data[f"act_{name}"][k] for name in GIVEN[5:]]
            fate = kernels.issue_order(self.games, 0, *numbers, *places)
            assert fate == data["act_fate"][k], f"tick {tick}: fate of order {k}"

    def call(self, what, player=0, tables=NO_TABLES, continues=NO_CONTINUES):
        kernels.play(self.games, 0, self.scratch, self.learned, tables, continues, what, player)

    def compare_trace(self):
        """Sums of all objects after a tick, and the paths that were planned in it."""
        data, game, tick = self.data, self.game, int(self.game["tick"]) - 1
        count = game["num_units"]
        plain, side = game["unit_type"][:count] != 0, game["unit_player"][:count]
        hp = game["unit_hp"][:count]
        ours = {
            "objects": [(plain & (side == player)).sum() for player in range(2)],
            "hp": [hp[plain & (side == player)].sum() for player in range(2)],
            "money": game["money"],
            "bullets": game["num_bullets"],
            "resource_hp": hp[~plain].sum(),
            "next_id": game["next_id"],
            "failed_moves": game["failed"][tick % 64],
        }
        at = self._trace[tick]
        for name, value in ours.items():
            np.testing.assert_array_equal(value, data[f"trace_{name}"][at], err_msg=f"{name} after tick {tick}")
        places = [game[f"unit_{axis}"][:count][plain].astype(float).sum() for axis in "xy"]
        np.testing.assert_allclose(places, data["trace_pos"][at], rtol=0, atol=1e-9, err_msg=f"after tick {tick}")
        self.compare_plans()

    def compare_plans(self):
        """This tick's paths; the first of a tick may have the clock of the tick before."""
        count = int(self.scratch["num_plans"][0])
        ours = self.scratch["plans"][0, :count].copy()
        ours[ours[:, 5] == 4, 6] = BLOCKED
        theirs = np.stack([self.data[f"plan_{name}"][self.next_plan :][:count] for name in PLAN], 1).astype(int)
        theirs[theirs[:, 5] == 4, 6] = BLOCKED
        np.testing.assert_array_equal(ours, theirs, err_msg=f"paths in tick {self.game['tick'] - 1}")
        self.next_plan += count

    def compare_state(self):
        """Objects, bullets, running orders, fog, memory and learned distances before a tick of a snapshot."""
        tick = int(self.game["tick"])
        if tick in self._snapshots:
            self._compare_rows(self._snapshots[tick], f"before tick {tick}")
        if tick in self._fogs:
            self._compare_sight(self._fogs[tick], f"before tick {tick}")
        for deep in np.flatnonzero(self.data["deep_tick"] == tick):
            self._compare_learned(slice(*self.data["heur_off"][deep : deep + 2]), f"before tick {tick}")

    def _compare_rows(self, at, where):
        data, game = self.data, self.game
        units, bullets, orders = (self.rows(name, at) for name in ("unit", "bullet", "cmd"))
        count = game["num_units"]
        for name in UNIT:
            np.testing.assert_array_equal(game[f"unit_{name}"][:count], data[f"unit_{name}"][units], f"{name} {where}")
        for column, name in enumerate(COOLDOWNS):
            last = data[f"unit_last_{name}"][units]
            np.testing.assert_array_equal(game["unit_last"][:count, column], last, f"last {name} {where}")
        for ours, theirs in BULLET.items():
            value = data[f"bullet_{theirs}"][bullets] * (-1.0 if theirs == "att" else 1)
            np.testing.assert_array_equal(game[f"bullet_{ours}"][: game["num_bullets"]], value, f"{ours} {where}")
        kernels.sort(self.games, 0)
        alive = set(game["unit_id"][:count].tolist())
        mine = zip(*(game[f"order_{name}"][: game["num_orders"]].tolist() for name in ORDER), strict=True)
        theirs = zip(*(data[f"cmd_{name}"][orders].tolist() for name in ORDER), strict=True)
        kept = [[row for row in rows if row[0] in alive] for rows in (mine, theirs)]
        assert kept[0] == kept[1], f"orders {where}"

    def _compare_sight(self, at, where):
        data, game = self.data, self.game
        np.testing.assert_array_equal(fog_map(game["visible_rows"], game["seen_rows"]), data["fog"][at], where)
        count, seen = game["num_units"], slice(*data["seen_off"][at : at + 2])
        ids = game["unit_id"][:count]
        for player in range(2):
            recorded = data["seen_unit"][seen][data["seen_player"][seen] == player]
            ours = ids[(game["unit_remembered"][:count] >> player) & 1 == 1]
            np.testing.assert_array_equal(np.sort(ours), np.intersect1d(recorded, ids), f"memory {where}")

    def _compare_learned(self, known, where):
        """Distances by side, goal and cell; what was not learned is the straight distance."""
        ours, data = np.tile(straight_distances(), (2, 1, 1)), self.data
        theirs, slots = ours.copy(), self.learned[self.learned["key"] != 0]
        ours.reshape(-1)[slots["key"] - 1] = slots["value"]
        theirs[tuple(data[f"heur_{name}"][known] for name in ("player", "goal", "cell"))] = data["heur_value"][known]
        np.testing.assert_array_equal(ours, theirs, f"learned distances {where}")


def straight_distances():
    """[1024, 1024] float32, Euclid's distance of each cell from each other."""
    column, line = (part.astype(np.float32) for part in (np.arange(1024) % 32, np.arange(1024) // 32))
    return np.sqrt((column[:, None] - column) ** 2 + (line[:, None] - line) ** 2)


class Decisions(Recording):
    """The same replay, in which our scripts, our reading of actions and our observations are compared as well."""

    def __init__(self, path):
        super().__init__(path)
        self.restore(0)
        data = self.data
        kind = "raw" if "raw_tick" in data else "dec"
        rows = (
            enumerate(zip(data[f"{kind}_tick"], data[f"{kind}_player"], strict=True)) if f"{kind}_tick" in data else ()
        )
        self.decisions = {(int(tick), int(player)): k for k, (tick, player) in rows}
        observed = zip(data["obs_tick"], data["obs_player"], strict=True) if "obs_tick" in data else ()
        self.observed = {(int(tick), int(player)): k for k, (tick, player) in enumerate(observed)}
        self._start_scripts()

    def _start_scripts(self):
        """Seed the scripts as recorded; a type that their own draw does not give was forced."""
        game, sides = self.game, self.meta["ai"]
        seeds = [(player << 20) + side["thread_id"] for player, side in enumerate(sides)]
        for _ in range(2):
            for player, side in enumerate(sides):
                game["script_kind"][player] = SCRIPTS[side["kind"]]
                game["script_towers"][player] = side["tower"]
            kernels.start_scripts(self.games, 0, *seeds)
            for player, side in enumerate(sides):
                drawn = [game[f"script_{name}"][player] for name in ("least", "most")]
                if game["script_types"][player, 0] != side["unit_type"] or drawn != [
                    side["min_army"],
                    side["max_army"],
                ]:
                    game["script_forced"][player, 0] = side["unit_type"]
        for player, side in enumerate(sides):
            if game["script_kind"][player] != PASSIVE:
                drawn = [int(game[f"script_{name}"][player]) for name in ("least", "most")]
                assert drawn == [side["min_army"], side["max_army"]], "thresholds"

    def decide(self):
        for player in range(2):
            key = int(self.game["tick"]), player
            if key in self.decisions:
                self._observe(key)
                self._decide(*key, self.decisions[key])
            self.hand_over(player)

    def _observe(self, key):
        out = np.zeros(1, OBSERVATION)
        kernels.watch(self.games, 0, self.scratch, key[1], out, False, True)
        if key not in self.observed:
            return
        data, at = self.data, self.observed[key]
        np.testing.assert_array_equal(out["map"][0, 2:], data["obs_map"][at], err_msg=f"map {key}")
        for ours, theirs in OBSERVED.items():
            np.testing.assert_array_equal(out[ours][0], data[f"obs_{theirs}"][at], err_msg=f"{ours} {key}")
        for ours, theirs in LISTS.items():
            assert out[f"num_{ours}"][0] == data[f"obs_num_{theirs}"][at, 0], key

    def _decide(self, tick, player, at):
        before = self.games.copy()
        self.scratch["give_kind"] = 0
        data, game = self.data, self.game
        chosen = np.flatnonzero((data["act_tick"] == tick) & (data["act_player"] == player))
        if "raw_tick" in data:
            self._command(player, at)
        else:
            self._script(tick, player, at)
        given = [k for k in range(game["num_units"]) if self.scratch["give_kind"][0, k]]
        ours = [[int(game["unit_id"][k])] + [self.scratch[f"give_{name}"][0, k] for name in GIVEN[1:]] for k in given]
        theirs = [[data[f"act_{name}"][k] for name in GIVEN] for k in chosen]
        assert ours == theirs, f"orders of side {player} in tick {tick}"
        self._keep(before)
        if "raw_tick" not in data:
            columns = [data[f"act_{name}"][chosen].astype(np.int32) for name in ("unit", "kind", "type")]
            kernels.note_orders(self.games, 0, self.scratch, player, *columns)

    def _command(self, player, at):
        rows = self.data["raw_action"][slice(*self.data["raw_off"][at : at + 2])]
        tables = np.zeros((1, 50, 7), np.int32)
        tables[0, : len(rows)] = rows
        self.call(kernels.COMMAND, player, tables, self.data["raw_continue"][at : at + 1].astype(np.int8))

    def _script(self, tick, player, at):
        data, scratch, where = self.data, self.scratch[0], f"side {player} in tick {tick}"
        assert self.game["script_queue"][player] == data["dec_queue_before"][at], where
        self.call(kernels.SCRIPT, player)
        assert self.game["script_queue"][player] == data["dec_queue_after"][at], where
        if data["dec_acted"][at]:
            np.testing.assert_array_equal(scratch["type_order"], data["dec_order"][at], err_msg=where)
            np.testing.assert_array_equal(scratch["flags"], data["dec_flags"][at], err_msg=where)
            assert self.game["script_types"][player, 0] == data["dec_unit_type"][at], where

    def _keep(self, before):
        """Keep what the deciding side remembers; its orders come from the recording."""
        kept = ("script_types", "script_queue", "twister", "twister_at", "unit_history")
        values = {name: self.game[name].copy() for name in kept}
        self.games[...] = before
        for name, value in values.items():
            self.game[name] = value
