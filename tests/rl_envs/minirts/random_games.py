"""Games of random actions, watched in every tick.

Half of the choices are drawn from the masks and half from all numbers. After each tick two things must hold: no two
objects that are both inside or both outside the map are closer than 0.72, and each side's money is what a ledger of our
own says from prices, new objects, running orders and loads that reach a hall.
"""

import numba
import numpy as np

from rl_envs.minirts.actions import SIZES
from rl_envs.minirts.batch import Player
from rl_envs.minirts.symbols import BUILD, COST, FIRST_BUILDING, GATHER, LEARNER, PLACE_GHOST, TO_HALL, TO_RESOURCE
from rl_envs.minirts.tick import RUNNING
from rl_envs.minirts.units import TOUCH_2
from rl_envs.minirts.world import DECISION_TICKS, MiniRts

MAX_TICKS = 3000
OPPONENTS = ("medium", "strong", "simple", "medium_three", "medium_dragon_towers", "passive")
LOAD = 10
PRICES = COST.tolist()


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


FIELDS = ("seq", "kind", "state", "paid", "unit", "type", "target", "hall", "x", "y", "scale")


class Ledger:
    """What each side's money must be, from what can be seen of a game between two ticks.

    money + prices of running paid orders + prices of all objects made so far - income = constant. A creation that the
    engine refuses pays the price back and lets the order go on, so each refused one adds its price.
    """

    def __init__(self, game):
        self.game = game
        self.orders, self.rows = self._orders(), self._rows()
        self.made = self._finished()
        self.expected = [int(game["money"][side]) + self._paid(side) for side in range(2)]

    def _orders(self):
        """Running orders by number, with FIELDS."""
        count = self.game["num_orders"]
        rows = zip(*(self.game[f"order_{name}"][:count].tolist() for name in FIELDS), strict=True)
        return {row[0]: dict(zip(FIELDS, row, strict=True)) for row in rows}

    def _rows(self):
        """Rows of all objects by their numbers."""
        return {number: row for row, number in enumerate(self.game["unit_id"][: self.game["num_units"]].tolist())}

    def _finished(self):
        ghosts = self.game["unit_expire"][: self.game["num_units"]].tolist()
        return {number for number, expire in zip(self.rows, ghosts, strict=True) if expire < 0}

    def _paid(self, side):
        return sum(PRICES[one["type"]] for one in self.orders.values() if one["paid"] and one["unit"] >> 24 == side)

    def arriving(self):
        """Before a tick: numbers of the orders whose loads reach a hall if they run."""
        x, y, rows = self.game["unit_x"], self.game["unit_y"], self.rows
        found = []
        for seq, order in self.orders.items():
            if order["kind"] == GATHER and order["state"] == TO_HALL and order["target"] in rows:
                unit, hall = rows.get(order["unit"]), rows.get(order["hall"])
                if unit is not None and hall is not None:
                    dx, dy = x[hall] - x[unit], y[hall] - y[unit]
                    if dx * dx + dy * dy < np.float32(1):
                        found.append(seq)
        return found

    def compare(self, arriving):
        """After a tick."""
        before, game = self.orders, self.game
        self.orders, self.rows = self._orders(), self._rows()
        for seq in arriving:
            order = before[seq]
            # An order that is gone was replaced before it ran, unless its unit died after the load was delivered.
            is_replaced = any(one["unit"] == order["unit"] and one["seq"] > seq for one in before.values())
            if seq in self.orders or (order["unit"] not in self.rows and not is_replaced):
                assert seq not in self.orders or self.orders[seq]["state"] == TO_RESOURCE
                self.expected[order["unit"] >> 24] += int(np.float32(LOAD) * np.float32(order["scale"]))
        for number in self._finished() - self.made:
            self.made.add(number)
            self.expected[number >> 24] -= PRICES[game["unit_type"][self.rows[number]]]
        for seq, order in self.orders.items():
            if order["kind"] == BUILD and order["paid"] and order["type"] >= FIRST_BUILDING:
                state = before[seq]["state"] if seq in before else PLACE_GHOST
                if order["state"] != state and not self._has_ghost(order):
                    self.expected[order["unit"] >> 24] += PRICES[order["type"]]
        for side, money in enumerate(game["money"].tolist()):
            assert money >= 0
            assert money + self._paid(side) == self.expected[side], (
                f"money of side {side} after tick {game['tick'] - 1}"
            )

    def _has_ghost(self, order):
        game, count = self.game, self.game["num_units"]
        ghosts = (game["unit_expire"][:count] >= 0) & (game["unit_type"][:count] == order["type"])
        there = (game["unit_x"][:count] == np.float32(order["x"])) & (game["unit_y"][:count] == np.float32(order["y"]))
        return bool((ghosts & there & (game["unit_player"][:count] == order["unit"] >> 24)).any())


@numba.njit
def overlapping(x, y):
    """The first two objects on the same side of the map's edge that are closer than 0.72; (-1, -1) for none."""
    for one in range(len(x)):
        for other in range(one):
            dx, dy = x[one] - x[other], y[one] - y[other]
            if dx * dx + dy * dy < TOUCH_2 and (min(x[one], y[one]) < -0.5) == (min(x[other], y[other]) < -0.5):
                return one, other
    return -1, -1


def play(number):
    """Play game `number` to its end or to 3,000 ticks; returns ticks and the largest number of objects."""
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
    game, player, most = world.games.records[0], Player(agents), 0
    game["money"] += (0, 2000, 0, 20_000)[number % 4]
    ledger = Ledger(game)
    assert game["script_kind"][0] == LEARNER
    while game["result"] == RUNNING and game["tick"] + DECISION_TICKS <= MAX_TICKS:
        table, continues = table_of(observations, random), (random.random(agents) < 0.05).astype(np.int8)
        for _ in range(DECISION_TICKS):
            arriving = ledger.arriving()
            player.tick(world.games, 0, table, continues)
            ledger.compare(arriving)
            count = int(game["num_units"])
            pair, most = overlapping(game["unit_x"][:count], game["unit_y"][:count]), max(most, count)
            assert pair == (-1, -1), f"objects {pair} overlap after tick {game['tick'] - 1}"
            if game["result"] != RUNNING:
                break
        observations = world.observe()
    return int(game["tick"]), most
