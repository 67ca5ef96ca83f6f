"""Goals are reached by whoever did it, in the step in which it was done, and by nothing else."""

import numpy as np
import pytest

from rl_envs.overcooked.goals import Goal, reached
from rl_envs.overcooked.words import FULL, POT, READY
from tests.rl_envs.overcooked.scenes import BAR, DISHES, HATCH, INTERACT, ONIONS, POT_CELL, STAY, at, kitchen

ASIDE = ((1, 3), "north", "nothing")


def facts_of(state):
    """A copy of what a goal compares, as `previous` of the next step."""
    return {name: state[name].copy() for name in ("agent_cells", "headings", "held", "contents")}


def after(world, goal, first=INTERACT, second=STAY):
    """Who has reached the goal in one step."""
    before = facts_of(world.state)
    world.step(np.array([[first, second]]))
    return reached(world.kitchen, goal, before, world.state)[0].tolist()


@pytest.mark.parametrize(
    ("goal", "where", "held", "contents"),
    [
        (Goal("take", "onion", "onion store"), ONIONS, "nothing", {}),
        (Goal("take", "dish", "dish store"), DISHES, "nothing", {}),
        (Goal("take", "onion", "counter"), BAR, "nothing", {BAR: "onion"}),
        (Goal("take", "soup", "pot 0"), POT_CELL, "dish", {POT_CELL: READY}),
        (Goal("put", "onion", "pot"), POT_CELL, "onion", {}),
        (Goal("put", "onion", "shared counter"), BAR, "onion", {}),
        (Goal("put", "soup", "hatch"), HATCH, "soup", {}),
        (Goal("hold", "onion"), ONIONS, "nothing", {}),
        (Goal("hold"), BAR, "dish", {}),
        (Goal("face", place="pot"), POT_CELL, "nothing", {}),
    ],
    ids=str,
)
def test_a_deed_is_that_of_the_chef_who_did_it(goal, where, held, contents):
    other = ((1, 3), "east", "nothing") if goal != Goal("hold") else ((1, 3), "east", "onion")
    assert after(kitchen(at(where, held), other, contents), goal) == [True, False]


@pytest.mark.parametrize(
    ("goal", "where", "held", "contents"),
    [
        (Goal("take", "onion", "counter"), ONIONS, "nothing", {}),
        (Goal("take", "onion", "onion store"), ONIONS, "onion", {}),
        (Goal("put", "onion", "counter"), POT_CELL, "onion", {}),
        (Goal("put", "onion", "pot"), POT_CELL, "onion", {POT_CELL: READY}),
        (Goal("put", "soup", "hatch"), HATCH, "dish", {}),
        (Goal("put", "nothing", "counter"), BAR, "nothing", {}),
        (Goal("take", "soup", "pot"), POT_CELL, "dish", {POT_CELL: READY - 2}),
        (Goal("face", place="hatch"), POT_CELL, "nothing", {}),
    ],
    ids=str,
)
def test_a_deed_not_done_or_done_elsewhere_is_not_reached(goal, where, held, contents):
    assert after(kitchen(at(where, held), ASIDE, contents), goal) == [False, False]


@pytest.mark.parametrize(
    ("goal", "contents", "is_so"),
    [
        (Goal("contain", "onion", "pot 0", 2), {POT_CELL: POT + 2}, True),
        (Goal("contain", "onion", "pot 0", 2), {POT_CELL: POT + 1}, False),
        (Goal("contain", "onion", "pot 0", 3), {POT_CELL: READY}, True),
        (Goal("contain", "dish", "counter", 2), {BAR: "dish", (0, 1): "dish"}, True),
        (Goal("contain", "dish", "counter", 2), {BAR: "dish", (0, 1): "onion"}, False),
        (Goal("contain", "onion", "", 3), {BAR: "onion", POT_CELL: POT + 2}, True),
        (Goal("cook", place="pot"), {POT_CELL: FULL + 1}, True),
        (Goal("cook", place="pot"), {POT_CELL: READY}, False),
        (Goal("ready", place="pot"), {POT_CELL: READY - 1}, True),
        (Goal("ready", place="pot"), {POT_CELL: READY - 2}, False),
    ],
    ids=str,
)
def test_conditions_of_the_kitchen_hold_for_both_chefs(goal, contents, is_so):
    assert after(kitchen(at(ONIONS), ASIDE, contents), goal, STAY) == [is_so, is_so]


def test_each_pot_is_a_place_of_its_own():
    drawing = ("XPXPX", "O1 2O", "XDXSX")
    world = kitchen(((1, 1), "north", "onion"), ((1, 3), "north", "onion"), layout=drawing)
    before = facts_of(world.state)
    world.step(np.array([[INTERACT, INTERACT]]))
    for number in range(2):
        done = reached(world.kitchen, Goal("put", "onion", f"pot {number}"), before, world.state)
        assert done.tolist() == [[number == 0, number == 1]]
