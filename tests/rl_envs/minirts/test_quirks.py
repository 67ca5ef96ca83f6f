"""Habits of the engine, each with its switch and without it, and what a search that is given up learns."""

import numpy as np
import pytest

from rl_envs.minirts.symbols import (
    ATTACK,
    BARRACK,
    BUILD,
    COST,
    DRAGON,
    MAX_HP,
    MOVE,
    PEASANT,
    SIDE,
    SPEARMAN,
    TOWER,
)
from rl_envs.minirts.tick import ABORTED, RUNNING
from tests.rl_envs.minirts.meadow import Meadow

pytestmark = pytest.mark.slow


def count(game, kind):
    return int((game["unit_type"][: game["num_units"]] == kind).sum())


@pytest.mark.parametrize("is_on", [True, False])
def test_overdraft_a_building_beyond_the_money_leaves_its_ghost(is_on):
    meadow = Meadow([(0, PEASANT, 8, 20)], "overdraft", is_on)
    meadow.game["money"] = COST[BARRACK] - 10
    meadow.order(meadow.number(PEASANT), BUILD, made=BARRACK, x=9, y=20)
    game = meadow.play(400)
    assert game["money"][0] == COST[BARRACK] - 10
    assert count(game, BARRACK) == is_on
    assert not is_on or game["unit_expire"][game["unit_type"] == BARRACK][0] > 0


@pytest.mark.parametrize("is_on", [True, False])
def test_refund_a_creation_beyond_the_cap_pays_back_and_goes_on(is_on):
    meadow = Meadow([(0, PEASANT, 8, 20)], "refund", is_on)
    meadow.game["cap"] = 2
    meadow.order(meadow.number(PEASANT), BUILD, made=BARRACK, x=9, y=20)
    game = meadow.play(50)
    assert game["num_orders"] == is_on
    assert game["money"][0] == (500 + COST[BARRACK] if is_on else 500)


@pytest.mark.parametrize("is_on", [True, False])
def test_double_answer_two_hits_in_a_tick_bring_two_orders(is_on):
    meadow = Meadow([(0, DRAGON, 10, 10), (1, TOWER, 7, 10), (1, TOWER, 13, 10)], "double_answer", is_on)
    target = meadow.number(DRAGON)
    for place in range(2):
        meadow.order(meadow.number(TOWER, 1, place), ATTACK, target)
    for _ in range(100):
        game = meadow.play(1)
        if game["unit_hp"][game["unit_id"] == target][0] < MAX_HP[DRAGON]:
            break
    answers = game["order_unit"][: game["num_orders"]] == target
    assert answers.sum() == (2 if is_on else 1)


@pytest.mark.parametrize("is_on", [True, False])
def test_wrap_a_search_passes_the_edge_to_a_goal_in_the_next_row(is_on):
    river = [(15, y) for y in range(SIDE) if y != 2]
    meadow = Meadow([(0, SPEARMAN, 31, 10)], "wrap", is_on, river)
    meadow.order(meadow.number(SPEARMAN), MOVE, x=0, y=11)
    meadow.play(1)
    [(_, pops)] = meadow.plans()
    assert pops == 2 if is_on else pops > 40


@pytest.mark.parametrize("is_on", [True, False])
def test_shared_cache_a_soldier_is_handed_the_flyers_line_over_water(is_on):
    river = [(15, y) for y in range(SIDE) if y != 2]
    meadow = Meadow([(0, DRAGON, 9.6, 9.7), (0, SPEARMAN, 10.4, 10.3)], "shared_cache", is_on, river)
    for kind in (DRAGON, SPEARMAN):
        meadow.order(meadow.number(kind), MOVE, x=20, y=10)
    meadow.play(1)
    planned = [unit for unit, _ in meadow.plans()]
    assert planned == [meadow.number(kind) for kind in ((DRAGON,) if is_on else (DRAGON, SPEARMAN))]


@pytest.mark.parametrize("is_on", [True, False])
def test_outside_objects_leave_the_map_by_less_than_a_cell(is_on):
    meadow = Meadow([(0, SPEARMAN, 3, 10)], "outside", is_on)
    meadow.order(meadow.number(SPEARMAN), MOVE, x=-1.3, y=10)
    game = meadow.play(150)
    x = game["unit_x"][game["unit_type"] == SPEARMAN][0]
    assert -1.5 < x < -0.6 if is_on else -0.5 <= x < 0.2


@pytest.mark.parametrize("is_on", [True, False])
def test_abort_many_failed_moves_end_the_game_without_a_winner(is_on):
    around = [(0, BARRACK, 10 + dx, 10 + dy) for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1))]
    meadow = Meadow([(0, SPEARMAN, 10, 10), *around], "abort", is_on)
    meadow.game["failed"] = 9
    meadow.order(meadow.number(SPEARMAN), MOVE, x=20, y=10)
    game = meadow.play(1)
    assert game["result"] == (ABORTED if is_on else RUNNING)
    assert game["winner"] == -1


MAX_POPS = 1000


def test_a_search_that_is_given_up_teaches_the_whole_estimate_of_its_last_cell():
    """The goal (16, 12) has water on all four sides."""
    meadow = Meadow([(0, SPEARMAN, 4, 4)], water=[(17, 12), (15, 12), (16, 13), (16, 11)])
    meadow.order(meadow.number(SPEARMAN), MOVE, x=16, y=12)
    meadow.play(1)
    scratch, learned = meadow.player.scratch[0], meadow.games.learned[0]
    assert scratch["plans"][: scratch["num_plans"], 7].tolist() == [MAX_POPS]
    goal, last = 12 * SIDE + 16, int(scratch["popped"][MAX_POPS - 1])
    straight = np.hypot(np.float32(last % SIDE - 16), np.float32(last // SIDE - 12))
    [known] = learned["value"][learned["key"] == (goal << 10 | 4 * SIDE + 4) + 1]
    assert known == scratch["cost"][last] + straight > scratch["cost"][last] + 1
