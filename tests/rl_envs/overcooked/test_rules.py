"""The rules, one by one (Overcooked, older cooking rule)."""

import numpy as np
import pytest

from rl_envs.overcooked.words import COOK_STEPS, FULL, POT, READY
from rl_envs.overcooked.world import Overcooked
from tests.rl_envs.overcooked.scenes import (
    BAR,
    DISHES,
    EAST,
    HATCH,
    INTERACT,
    NORTH,
    ONIONS,
    POT_CELL,
    SOUTH,
    STAY,
    WEST,
    at,
    chefs,
    hands,
    holds,
    kitchen,
    step,
)

ASIDE = ((2, 3), "east", "nothing")
"""A chef who is in nobody's way."""
EMPTY_HANDED = "nothing"
POTS = [*range(POT, FULL), FULL + 1, READY - 1, READY]


@pytest.mark.parametrize("thing", ["onion", "dish", "soup"])
def test_things_are_laid_on_empty_counters_and_taken_from_them(thing):
    world = kitchen(at(BAR, thing), ASIDE)
    assert step(world, INTERACT) == ([0, 0], 0, [0, 0])
    assert hands(world)[0] == EMPTY_HANDED and holds(world, BAR) == ("onion", "dish", "soup").index(thing) + 1
    step(world, INTERACT)
    assert hands(world)[0] == thing and holds(world, BAR) == 0


def test_nothing_is_laid_on_a_thing_and_no_hands_hold_two():
    world = kitchen(at(BAR, "onion"), ASIDE, {BAR: "dish"})
    step(world, INTERACT)
    assert hands(world)[0] == "onion" and holds(world, BAR) == 2


@pytest.mark.parametrize(("store", "thing"), [(ONIONS, "onion"), (DISHES, "dish")])
def test_stores_give_to_empty_hands_without_end_and_take_nothing_back(store, thing):
    world = kitchen(at(store), ASIDE)
    before = holds(world, store)
    for wanted in (thing, thing):
        step(world, INTERACT)
        assert hands(world)[0] == wanted and holds(world, store) == before


@pytest.mark.parametrize("contents", POTS)
def test_a_pot_takes_onions_until_it_has_three(contents):
    world = kitchen(at(POT_CELL, "onion"), ASIDE, {POT_CELL: contents})
    _, _, points = step(world, INTERACT)
    if contents < FULL:
        assert hands(world)[0] == EMPTY_HANDED and points == [3, 0]
        assert holds(world, POT_CELL) == contents + 1 + (contents + 1 == FULL)
    else:
        assert hands(world)[0] == "onion" and points == [0, 0]


@pytest.mark.parametrize("contents", POTS)
@pytest.mark.parametrize("held", [EMPTY_HANDED, "dish", "soup"])
def test_a_pot_gives_only_a_soup_that_is_done_and_only_into_a_dish(contents, held):
    world = kitchen(at(POT_CELL, held), ASIDE, {POT_CELL: contents})
    _, _, points = step(world, INTERACT)
    if held == "dish" and contents == READY:
        assert hands(world)[0] == "soup" and holds(world, POT_CELL) == POT and points == [5, 0]
    else:
        assert hands(world)[0] == held and points == [0, 0]


@pytest.mark.parametrize("held", [EMPTY_HANDED, "onion", "dish", "soup"])
def test_the_hatch_takes_soups_alone_and_pays_both_chefs(held):
    world = kitchen(at(HATCH, held), ((1, 1), "north", EMPTY_HANDED))
    reward, served, points = step(world, INTERACT)
    assert points == [0, 0]
    if held == "soup":
        assert (reward, served, hands(world)[0]) == ([20, 20], 1, EMPTY_HANDED)
    else:
        assert (reward, served, hands(world)[0]) == ([0, 0], 0, held)


def test_two_soups_served_in_one_step_pay_forty():
    two_hatches = ("XXXXX", "S1 2S", "X   X", "XOPDX")
    world = kitchen(((1, 1), "west", "soup"), ((1, 3), "east", "soup"), layout=two_hatches)
    assert step(world, INTERACT, INTERACT) == ([40, 40], 2, [0, 0])


def test_chef_0_interacts_before_chef_1_sees_the_counter():
    drawing = ("XXXXX", "O1X2P", "X X X", "XXSDX")
    first, second = ((1, 1), "east", "onion"), ((1, 3), "west", EMPTY_HANDED)
    world = kitchen(first, second, layout=drawing)
    step(world, INTERACT, INTERACT)
    assert hands(world) == (EMPTY_HANDED, "onion")
    world = kitchen((first[0], first[1], EMPTY_HANDED), (second[0], second[1], "onion"), layout=drawing)
    step(world, INTERACT, INTERACT)
    assert hands(world) == (EMPTY_HANDED, EMPTY_HANDED) and holds(world, (1, 2)) == 1


def test_a_pot_starts_by_itself_with_its_third_onion_and_is_done_nineteen_steps_later():
    world = kitchen(at(POT_CELL, "onion"), ASIDE, {POT_CELL: POT + 2})
    step(world, INTERACT)
    assert holds(world, POT_CELL) == FULL + 1
    for _ in range(COOK_STEPS - 2):
        step(world, STAY)
    assert holds(world, POT_CELL) == READY - 1
    step(world, STAY)
    assert holds(world, POT_CELL) == READY
    step(world, STAY)
    assert holds(world, POT_CELL) == READY


def test_a_soup_can_first_be_taken_twenty_steps_after_the_third_onion():
    world = kitchen(at(POT_CELL, "onion"), ASIDE, {POT_CELL: POT + 2})
    step(world, INTERACT)
    world.state["held"][0, 0] = 2
    for since in range(1, COOK_STEPS + 1):
        step(world, INTERACT)
        assert hands(world)[0] == ("soup" if since == COOK_STEPS else "dish")


def test_a_direction_turns_even_a_chef_who_cannot_go_there():
    world = kitchen(((1, 1), "north", EMPTY_HANDED), ASIDE)
    step(world, WEST)
    assert chefs(world)[0] == ((1, 1), "west")
    step(world, SOUTH)
    assert chefs(world)[0] == ((2, 1), "south")
    step(world, STAY)
    assert chefs(world)[0] == ((2, 1), "south")


@pytest.mark.parametrize(
    ("first", "second", "actions"),
    [
        (((1, 1), "north"), ((1, 3), "north"), (EAST, WEST)),
        (((1, 1), "north"), ((1, 2), "north"), (EAST, WEST)),
        (((1, 1), "north"), ((1, 2), "north"), (EAST, STAY)),
        (((1, 1), "north"), ((1, 2), "north"), (EAST, NORTH)),
    ],
    ids=["same cell", "trading places", "onto one who stays", "onto one who is blocked"],
)
def test_two_chefs_who_want_one_cell_or_each_others_both_stay_and_still_turn(first, second, actions):
    world = kitchen((*first, EMPTY_HANDED), (*second, EMPTY_HANDED))
    step(world, *actions)
    names = dict(zip((NORTH, SOUTH, EAST, WEST, STAY), ("north", "south", "east", "west", "north"), strict=True))
    assert chefs(world) == [(first[0], names[actions[0]]), (second[0], names[actions[1]])]


def test_a_chef_may_follow_into_the_cell_that_the_other_leaves():
    world = kitchen(((1, 1), "north", EMPTY_HANDED), ((1, 2), "north", EMPTY_HANDED))
    step(world, EAST, EAST)
    assert chefs(world) == [((1, 2), "east"), ((1, 3), "east")]


def test_interactions_come_before_moves():
    world = kitchen(at(BAR, "onion"), ((1, 1), "north", EMPTY_HANDED))
    step(world, INTERACT, SOUTH)
    assert hands(world)[0] == EMPTY_HANDED
    assert chefs(world) == [((2, 1), "west"), ((1, 1), "south")]


def dish_points(contents, other="nothing", second=((1, 3), "east")):
    """Shaped points of chef 0 for a dish from the store."""
    world = kitchen(at(DISHES), (*second, other), contents)
    return step(world, INTERACT)[2][0]


@pytest.mark.parametrize("contents", POTS)
def test_a_dish_is_useful_while_a_pot_has_onions(contents):
    assert dish_points({POT_CELL: contents}) == (0 if contents == POT else 3)


def test_a_dish_is_not_useful_while_one_lies_about_or_is_in_the_other_hands():
    assert dish_points({POT_CELL: READY, BAR: "dish"}) == 0
    assert dish_points({POT_CELL: READY, BAR: "onion"}) == 3
    assert dish_points({POT_CELL: READY}, other="dish") == 0
    assert dish_points({POT_CELL: READY}, other="soup") == 3


def two_takers(first, contents, actions):
    """Points of chef 1, who takes a dish after chef 0 has done something in the same step."""
    drawing = ("XXPXX", "O1  O", "X  2X", "XXSDX")
    world = kitchen(first, ((2, 3), "south", "nothing"), contents, layout=drawing)
    return step(world, *actions)[2][1]


def test_pots_count_as_before_the_step_when_chef_1_takes_a_dish():
    beside_pot = (1, 2), "north"
    assert two_takers((*beside_pot, "onion"), {(0, 2): POT}, (INTERACT, INTERACT)) == 0
    assert two_takers((*beside_pot, "dish"), {(0, 2): READY}, (INTERACT, INTERACT)) == 3


def test_dishes_count_as_they_are_when_chef_1_takes_one():
    beside_bar = (1, 1), "north"
    assert two_takers((*beside_bar, "dish"), {(0, 2): READY}, (INTERACT, INTERACT)) == 0
    assert two_takers((*beside_bar, "nothing"), {(0, 2): READY, (0, 1): "dish"}, (INTERACT, INTERACT)) == 0
    assert two_takers((*beside_bar, "nothing"), {(0, 2): READY, (0, 1): "onion"}, (INTERACT, INTERACT)) == 3


def test_shaped_points_are_paid_to_the_chef_who_earned_them_as_often_as_they_weigh():
    world = kitchen(at(POT_CELL, "onion"), at(DISHES), {POT_CELL: POT + 1}, shaping=0.5)
    reward, _, points = step(world, INTERACT, INTERACT)
    assert (reward, points) == ([1.5, 1.5], [3, 3])
    assert step(kitchen(at(POT_CELL, "onion"), ASIDE), INTERACT) == ([0, 0], 0, [3, 0])


def test_shaping_falls_linearly_over_all_episodes_of_a_world():
    world = Overcooked(2, shaping=1.0, shaping_steps=8, max_episode_steps=5)
    world.reset(0)
    paid = []
    for _ in range(12):
        world.state["held"][:, 0] = 1
        world.state["agent_cells"][:, 0], world.state["headings"][:, 0] = 7, 0
        world.state["contents"][:, 2] = POT
        _, reward, *_ = world.step(np.array([[INTERACT, STAY]] * 2))
        assert reward[0, 0] == reward[1, 0] and not reward[:, 1].any()
        paid.append(reward[0, 0] / 3)
    np.testing.assert_allclose(paid, [max(0.0, 1 - step / 8) for step in range(12)])


@pytest.mark.parametrize("actions", ["primitive", "adjacent"])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint64])
def test_actions_may_be_integers_of_any_kind(actions, dtype):
    worlds = [Overcooked(4, actions=actions) for _ in range(2)]
    random = np.random.default_rng(0)
    for world in worlds:
        world.reset(0)
    for _ in range(40):
        chosen = random.integers(worlds[0].action_spec, size=(4, 2))
        (seen, *_), (again, *_) = (
            world.step(chosen.astype(kind)) for world, kind in zip(worlds, (dtype, np.int64), strict=True)
        )
        np.testing.assert_array_equal(seen["lossless"], again["lossless"])


@pytest.mark.parametrize("bootstraps", [True, False])
def test_the_limit_is_the_only_end_and_merely_stops(bootstraps):
    world = Overcooked(3, bootstrap_at_limit=bootstraps)
    world.reset(0)
    for number in range(1, 401):
        _, _, terminated, truncated, info = world.step(np.zeros((3, 2), int))
        assert (truncated == (number == 400 and bootstraps)).all()
        assert (terminated == (number == 400 and not bootstraps)).all()
    assert (info["episode"]["length"] == 400).all() and world.state["episode_length"].max() == 0


def test_episodes_count_soups_and_shaped_points():
    world = kitchen(at(HATCH, "soup"), at(POT_CELL, "onion"), max_episode_steps=1, shaping=0.5)
    *_, info = world.step(np.array([[INTERACT, INTERACT]]))
    episode = {name: value[0].tolist() for name, value in info["episode"].items()}
    assert episode == {"return": [20, 21.5], "length": 1, "soups": 1, "shaped_return": 3}
