"""The rules of the salad kitchen, one sentence of section 5.1 (or of the authors' engine) a test.

Rewards are in thousandths; each step costs 1.
"""

import numpy as np

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
    held,
    lies_at,
    situation,
    step,
    where,
)

BOARD = (1, 0)


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


def test_the_first_agent_of_a_step_gets_what_both_reach_for():
    world = situation([(3, 2), (3, 4)], things={ONION: (3, 3)}, layout="B")
    step(world, RIGHT, LEFT)
    assert held(world) == [ONION, -1]


def test_the_recipe_is_drawn_anew_for_each_episode_when_there_are_several():
    world = Salad(600, recipes=["tomato", "onion", "lettuce-onion"], kitchen="full", max_episode_steps=1)
    world.reset(5)
    first = world.state["recipe"].copy()
    world.step(np.zeros((600, 2), int))
    counts = np.unique(world.state["recipe"], return_counts=True)[1]
    assert len(counts) == 3 and counts.min() > 150
    assert (first != world.state["recipe"]).any()


def test_a_state_may_leave_out_what_is_as_at_the_start():
    world = Salad(3, kitchen="full")
    first = world.reset(0)
    start = {"agent_cells": np.tile([9, 11], (3, 1))}
    filled = start | {"in_plate": np.tile([0, -1, -1], (3, 1)), "thing_cells": np.tile([41, 13, 20, 41, 47], (3, 1))}
    filled["chops"] = np.tile([3, 0, 0], (3, 1))
    again = world.restore(start)
    np.testing.assert_equal(again, first)
    world.restore(filled)
    assert (world.state["lying"][:, 41] == PLATE).all()
