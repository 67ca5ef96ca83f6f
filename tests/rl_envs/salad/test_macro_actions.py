"""Macro actions: how they go, when they end, who decides when, and what may be chosen."""

import numpy as np
import pytest

from rl_envs.salad.world import Salad
from tests.rl_envs.salad.scenes import AWAY, LETTUCE, ONION, PLATE, TOMATO, act, agents, held, legal, situation, where

SHORT = {"actions": "short", "kitchen": "one_plate"}


def ticks(world, *names, limit=40):
    """Carry out macro actions until the first agent decides again; how many steps it took."""
    for count in range(1, limit):
        act(world, *names)
        if world.state["decides"][0, 0]:
            assert world.state["since_decision"][0, 0] == count
            return count
    raise AssertionError("the macro action does not end")


def test_getting_a_thing_walks_a_shortest_way_and_takes_it():
    world = situation([(1, 2), AWAY], **SHORT)
    assert ticks(world, "get_tomato", "wait") == 4
    assert agents(world)[0] == (1, 5)
    assert held(world)[0] == TOMATO


def test_going_to_a_board_lays_down_what_is_in_hand():
    world = situation([(1, 3), AWAY], held=(TOMATO, -1), **SHORT)
    assert ticks(world, "go_to_board_1", "wait") == 3
    assert where(world, TOMATO) == (1, 0)


def test_going_to_a_board_with_empty_hands_ends_beside_it():
    world = situation([(1, 3), AWAY], things={TOMATO: (1, 0)}, **SHORT)
    assert ticks(world, "go_to_board_1", "wait") == 2
    assert agents(world)[0] == (1, 1)
    assert world.state["chops"][0, TOMATO] == 0


def test_chopping_goes_on_until_the_food_is_chopped():
    for before, count in ((0, 3), (2, 1)):
        world = situation([(1, 1), AWAY], things={TOMATO: (1, 0)}, chops=(before, 0, 0), **SHORT)
        assert ticks(world, "chop", "wait") == count
        assert world.state["chops"][0, TOMATO] == 3


def test_a_plate_fetched_with_food_in_hand_is_filled_and_then_taken():
    world = situation([(5, 5), AWAY], held=(TOMATO, -1), chops=(3, 0, 0), **SHORT)
    assert ticks(world, "get_plate_1", "wait") == 2
    assert held(world)[0] == PLATE
    assert world.state["in_plate"][0, TOMATO] == 0


def test_serving_walks_to_the_delivery():
    world = situation([(5, 5), AWAY], held=(PLATE, -1), chops=(3, 0, 0), in_plate=(0, -1, -1), **SHORT)
    rewards = [act(world, "deliver", "wait") for _ in range(7)]
    assert rewards[-1] == (999, True)


def test_the_middle_counter_takes_things_in_the_order_of_its_cells():
    world = situation([(1, 2), (5, 5)], layout="B", held=(ONION, -1), **SHORT)
    ticks(world, "go_to_counter", "wait")
    assert where(world, ONION) == (3, 3)
    world = situation([(1, 2), (5, 5)], layout="B", held=(ONION, -1), things={TOMATO: (3, 3)}, **SHORT)
    ticks(world, "go_to_counter", "wait")
    assert where(world, ONION) == (2, 3)


def test_a_thing_that_was_taken_away_ends_the_macro_action_when_this_is_seen():
    world = situation([(5, 1), (1, 5)], **SHORT)
    act(world, "get_tomato", "get_tomato")
    assert held(world)[1] == TOMATO
    while not world.state["decides"][0, 0]:
        act(world, "get_tomato", "wait")
    assert held(world)[0] == -1
    assert "get_tomato" not in legal(world, 0)


def test_a_move_lost_to_the_other_agent_ends_a_macro_action():
    world = situation([(2, 1), (1, 1)], things={TOMATO: (1, 0)}, **SHORT)
    reward, _ = act(world, "go_to_board_1", "chop")
    assert reward == -11
    assert world.state["decides"][0].tolist() == [True, False]


def test_agents_walk_around_one_that_stands_still():
    world = situation([(3, 2), (3, 3)], things={LETTUCE: (3, 6)}, **SHORT)
    assert ticks(world, "get_lettuce", "wait") == 6
    assert held(world)[0] == LETTUCE
    assert world.state["collisions"][0] == 0


def test_agents_that_come_towards_each_other_pass():
    world = situation([(3, 1), (3, 4)], things={LETTUCE: (3, 6)}, held=(-1, TOMATO), **SHORT)
    for _ in range(12):
        act(world, "get_lettuce", "deliver")
        if held(world)[0] == LETTUCE:
            break
    assert held(world)[0] == LETTUCE


def test_no_pair_of_macro_actions_keeps_two_agents_busy_for_ever():
    random = np.random.default_rng(0)
    for layout in "ABC":
        world = Salad(60, layout=layout, kitchen="full", recipes=["lettuce-tomato"])
        obs = world.reset(1)
        for _ in range(120):
            obs, *_ = world.step((random.random((60, 2, world.action_spec)) * obs["legal"]).argmax(-1))
            assert world.state["since_decision"].max() < 40


def test_only_agents_whose_macro_action_ended_decide_and_durations_count_steps():
    world = situation([(1, 2), AWAY], **SHORT)
    obs, _, _, _, info = world.step(np.array([[world.action_names.index("get_tomato"), 0]]))
    assert obs["decides"][0].tolist() == [False, True]
    obs, _, _, _, info = world.step(np.zeros((1, 2), int))
    assert info["duration"][0].tolist() == [2, 1]


def test_what_is_not_available_is_one_step_of_waiting():
    world = situation([(1, 2), AWAY], mask="none", **SHORT)
    assert legal(world, 0) == set(world.action_names)
    assert ticks(world, "chop", "wait") == 1
    assert agents(world)[0] == (1, 2)
    world = situation([(1, 2), (1, 1)], held=(-1, PLATE), mask="none", **SHORT)
    assert ticks(world, "get_plate_1", "go_to_board_1") == 1
    assert world.state["available"][0, 0, 4], "the mate laid the plate down in this step"


def test_nothing_in_the_other_room_can_be_chosen():
    world = situation([(1, 2), (1, 4)], layout="B", **SHORT)
    assert legal(world, 0) == {"wait", "go_to_board_1", "go_to_board_2"}
    assert legal(world, 1) == {"wait", "get_tomato", "get_lettuce", "get_onion", "get_plate_1"}


@pytest.mark.parametrize(
    ("scene", "name", "is_legal"),
    [
        ({"held": (TOMATO, -1)}, "get_lettuce", False),
        ({"held": (TOMATO, -1)}, "get_plate_1", False),
        ({"held": (TOMATO, -1), "chops": (3, 0, 0)}, "get_plate_1", True),
        ({"held": (PLATE, -1)}, "get_tomato", False),
        ({"held": (PLATE, -1), "things": {TOMATO: (2, 0)}, "chops": (3, 0, 0)}, "get_tomato", True),
        ({"things": {TOMATO: (2, 0)}}, "get_tomato", False),
        ({"things": {TOMATO: (2, 0)}}, "go_to_board_1", False),
        ({"things": {TOMATO: (2, 0)}}, "go_to_board_2", True),
        ({"things": {TOMATO: (1, 0)}}, "chop", True),
        ({"things": {TOMATO: (2, 0)}}, "chop", False),
        ({"things": {TOMATO: (1, 0)}, "held": (ONION, -1)}, "chop", False),
        ({"things": {TOMATO: (1, 0)}, "held": (ONION, -1)}, "go_to_board_1", False),
        ({"things": {TOMATO: (1, 0)}, "held": (ONION, -1)}, "go_to_board_2", True),
        ({"held": (ONION, -1)}, "deliver", True),
        ({}, "deliver", False),
        ({"held": (-1, PLATE)}, "get_plate_1", False),
    ],
    ids=str,
)
def test_the_mask_asks_for_hands_that_fit(scene, name, is_legal):
    world = situation([(1, 1), (2, 2)], **SHORT, **scene)
    assert (name in legal(world, 0)) == is_legal


def test_single_steps_are_in_the_full_list_and_only_onto_floor():
    world = situation([(1, 1), AWAY], actions="full", kitchen="one_plate")
    assert {name for name in legal(world, 0) if name.startswith("step")} == {"step_right", "step_down"}
    act(world, "step_down", "wait")
    assert agents(world)[0] == (2, 1)
    assert world.state["decides"].all()


def test_primitive_bumps_that_do_nothing_are_not_legal():
    world = situation([(1, 1), (1, 5)])
    assert legal(world, 0) == {"right", "down", "left", "stay"}
    assert legal(world, 1) == {"right", "down", "left", "up", "stay"}


def test_the_action_list_follows_the_kitchen():
    assert Salad().action_names == ("wait", "get_tomato", "get_plate_1", "go_to_board_1", "deliver", "chop")
    assert len(Salad(kitchen="one_plate").action_names) == 9
    assert Salad(layout="B").action_names[-1] == "go_to_counter"
    assert len(Salad(layout="B", kitchen="full", actions="full").action_names) == 15
