"""Scripted chefs: shortest ways to objects, round each other where they can, and nobody waits for ever."""

import numpy as np
import pytest

from rl_envs.overcooked.kitchen import Kitchen
from rl_envs.overcooked.layouts import LAYOUTS
from rl_envs.overcooked.scripted import NUM_UNIFORMS, ShortestPaths
from rl_envs.overcooked.world import Overcooked

CORRIDOR = ("XXXXXX", "O1 2 S", "XPXDXX")
RING = ("XPXXX", "X1 2X", "X X S", "O   D", "XXXXX")
NONE, HALVES = np.zeros(NUM_UNIFORMS), np.full(NUM_UNIFORMS, 0.9)


def targets(kitchen, *places):
    return np.stack([kitchen.place_cells(place) if place else np.zeros(kitchen.size, bool) for place in places])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("actions", ["adjacent", "any"])
def test_every_chosen_cell_is_legal(layout, actions):
    world = Overcooked(8, layout=layout, actions=actions)
    world.reset(0)
    ways, numbers = ShortestPaths(world.kitchen), np.random.default_rng(0)
    places = [("onion store", ""), ("", "onion store"), ("pot", ""), ("", "dish store")]
    for _ in range(30):
        at = world.state["agent_cells"]
        wanted = [targets(world.kitchen, *places[b % 4]) for b in range(8)]
        chosen = np.stack([ways.next_cells(at[b], wanted[b], numbers.random(NUM_UNIFORMS)) for b in range(8)])
        legal = world.observe()["legal"]
        assert np.take_along_axis(legal, chosen[..., None], -1).all()
        world.step(chosen)


def test_a_chef_reaches_an_object_in_as_many_env_steps_as_it_is_away():
    world = Overcooked(1, layout="asymmetric_advantages", actions="adjacent")
    world.reset(0)
    ways, kitchen = ShortestPaths(world.kitchen), world.kitchen
    away = kitchen.distances[world.state["agent_cells"][0, 0], kitchen.place_cells("onion store")].min()
    wanted, steps = targets(kitchen, "onion store", ""), 0
    while world.state["held"][0, 0] == 0:
        world.step(ways.next_cells(world.state["agent_cells"][0], wanted, NONE)[None])
        steps += 1
    assert steps == away + 1  # and one to take the onion


def test_a_chef_takes_a_detour_around_the_other():
    kitchen = Kitchen(RING)
    ways, at = ShortestPaths(kitchen), kitchen.starts + np.array([1, 0])
    chosen = ways.next_cells(at, targets(kitchen, "hatch", "counter"), HALVES)
    assert chosen[0] == at[0] - 1  # back, for the other one uses a counter of the upper lane


def test_a_chef_that_rests_makes_way_and_without_a_detour_chefs_step_aside_by_chance():
    kitchen = Kitchen(CORRIDOR)
    ways, at = ShortestPaths(kitchen), kitchen.starts + np.array([1, 0])
    resting = targets(kitchen, "hatch", "")
    assert ways.next_cells(at, resting, HALVES).tolist() == [at[1], at[1] + 1]
    wanted = targets(kitchen, "hatch", "onion store")
    assert ways.next_cells(at, wanted, HALVES).tolist() == at.tolist()
    aside = ways.next_cells(at, wanted, np.array([0.0, 0.0, 0.9, 0.0]))
    assert aside.tolist() == [at[0] - 1, at[1]]


def test_of_two_chefs_that_want_one_cell_one_makes_way():
    kitchen = Kitchen(CORRIDOR)
    ways, wanted = ShortestPaths(kitchen), targets(kitchen, "dish store", "pot")
    middle = int(kitchen.starts[0]) + 1
    for luck, first in ((0.1, 0), (0.9, 1)):
        chosen = ways.next_cells(kitchen.starts, wanted, np.full(NUM_UNIFORMS, luck))
        assert [int(cell == middle) for cell in chosen].index(1) == first
        assert (chosen == middle).sum() == 1


def test_a_chef_without_a_target_stays():
    kitchen = Kitchen(LAYOUTS["cramped_room"])
    chosen = ShortestPaths(kitchen).next_cells(kitchen.starts, targets(kitchen, "", ""), NONE)
    assert chosen.tolist() == kitchen.starts.tolist()
