"""The rules of the salad kitchen, one sentence of section 5.1 (or of the authors' engine) a test.

Rewards are in thousandths; each step costs 1.
"""

import numpy as np
import pytest

from rl_envs.salad.world import Salad
from tests.rl_envs.salad.scenes import (
    AWAY,
    LEFT,
    LETTUCE,
    ONION,
    PLATE,
    RIGHT,
    STAY,
    TOMATO,
    agents,
    held,
    lies_at,
    situation,
    step,
    where,
)

BOARD = (1, 0)
CORNER = ("#K##DT#", "K.....#")


def test_both_agents_can_chop_at_the_same_time_on_two_boards():
    things = {TOMATO: (1, 0), LETTUCE: (2, 0)}
    world = situation([(1, 1), (2, 1)], things=things, chops=(2, 2, 0), recipes=["lettuce-tomato"])
    assert step(world, LEFT, LEFT)[0] == 399


def test_after_the_first_agent_served_the_second_still_acts_in_that_step():
    world = situation([(3, 1), (1, 5)], held=(PLATE, -1), chops=(3, 0, 0), in_plate=(0, -1, -1))
    step(world, LEFT, RIGHT)
    assert held(world) == [-1, LETTUCE]


def test_chopping_again_after_a_wrong_delivery_pays_only_where_the_authors_rule_is_chosen():
    for rechop_pays, expected in ((False, -1), (True, 199)):
        world = situation([(1, 1), AWAY], things={TOMATO: BOARD}, chops=(2, 0, 0), rechop_pays=rechop_pays)
        assert step(world, LEFT, STAY)[0] == 199
        world.state["chops"][0, TOMATO] = 2
        assert step(world, LEFT, STAY)[0] == expected


def test_a_thing_whose_home_is_taken_goes_to_the_nearest_free_counter():
    world = situation([(3, 1), AWAY], held=(TOMATO, -1), things={ONION: (0, 5)})
    step(world, LEFT, STAY)
    assert lies_at(world, 0, 5) == ONION
    assert where(world, TOMATO) == (0, 4)
    assert lies_at(world, 0, 4) == TOMATO


def test_of_two_agents_that_want_a_cell_the_first_gets_it():
    world = situation([(3, 2), (3, 4)])
    assert step(world, RIGHT, LEFT) == (-11, False)
    assert agents(world) == [(3, 3), (3, 4)]


def test_agents_that_want_to_trade_places_both_lose_their_moves():
    world = situation([(3, 2), (3, 3)])
    assert step(world, RIGHT, LEFT) == (-21, False)
    assert agents(world) == [(3, 2), (3, 3)]


def test_collisions_cost_what_was_chosen_and_are_counted():
    world = situation([(3, 2), (3, 3)], collision_reward=0.0)
    assert step(world, RIGHT, LEFT) == (-1, False)
    assert world.state["collisions"][0] == 2


def test_things_can_be_passed_over_the_counter_between_two_rooms():
    world = situation([(3, 2), (3, 4)], held=(-1, ONION), layout="B")
    step(world, STAY, LEFT)
    assert lies_at(world, 3, 3) == ONION
    step(world, RIGHT, STAY)
    assert held(world) == [ONION, -1]


def test_the_first_agent_of_a_step_gets_what_both_reach_for():
    world = situation([(3, 2), (3, 4)], things={ONION: (3, 3)}, layout="B")
    step(world, RIGHT, LEFT)
    assert held(world) == [ONION, -1]


def test_the_limit_stops_the_game_without_ending_it():
    world = Salad(2, max_episode_steps=3, actions="primitive")
    world.reset(0)
    ends = [world.step(np.full((2, 2), STAY))[2:4] for _ in range(3)]
    assert [truncated.all() for _, truncated in ends] == [False, False, True]
    assert not any(terminated.any() for terminated, _ in ends)


def test_the_recipe_is_drawn_anew_for_each_episode_when_there_are_several():
    world = Salad(600, recipes=["tomato", "onion", "lettuce-onion"], kitchen="full", max_episode_steps=1)
    world.reset(5)
    first = world.state["recipe"].copy()
    world.step(np.zeros((600, 2), int))
    counts = np.unique(world.state["recipe"], return_counts=True)[1]
    assert len(counts) == 3 and counts.min() > 150
    assert (first != world.state["recipe"]).any()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"layout": "E"}, "layout must be one of"),
        ({"kitchen": "big"}, "kitchen must be one of"),
        ({"recipes": ["soup"]}, "recipes must be some of"),
        ({"recipes": "tomato"}, "recipes must be a list"),
        ({"recipes": ["onion"], "kitchen": "tomato"}, "no onion"),
        ({"actions": "fast"}, "actions must be"),
        ({"mask": "some"}, "mask must be"),
        ({"order_known_by": "Carol"}, "order_known_by must be"),
        ({"restore_rule": "far"}, "restore_rule must be"),
        ({"sight": 0}, "sight must be"),
        ({"drawing": ["#######"]}, "seven rows|7 rows"),
        ({"drawing": [*CORNER, *["#.....#"] * 4, "#####P#"]}, "beside two boards"),
    ],
)
def test_wrong_arguments_are_refused_in_one_sentence(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        Salad(**arguments)


@pytest.mark.parametrize(
    ("spoilt", "sentence"),
    [
        ({"agent_cells": np.array([[0, 9]])}, "cells of the floor"),
        ({"agent_cells": np.array([[9, 9]])}, "different cells"),
        ({"held": np.array([[3, 3]])}, "different things"),
        ({"held": np.array([[4, -1]])}, "lacks"),
        ({"in_plate": np.array([[1, -1, -1]])}, "lacks"),
        ({"in_plate": np.array([[-1, 0, -1]])}, "lacks"),
        ({"in_plate": np.array([[0, -1, -1]]), "held": np.array([[0, -1]])}, "must not be held"),
        ({"chops": np.array([[4, 0, 0]])}, "chops must lie in"),
        ({"recipe": np.array([7])}, "recipe must lie in"),
        ({"thing_cells": np.array([[24, -1, -1, 47, -1]])}, "must not be floor"),
    ],
)
def test_a_state_that_cannot_be_is_refused(spoilt, sentence):
    world = Salad()
    with pytest.raises(ValueError, match=sentence):
        world.restore({"agent_cells": np.array([[9, 11]])} | spoilt)


def test_a_state_without_agents_is_refused_by_name():
    world = Salad(2)
    state = {"thing_cells": np.tile(world.kitchen.homes, (2, 1)), "in_plate": np.full((2, 3), -1)}
    with pytest.raises(ValueError, match=r"missing \['agent_cells'\]"):
        world.restore(state)


def test_a_state_may_leave_out_what_is_as_at_the_start():
    world = Salad(3, kitchen="full")
    first = world.reset(0)
    start = {"agent_cells": np.tile([9, 11], (3, 1))}
    filled = start | {"in_plate": np.tile([0, -1, -1], (3, 1)), "thing_cells": np.tile([41, 13, 20, 41, 47], (3, 1))}
    again = world.restore(start)
    for key, value in first.items():
        np.testing.assert_array_equal(again[key], value)
    world.restore(filled)
    assert (world.state["lying"][:, 41] == PLATE).all()
