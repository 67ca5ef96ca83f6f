"""A small game whose objects a test sets down by hand."""

import numpy as np

from rl_envs.minirts import kernels
from rl_envs.minirts.batch import Games, Player
from rl_envs.minirts.game import ALL_QUIRKS, QUIRKS
from rl_envs.minirts.symbols import GRASS, HALL, MAX_HP, SIDE, WATER

FAR = 1 << 24


class Meadow:
    """A game on grass with a hall a side in two corners, and some more objects; nobody decides by themselves.

    Args:
        things: player, type, x and y of each further object, in the order of their ids within a side.
        quirk: a habit of the engine of `game.QUIRKS`, which is off unless `is_on`.
        water: cells (x, y) of water.
    """

    def __init__(self, things, quirk=QUIRKS[0], is_on=True, water=()):
        self.games, self.player = Games(1), Player(1)
        self.game = game = self.games.records[0]
        game["terrain"] = GRASS
        for x, y in water:
            game["terrain"][y * SIDE + x] = WATER
        things = sorted([(0, HALL, 3, 28), (1, HALL, 28, 28), *things], key=lambda thing: thing[0])
        for row, (player, kind, x, y) in enumerate(things):
            game["unit_id"][row], game["unit_type"][row] = player * FAR + row, kind
            game["unit_player"][row], game["unit_hp"][row] = player, MAX_HP[kind]
            game["unit_x"][row], game["unit_y"][row] = x, y
        game["num_units"] = game["next_id"] = len(things)
        game["tick"], game["money"] = 1000, 500
        bit = 1 << QUIRKS.index(quirk)
        game["quirks"] = ALL_QUIRKS if is_on else ALL_QUIRKS & ~bit
        game["seen_rows"] = 2**32 - 1
        self.player.settle(self.games, 0, True)

    def number(self, kind, player=0, place=0):
        """Id of an object."""
        game = self.game
        chosen = (game["unit_type"] == kind) & (game["unit_player"] == player) & (np.arange(128) < game["num_units"])
        return int(game["unit_id"][chosen][place])

    def order(self, unit, kind, target=-1, made=-1, x=0.0, y=0.0):
        kernels.issue_order(self.games.records, 0, unit, kind, target, made, -1, *np.array([x, y, 0], np.float32))

    def play(self, ticks):
        for _ in range(ticks):
            self.player.tick(self.games, 0, self.player.no_tables, self.player.no_continues)
        return self.game

    def plans(self):
        """Paths that were computed since the start: unit and number of pops."""
        scratch = self.player.scratch[0]
        return [(int(row[2]), int(row[7])) for row in scratch["plans"][: scratch["num_plans"]]]
