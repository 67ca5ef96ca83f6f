"""Every path of the compiled planner is that of a slow one: kind, way point, number of pops, and what is learned."""

import numpy as np
import pytest

from rl_envs.minirts.symbols import BARRACK, CATAPULT, DRAGON, MOVE, PEASANT, SIDE, SPEARMAN, TOWER
from tests.rl_envs.minirts.meadow import Meadow
from tests.rl_envs.minirts.slow_search import MAX_POPS, SlowPlanner, cell_of, euclid, square

CLOSED = [(16, 12), (12, 20), (24, 24)]
"""Cells with water on all four sides, to which no path leads."""
KINDS = [PEASANT, SPEARMAN, SPEARMAN, DRAGON, CATAPULT, BARRACK, TOWER]


def around(x, y):
    return [(x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)]


def compare(meadow, ticks):
    """Play on and plan each tick's paths a second time; returns the paths."""
    game, scratch, paths = meadow.game, meadow.player.scratch[0], []
    planners = [SlowPlanner(player) for player in range(2)]
    for _ in range(ticks):
        expected = []
        for order in range(game["num_orders"]):  # all were given at once, so the list is in the order of running
            row = int(np.flatnonzero(game["unit_id"][: game["num_units"]] == game["order_unit"][order])[0])
            x, y = game["order_x"][order], game["order_y"][order]
            if game["order_kind"][order] == MOVE and square(x, y, game["unit_x"][row], game["unit_y"][row]) > 1:
                planner = planners[game["unit_player"][row]]
                expected.append(planner.plan(game, row, x, y, int(game["order_tick"][order])))
        scratch["num_plans"] = 0
        meadow.play(1)
        assert scratch["plans"][: scratch["num_plans"]].tolist() == [path for path in expected if path]
        paths += [path for path in expected if path]
    compare_learned(meadow, planners)
    return paths


def compare_learned(meadow, planners):
    slots = meadow.games.learned[0]
    slots = slots[slots["key"] != 0]
    keys = slots["key"] - 1
    for planner in planners:
        mine = keys >> 20 == planner.player
        cells, goals = keys[mine] & 1023, keys[mine] >> 10 & 1023
        ours = dict(zip(zip(cells.tolist(), goals.tolist(), strict=True), slots["value"][mine].tolist(), strict=True))
        assert all(planner.learned[key] == value for key, value in ours.items())
        # What equals the straight distance need not be stored.
        rest = {key: value for key, value in planner.learned.items() if key not in ours}
        assert all(
            square(c % SIDE, c // SIDE, g % SIDE, g // SIDE) ** np.float32(0.5) == v for (c, g), v in rest.items()
        )


def crowd(seed):
    """Objects of both sides on a map with scattered water, partly unseen, all on their way, many to the same goals."""
    random = np.random.default_rng(seed)
    share = (0.0, 0.05, 0.2)[seed % 3]
    water = [(x, y) for x in range(SIDE) for y in range(SIDE) if random.random() < share]
    water += [cell for place in CLOSED for cell in around(*place)]
    places = random.permutation(30 * 24)[: random.integers(4, 24)]
    things = [(int(random.integers(2)), int(random.choice(KINDS)), place % 30 + 1, place // 30 + 1) for place in places]
    meadow = Meadow(things, water=water)
    game = meadow.game
    game["unit_x"][: game["num_units"]] += random.uniform(-0.1, 0.1, game["num_units"])
    if seed % 2:
        game["seen_rows"] = random.integers(2**32, size=(2, SIDE), dtype=np.uint32)
    goals = [*CLOSED[: random.integers(1, 4)], *random.uniform(-1.4, 31.4, (3, 2))]
    for row in range(game["num_units"]):
        if PEASANT <= game["unit_type"][row] <= CATAPULT:
            x, y = goals[random.integers(len(goals))]
            meadow.order(int(game["unit_id"][row]), MOVE, x=x, y=y)
    return meadow


@pytest.mark.slow
def test_random_crowds_plan_as_a_slow_planner_does():
    paths = [path for seed in range(8) for path in compare(crowd(seed), 12)]
    kinds, pops = [path[5] for path in paths], [path[7] for path in paths]
    assert {1, 2, 4} == set(kinds)
    assert MAX_POPS in pops  # a search was given up and went on to the cell that it stood at


def test_a_search_that_is_given_up_teaches_the_whole_estimate_of_its_last_cell():
    meadow = Meadow([(0, SPEARMAN, 4, 4)], water=around(*CLOSED[0]))
    meadow.order(meadow.number(SPEARMAN), MOVE, x=CLOSED[0][0], y=CLOSED[0][1])
    [path] = compare(meadow, 1)
    assert path[7] == MAX_POPS
    goal, scratch, learned = cell_of(*CLOSED[0]), meadow.player.scratch[0], meadow.games.learned[0]
    last = int(scratch["popped"][MAX_POPS - 1])
    [known] = learned["value"][learned["key"] == (goal << 10 | cell_of(4, 4)) + 1]
    assert known == scratch["cost"][last] + euclid(last, goal) > scratch["cost"][last] + 1
