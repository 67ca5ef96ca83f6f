"""B games in memory: their records, their learned distances, and the calls into the kernels.

Rewards and observations of agents are in `world.py`.
"""

from typing import Any

import numpy as np

from rl_envs.core.spec import Array, Arrays, exactly
from rl_envs.minirts import kernels
from rl_envs.minirts.factored import MAX_LISTED, UNIT_FACTORS
from rl_envs.minirts.game import GAME_NAMES, LEARNED, MIN_LEARNED, SCRATCH, blank_games
from rl_envs.minirts.mapgen import MAX_PLACED, generate
from rl_envs.minirts.observation import OBSERVATION, OBSERVATION_NAMES
from rl_envs.minirts.symbols import MAX_HP, NUM_CELLS, PLAYERS, START_MONEY

FIRST_TICK = 3
"""First tick of play; map and units are placed before it."""
RESOURCE_DISTANCE, PEASANTS = 4, 3
LEARNED_KEYS = ("learned_key", "learned_value")
MAX_LEARNED = PLAYERS * NUM_CELLS * NUM_CELLS
"""Number of possible distances, and the largest key."""


class Games(dict[str, Array]):
    """State arrays by name, views of one array of records.

    Attributes:
        records: [B] of `game.GAME`.
        learned: [B, C] of `game.LEARNED`, hash tables; C is the same for all games and a power of two.
    """

    def __init__(self, count: int, capacity: int = MIN_LEARNED) -> None:
        super().__init__()
        self.records = blank_games(count)
        self._view(np.zeros((count, capacity), LEARNED))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the records themselves, so that a copy's arrays are views of its own records."""
        views = {*GAME_NAMES, *LEARNED_KEYS}
        others = {name: value for name, value in self.items() if name not in views}
        return _rebuilt, (self.records, self.learned, others)

    def _view(self, learned: Array) -> None:
        self.learned = learned
        self.update({name: self.records[name] for name in GAME_NAMES})
        self.update(learned_key=learned["key"], learned_value=learned["value"])

    def grow(self) -> None:
        """Double the capacity of all tables of learned distances."""
        larger = np.zeros((len(self.learned), 2 * self.learned.shape[1]), LEARNED)
        for source, target in zip(self.learned, larger, strict=True):
            kernels.copy_learned(source, target)
        self._view(larger)


def _rebuilt(records: Array, learned: Array, others: Arrays) -> Games:
    """Games from their records, when they are unpickled."""
    games = Games(0)
    games.records = records
    games._view(learned)
    games.update(others)
    return games


def packed(learned: Array) -> Arrays:
    """Learned distances [B, C] of `game.LEARNED` without empty slots, for snapshots.

    `learned_key` and `learned_value` are [B, M], M the largest number of distances of a game; by key, 0 at the end.
    """
    count = (learned["key"] != 0).sum(1)
    keys = np.where(learned["key"] == 0, np.iinfo(np.int32).max, learned["key"])
    order = np.argsort(keys, axis=1)[:, : count.max(initial=0)]
    return {f"learned_{name}": np.take_along_axis(learned[name], order, 1) for name in ("key", "value")}


def unpacked(state: Arrays) -> Arrays:
    """The reverse of `packed`: `learned_key` and `learned_value` [B, C] with room to grow, C a power of two.

    Of the same names [B, M]; raises ValueError for other shapes or keys out of range.
    """
    keys, values = (np.asarray(state.get(name, 0)) for name in LEARNED_KEYS)
    fits = keys.ndim == 2 and keys.shape == values.shape
    if not fits or not ((keys >= 0) & (keys <= MAX_LEARNED) & (values >= 0) & (values < np.inf)).all():
        raise ValueError(
            f"restore: learned_key and learned_value must be [B, M], keys in 0 .. {MAX_LEARNED}, values 0 or more"
        )
    keys = exactly("restore: learned_key", keys, np.int32)
    count, capacity = (keys != 0).sum(1), MIN_LEARNED
    while 4 * count.max(initial=0) >= 3 * capacity:
        capacity *= 2
    source, target = np.zeros(keys.shape, LEARNED), np.zeros((len(keys), capacity), LEARNED)
    source["key"], source["value"] = keys, values
    for one, other in zip(source, target, strict=True):
        kernels.copy_learned(one, other)
    return {"learned_key": target["key"], "learned_value": target["value"]}


def set_map(games: Games, row: int, seed: int, *, fair: bool, extras: int) -> None:
    """Write the map and the units of a seed into a game, at tick 3."""
    record = games.records[row]
    placed = np.zeros((MAX_PLACED, 4), np.int32)
    terrain = np.zeros(NUM_CELLS, np.uint8)
    count = generate(seed, int(fair), RESOURCE_DISTANCE, PEASANTS, extras, terrain, placed)
    placed, ids = placed[:count], np.arange(count) + (placed[:count, 0] << 24)
    order = np.argsort(ids)
    record["terrain"], record["tick"], record["next_id"] = terrain, FIRST_TICK, count
    record["money"], record["num_units"] = START_MONEY, count
    record["unit_id"][:count] = ids[order]
    for column, name in enumerate(("player", "type", "x", "y")):
        record[f"unit_{name}"][:count] = placed[order, column]
    record["unit_hp"][:count] = MAX_HP[placed[order, 1]]
    record["unit_born"][:count] = FIRST_TICK


class Player:
    """Calls the kernels with preallocated buffers, for N agents of a learning side."""

    def __init__(self, agents: int) -> None:
        self.agents = agents
        self.scratch = np.zeros(1, SCRATCH)  # [1] of `game.SCRATCH`, working memory, with a log of planned paths
        self.no_tables = np.zeros((agents, MAX_LISTED, len(UNIT_FACTORS)), np.int32)  # [N, 50, 7] int32, empty commands
        self.no_continues = np.ones(agents, np.int8)  # [N] int8, all 1: every agent lets its orders continue
        self._no_learned = np.zeros(MIN_LEARNED, LEARNED)

    def begin(self, games: Games, row: int) -> None:
        """Play a fresh game to its first decision."""
        self._call_kernel(games, row, self.no_tables, self.no_continues, kernels.START)

    def play(self, games: Games, row: int, tables: Array, continues: Array) -> None:
        """Play from one decision to the next (`kernels.play`), by `tables` [N, 50, 7] int32 of commands.

        `continues` [N] int8 is 1 for agents that let their orders continue.
        """
        self._call_kernel(games, row, tables, continues, kernels.PLAY)

    def tick(self, games: Games, row: int, tables: Array, continues: Array) -> None:
        """Play one tick, by `tables` [N, 50, 7] and `continues` [N] of `play`, which count in the tick of a decision.

        Equal to `play` after a decision's ticks.
        """
        self._call_kernel(games, row, tables, continues, kernels.TICK)

    def decide(self, records: Array, player: int) -> None:
        """Run the script of a side in the first of these records [K], which writes its orders into `scratch`."""
        self.scratch["give_kind"], self.scratch["num_own"] = 0, 0  # scripts without a hall write nothing
        none = self.no_tables, self.no_continues
        kernels.play(records, 0, self.scratch, self._no_learned, *none, kernels.SCRIPT, player)

    def settle(self, games: Games, row: int, is_new: bool) -> None:
        """Complete a restored game."""
        kernels.settle(games.records, row, self.scratch, self.agents, is_new)

    def observe(self, games: Games, rows: Array, player: int, true_hp: bool) -> Arrays:
        """Observations of a side in the K games `rows` [K], name -> [K, ...]."""
        out = np.zeros(len(rows), OBSERVATION)
        for place, row in enumerate(rows):
            kernels.watch(games.records, row, self.scratch, player, out[place : place + 1], true_hp, False)
        return {name: out[name] for name in OBSERVATION_NAMES}

    def _call_kernel(self, games: Games, row: int, tables: Array, continues: Array, what: int) -> None:
        """Call the kernel; if the table of learned distances is full, restore the game, enlarge it and repeat."""
        while True:
            record, learned = games.records[row].copy(), games.learned[row].copy()
            self.scratch["overflow"] = 0
            kernels.play(games.records, row, self.scratch, games.learned[row], tables, continues, what, 0)
            if not self.scratch["overflow"][0]:
                return
            games.records[row], games.learned[row] = record, learned
            games.grow()
