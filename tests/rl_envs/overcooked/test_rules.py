"""The rules, one by one (Overcooked, older cooking rule), the five layouts, and pictures."""

import numpy as np
import pytest

from rl_envs.overcooked.kitchen import Kitchen
from rl_envs.overcooked.layouts import LAYOUTS
from rl_envs.overcooked.words import POT, READY
from rl_envs.overcooked.world import Overcooked
from tests.rl_envs.overcooked.scenes import (
    BAR,
    DISHES,
    HATCH,
    INTERACT,
    POT_CELL,
    STAY,
    at,
    hands,
    holds,
    kitchen,
    step,
)

ASIDE = ((2, 3), "east", "nothing")
"""A chef who is in nobody's way."""
EMPTY_HANDED = "nothing"


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


def test_episodes_count_soups_and_shaped_points():
    world = kitchen(at(HATCH, "soup"), at(POT_CELL, "onion"), max_episode_steps=1, shaping=0.5)
    *_, info = world.step(np.array([[INTERACT, INTERACT]]))
    episode = {name: value[0].tolist() for name, value in info["episode"].items()}
    assert episode == {"return": [20, 21.5], "length": 1, "soups": 1, "shaped_return": 3}


SIZES = {
    "cramped_room": (4, 5, 1),
    "asymmetric_advantages": (5, 9, 2),
    "coordination_ring": (5, 5, 2),
    "forced_coordination": (5, 5, 2),
    "counter_circuit_o_1order": (5, 8, 2),
}
ROOMS = {"asymmetric_advantages": False, "forced_coordination": False}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_five_kitchens_have_their_size_pots_and_rooms(layout):
    found = Kitchen(layout)
    assert (found.height, found.width, len(found.pots)) == SIZES[layout]
    meets = found.distances[found.starts[0], found.starts[1]] < found.size
    assert meets == ROOMS.get(layout, True)


def test_pictures_show_every_cell_and_what_changes():
    world = kitchen(at(POT_CELL, "onion"), at(HATCH), {BAR: "dish"})
    empty = kitchen(at(POT_CELL), at(HATCH)).render()
    picture = world.render()
    assert picture.shape == (4 * 56 + 22, 5 * 56, 3)
    differs = (picture != empty).any(-1)[: 4 * 56].reshape(4, 56, 5, 56).any((1, 3))
    assert {tuple(cell) for cell in np.argwhere(differs).tolist()} == {BAR, (1, 2)}
