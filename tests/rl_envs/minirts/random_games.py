"""Games of random actions, watched in every tick: `python -m tests.rl_envs.minirts.random_games [--games 1000]`.

Half of the choices are drawn from the masks and half from all numbers. After each tick two things must hold: no two
objects that are both inside or both outside the map are closer than 0.72, and each side's money is what a ledger of our
own says from prices, new objects, running orders and loads that reach a hall.
"""

import argparse
from time import process_time

import numpy as np

from rl_envs.minirts.actions import SIZES
from rl_envs.minirts.batch import Player
from rl_envs.minirts.scripts import LEARNER
from rl_envs.minirts.symbols import BUILD, COST, FIRST_BUILDING, GATHER, PLACE_GHOST, TO_HALL, TO_RESOURCE
from rl_envs.minirts.tick import RUNNING
from rl_envs.minirts.units import TOUCH_2
from rl_envs.minirts.world import DECISION_TICKS, MiniRts

MAX_TICKS = 3000
OPPONENTS = ("medium", "strong", "simple", "medium_three", "medium_dragon_towers", "passive")
LOAD = 10


def table_of(observations, random):
    """[N, 50, 7] random commands; a row is legal with probability one half, as far as the masks say."""
    agents = observations["owned"].shape[1]
    table = random.integers(SIZES, size=(agents, 50, len(SIZES))).astype(np.int32)
    for agent in range(agents):
        seen = {name: value[0, agent] for name, value in observations.items()}
        for k in np.flatnonzero(seen["owned"] & (random.random(50) < 0.5)):
            masks = {0: "legal_command", 3: "legal_unit_type"}
            choices = {column: seen[name][k] for column, name in masks.items()}
            choices |= {1: seen["legal_gather"], 2: seen["legal_attack"], 4: seen["legal_building_type"]}
            for column, mask in choices.items():
                if mask.any():
                    table[agent, k, column] = random.choice(np.flatnonzero(mask))
    return table


class Ledger:
    """What each side's money must be, from what can be seen of a game between two ticks.

    money + prices of running paid orders + prices of all objects made so far - income = constant. A creation that the
    engine refuses pays the price back and lets the order go on, so each refused one adds its price.
    """

    def __init__(self, game):
        self.game = game
        self.made = set(self._numbers())
        self.expected = game["money"].astype(int) + self._paid(self._orders())
        self.refused = 0
        self.before = None

    def _numbers(self):
        count = self.game["num_units"]
        return self.game["unit_id"][:count][self.game["unit_expire"][:count] < 0].tolist()

    def _orders(self):
        """Running orders by number: kind, state, paid, unit, type, target, hall, place."""
        names = ("kind", "state", "paid", "unit", "type", "target", "hall", "x", "y", "scale")
        count = self.game["num_orders"]
        columns = [self.game[f"order_{name}"][:count].tolist() for name in names]
        rows = zip(self.game["order_seq"][:count].tolist(), *columns, strict=True)
        return {row[0]: dict(zip(names, row[1:], strict=True)) for row in rows}

    def _paid(self, orders):
        total = np.zeros(2, int)
        for order in orders.values():
            if order["paid"]:
                total[order["unit"] >> 24] += COST[order["type"]]
        return total

    def begin(self):
        """Before a tick: which loads will reach a hall."""
        self.before, self.arriving = self._orders(), []
        for seq, order in self.before.items():
            if order["kind"] == GATHER and order["state"] == TO_HALL:
                unit, hall = (self._place(order[name]) for name in ("unit", "hall"))
                if unit is not None and hall is not None and self._place(order["target"]) is not None:
                    dx, dy = hall[0] - unit[0], hall[1] - unit[1]
                    if dx * dx + dy * dy < np.float32(1):
                        self.arriving.append(seq)

    def _row(self, number):
        rows = np.flatnonzero(self.game["unit_id"][: self.game["num_units"]] == number)
        return int(rows[0]) if len(rows) else None

    def _place(self, number):
        row = self._row(number)
        return None if row is None else (self.game["unit_x"][row], self.game["unit_y"][row])

    def end(self):
        """After a tick: compare."""
        game, after = self.game, self._orders()
        for seq in self.arriving:
            order = self.before[seq]
            # An order that is gone was replaced before it ran, unless its unit died after the load was delivered.
            if seq in after or (self._row(order["unit"]) is None and not self._is_replaced(order, seq)):
                assert seq not in after or after[seq]["state"] == TO_RESOURCE
                self.expected[order["unit"] >> 24] += int(np.float32(LOAD) * np.float32(order["scale"]))
        for number in set(self._numbers()) - self.made:
            self.made.add(number)
            self.expected[number >> 24] -= COST[game["unit_type"][self._row(number)]]
        for seq, order in after.items():
            if order["kind"] == BUILD and order["paid"] and order["type"] >= FIRST_BUILDING:
                state = self.before[seq]["state"] if seq in self.before else PLACE_GHOST
                if order["state"] != state and not self._has_ghost(order):
                    self.expected[order["unit"] >> 24] += COST[order["type"]]
                    self.refused += 1
        money = game["money"] + self._paid(after)
        assert (money == self.expected).all(), f"money after tick {game['tick'] - 1}: {money}, {self.expected}"
        assert (game["money"] >= 0).all()

    def _is_replaced(self, order, seq):
        return any(other["unit"] == order["unit"] and number > seq for number, other in self.before.items())

    def _has_ghost(self, order):
        game, count = self.game, self.game["num_units"]
        ghosts = (game["unit_expire"][:count] >= 0) & (game["unit_type"][:count] == order["type"])
        there = (game["unit_x"][:count] == np.float32(order["x"])) & (game["unit_y"][:count] == np.float32(order["y"]))
        return bool((ghosts & there & (game["unit_player"][:count] == order["unit"] >> 24)).any())


def check_spacing(game):
    """No two objects on the same side of the map's edge are closer than 0.72."""
    count = game["num_units"]
    x, y = game["unit_x"][:count], game["unit_y"][:count]
    dx, dy = x[:, None] - x, y[:, None] - y
    outside = (x < -0.5) | (y < -0.5)
    close = (dx * dx + dy * dy < TOUCH_2) & (outside[:, None] == outside)
    np.fill_diagonal(close, False)
    assert not close.any(), f"objects {np.argwhere(close)[0]} overlap after tick {game['tick'] - 1}"


def play(number):
    """Play game `number` to its end or to 3,000 ticks; returns ticks, largest number of objects, refused creations."""
    random = np.random.default_rng(number)
    agents = 1 + number % 3
    world = MiniRts(
        1,
        agents_per_side=agents,
        opponents=OPPONENTS[number % len(OPPONENTS)],
        extra_units=number % 9,
        fair=number % 2 == 0,
    )
    observations = world.reset(number)
    game, player, ledger, most = world.games.records[0], Player(agents), Ledger(world.games.records[0]), 0
    assert game["script_kind"][0] == LEARNER
    extra = (0, 2000, 0, 20_000)[number % 4]
    game["money"][:] += extra
    ledger.expected += extra
    while game["result"] == RUNNING and game["tick"] + DECISION_TICKS <= MAX_TICKS:
        table, continues = table_of(observations, random), (random.random(agents) < 0.05).astype(np.int8)
        for _ in range(DECISION_TICKS):
            ledger.begin()
            player.tick(world.games, 0, table, continues)
            ledger.end()
            check_spacing(game)
            most = max(most, int(game["num_units"]))
            if game["result"] != RUNNING:
                break
        observations = world.observe()
    return int(game["tick"]), most, ledger.refused


def main():
    """Play many games and say what was seen."""
    parser = argparse.ArgumentParser(description="Play games of random actions and check every tick.")
    parser.add_argument("--games", type=int, default=1000, help="Number of games.")
    games, start = parser.parse_args().games, process_time()
    found = np.array([play(number) for number in range(games)])
    ticks, most, refused = found[:, 0].sum(), found[:, 1].max(), found[:, 2].sum()
    print(f"{games} games, {ticks:,} ticks, at most {most} objects, {refused} refused creations: no fault.")
    print(f"{process_time() - start:.0f} CPU-seconds")


if __name__ == "__main__":
    main()
