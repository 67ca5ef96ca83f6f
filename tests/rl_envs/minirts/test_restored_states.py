"""The kernels index by the numbers of a game, so a number that no game has is refused; nothing is compiled here."""

import pytest

from rl_envs.core.restoring import check_bounds
from rl_envs.minirts.game import GAME_NAMES, blank_games
from rl_envs.minirts.state_checks import BOUNDS, check_state
from rl_envs.minirts.symbols import ATTACK, BUILD, HALL, MOVE, PEASANT
from rl_envs.registry import make

NEEDED = ("terrain", "num_units", "unit_id", "unit_type", "unit_player", "unit_x", "unit_y")
ANY_BITS = {"visible_rows", "seen_rows", "twister"}
PLACES = {f"{kind}_{axis}" for kind in ("unit", "order", "bullet") for axis in "xy"}
WRONG = [
    ("num_bullets", 300),
    ("num_orders", 400),
    ("num_units", 129),
    ("terrain", 7),
    ("script_kind", 9),
    ("interval", 0),
    ("twister_at", 625),
    ("cache_used", 1024),
    ("cache_way", 2000),
    ("script_queue", 16),
    ("unit_type", 16),
    ("unit_player", 2),
    ("unit_expire", 0),
    ("unit_born", 10),
    ("next_id", 1),
    ("money", -600),
    ("order_unit", -1),
    ("order_x", 1e18),
    ("bullet_y", -1e18),
]


def game(**numbers):
    """A game with a hall a side, a peasant, two orders and a bullet, as a state; numbers fill whole arrays."""
    record = blank_games(1)
    record["num_units"], record["num_orders"], record["num_bullets"], record["next_id"] = 3, 2, 1, 3
    record["unit_id"][0, :3], record["unit_player"][0, :3] = (0, 1, (1 << 24) + 2), (0, 0, 1)
    record["unit_type"][0, :3], record["unit_x"][0, :3] = (HALL, PEASANT, HALL), (5, 7, 25)
    record["order_kind"][0, :2], record["order_unit"][0, :2] = (MOVE, ATTACK), (1, 1)
    for name, number in numbers.items():
        record[name] = number
    return {name: record[name] for name in {*NEEDED, *GAME_NAMES}}


def refused(state, named):
    with pytest.raises(ValueError, match=named):
        make("minirts-v0").restore(state)


@pytest.mark.parametrize(("name", "number"), WRONG)
def test_a_number_that_no_game_has_is_refused_by_its_name(name, number):
    refused(game(**{name: number}), name)


def test_a_number_of_a_game_is_not_refused():
    check_bounds(game(), BOUNDS)
    check_state(game())


def test_every_number_of_a_game_has_bounds():
    assert set(GAME_NAMES) == BOUNDS.keys() | ANY_BITS | PLACES


def test_a_full_cache_and_an_order_to_build_nothing_are_refused():
    refused(game(cache_key=5, cache_used=1), "cache_used")
    refused(game(order_kind=BUILD, order_type=0), "order_type")
