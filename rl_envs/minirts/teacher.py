"""Scripts as teachers: the commands that they would give in a learner's place, in the learner's format.

A teacher reads the games of a world and changes nothing in them, so every observation gets a script's commands as
labels for behaviour cloning. A policy that follows a teacher of the same seed plays, tick for tick, the script's own
game.
"""

import itertools
from collections.abc import Sequence

import numpy as np

from rl_envs.core.spec import Array
from rl_envs.minirts import kernels
from rl_envs.minirts.batch import Games, Player
from rl_envs.minirts.factored import (
    C_ATTACK,
    C_BUILDING,
    C_CONTINUE,
    C_GATHER,
    C_MOVE,
    C_UNIT,
    MAX_LISTED,
    UNIT_FACTORS,
)
from rl_envs.minirts.game import GAME_NAMES
from rl_envs.minirts.opponents import get_opponent
from rl_envs.minirts.symbols import ATTACK, BUILD, FIRST_BUILDING, GATHER, SIDE

_KEPT = tuple(name for name in GAME_NAMES if name.startswith(("script_", "twister")))
"""Fields of a side that a script remembers from decision to decision."""


class ScriptTeacher:
    """Scripts that watch side 0 of B games, one a game.

    The names, each one of `opponents.get_opponent`, take turns, one per episode.
    """

    def __init__(self, num_worlds: int, names: Sequence[str]) -> None:
        self._scripts = itertools.cycle([get_opponent(name) for name in names])
        self._memory = Games(num_worlds).records
        self._player = Player(1)

    def begin(self, worlds: Array, seeds: Array, uniforms: Array) -> None:
        """Start the next scripts, where episodes begin, in worlds [K].

        `seeds` [K], below 2**20, are the scripts' own; `uniforms` [K, 6] draw the types of such as `medium_two`.
        """
        for row, seed, drawn in zip(worlds, seeds, uniforms, strict=True):
            memory, script = self._memory[row], next(self._scripts)
            memory["script_kind"][0], memory["script_towers"][0] = script.kind, script.towers
            memory["script_forced"][0], memory["script_queue"][0] = script.types(drawn), -1
            memory["script_types"][0] = -1
            kernels.start_scripts(self._memory, int(row), int(seed), 0)

    def commands(self, games: Games) -> Array:
        """Commands that the scripts would give now, in the tick of a decision, [B, 50, 7] int32 by `UNIT_FACTORS`.

        One of each own unit in the order of the observation; units that the script leaves as they are continue.
        """
        tables = np.zeros((len(self._memory), MAX_LISTED, len(UNIT_FACTORS)), np.int32)
        tables[..., 0] = C_CONTINUE
        for row, memory in enumerate(self._memory):
            one = games.records[row : row + 1].copy()
            for name in _KEPT:
                one[name][0, 0] = memory[name][0]
            self._player.decide(one, 0)
            for name in _KEPT:
                memory[name][0] = one[name][0, 0]
            self._translate(one[0], tables[row])
        return tables

    def _translate(self, game: np.void, table: Array) -> None:
        """Write the decision in the working memory as commands of the learner."""
        scratch = self._player.scratch[0]
        ids = game["unit_id"]
        enemies = {int(ids[row]): k for k, row in enumerate(scratch["enemies"][: scratch["num_enemies"]])}
        resources = {int(ids[row]): k for k, row in enumerate(scratch["resources"][: scratch["num_resources"]])}
        for k, row in enumerate(scratch["own"][: min(scratch["num_own"], MAX_LISTED)]):
            kind, target, made = (int(scratch[f"give_{part}"][row]) for part in ("kind", "target", "type"))
            cell = int(max(scratch["give_y"][row], 0)) * SIDE + int(max(scratch["give_x"][row], 0))
            if kind == GATHER:
                table[k, :2] = C_GATHER, resources[target]
            elif kind == ATTACK:
                table[k, [0, 2]] = C_ATTACK, enemies[target]
            elif kind == BUILD and made < FIRST_BUILDING:
                table[k, [0, 3]] = C_UNIT, made
            elif kind == BUILD:
                table[k, [0, 4, 5]] = C_BUILDING, made, cell
            elif kind:
                table[k, [0, 6]] = C_MOVE, cell
