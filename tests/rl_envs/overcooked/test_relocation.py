"""SAMA's actions: a chef names a cell and gets there by the game's own steps."""

import numpy as np
import pytest

from rl_envs.overcooked.layouts import LAYOUTS
from rl_envs.overcooked.relocation import Relocation
from rl_envs.overcooked.words import POT
from rl_envs.overcooked.world import Overcooked
from tests.rl_envs.overcooked.scenes import HATCH, ONIONS, POT_CELL, at, chefs, hands, holds, kitchen

WIDTH = 5
CORNER = ((2, 3), "east", "nothing")
"""A chef who is in nobody's way."""


def number(cell):
    return cell[0] * WIDTH + cell[1]


def go(world, first, second=None):
    """One env step; chef 1 stays where it is by default. Who decides next, and durations."""
    second = second if second is not None else divmod(int(world.state["agent_cells"][0, 1]), WIDTH)
    observations, *_, info = world.step(np.array([[number(first), number(second)]]))
    return observations["decides"][0].tolist(), info["duration"][0].tolist()


def test_using_an_object_takes_a_turn_and_an_interaction_as_env_steps():
    world = kitchen(((1, 1), "north", "nothing"), CORNER, actions="adjacent")
    assert go(world, ONIONS) == ([False, True], [1, 1])
    assert chefs(world)[0] == ((1, 1), "west") and hands(world)[0] == "nothing"
    assert go(world, (0, 0)) == ([True, True], [2, 1])
    assert hands(world)[0] == "onion" and chefs(world)[0] == ((1, 1), "west")
    assert world.state["episode_length"][0] == 2


def test_a_chef_who_faces_the_object_uses_it_at_once():
    world = kitchen(at(POT_CELL, "onion"), CORNER, actions="adjacent")
    assert go(world, POT_CELL) == ([True, True], [1, 1])
    assert holds(world, POT_CELL) == POT + 1


def test_ones_own_cell_and_illegal_cells_mean_stay():
    world = kitchen(((1, 1), "north", "nothing"), CORNER, actions="adjacent")
    for cell in ((1, 1), (2, 2), HATCH, (0, 0)):
        assert go(world, cell) == ([True, True], [1, 1])
        assert chefs(world)[0] == ((1, 1), "north") and hands(world)[0] == "nothing"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_legal_cells_are_ones_own_and_its_four_neighbours(layout):
    world = Overcooked(layout=layout, actions="adjacent")
    legal = world.reset(0)["legal"][0]
    for chef, cell in enumerate(world.kitchen.starts):
        row, column = world.kitchen.place(cell)
        around = {(row, column), (row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)}
        assert {world.kitchen.place(cell) for cell in np.flatnonzero(legal[chef])} == around


def test_a_walk_ends_when_the_other_chef_is_in_the_way():
    world = kitchen(((1, 1), "north", "nothing"), ((1, 2), "north", "nothing"), actions="any")
    decides, duration = go(world, (1, 3))
    assert decides[0] and duration[0] == 1 and chefs(world)[0] == ((1, 1), "east")


def test_a_walk_ends_at_its_limit():
    world = kitchen(((1, 1), "north", "soup"), ((1, 2), "north", "nothing"), actions="any", max_relocation_steps=2)
    assert go(world, HATCH)[0][0] is False
    assert go(world, HATCH) == ([True, True], [2, 1])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_legal_cell_is_reached_or_used_after_as_many_steps_as_it_is_far(layout):
    """Unless the other chef, who stays, is in the way."""
    world = Overcooked(layout=layout, actions="any")
    world.auto_resets = False
    tables, arrivals = world.kitchen, 0
    for chef, start in enumerate(tables.starts):
        legal = np.flatnonzero(world.reset(0)["legal"][0, chef])
        for target in legal:
            steps, ends_at, faced = walk(world, chef, target)
            if faced == tables.starts[1 - chef]:
                continue
            arrivals += 1
            far = tables.distances[start, target]
            if tables.is_floor[target]:
                assert ends_at == target and steps == max(far, 1)
            else:
                assert faced == target and steps - far in (0, 1)
    assert arrivals > world.kitchen.size // 2


def walk(world, chef, target):
    """From the start until the chef decides again: env steps, where it is, and what it faces."""
    world.reset(0)
    chosen = world.kitchen.starts[None].copy()
    chosen[0, chef] = target
    steps, decides = 0, False
    while not decides:
        observations, *_ = world.step(chosen)
        steps, decides = steps + 1, observations["decides"][0, chef]
    ends_at = world.state["agent_cells"][0, chef]
    return steps, ends_at, world.kitchen.front[ends_at * 4 + world.state["headings"][0, chef]]


def test_cells_that_nobody_can_get_to_are_not_legal():
    world = Overcooked(layout="forced_coordination", actions="any")
    legal = world.reset(0)["legal"][0]
    hatch, onions = world.kitchen.place_cells("hatch"), world.kitchen.place_cells("onion store")
    assert legal[0][hatch].all() and not legal[1][hatch].any()
    assert legal[1][onions].all() and not legal[0][onions].any()
    assert (legal[0] & legal[1])[world.kitchen.place_cells("shared counter")].all()


@pytest.mark.parametrize("actions", ["adjacent", "any"])
def test_relocations_are_the_games_own_actions(actions):
    """Replayed as keys, what relocations did gives the same states and rewards."""
    world = Overcooked(16, layout="asymmetric_advantages", actions=actions)
    plain = Overcooked(16, layout="asymmetric_advantages")
    world.reset(0), plain.reset(0)
    world.auto_resets = plain.auto_resets = False
    random = np.random.default_rng(0)
    relocation = Relocation(world.kitchen, actions, 20)
    for _ in range(150):
        legal = world.observe()["legal"]
        chosen = (random.random(legal.shape) * legal).argmax(-1)
        twin = {name: value.copy() for name, value in world.state.items()}
        keys = relocation.actions(twin, chosen)
        _, reward, *_ = world.step(chosen)
        _, plain_reward, *_ = plain.step(keys)
        np.testing.assert_array_equal(reward, plain_reward)
        for name in ("agent_cells", "headings", "held", "contents", "soups", "shaped"):
            np.testing.assert_array_equal(world.state[name], plain.state[name])
    assert world.state["shaped"].sum() > 0


def moves(seed, kinds, steps=300):
    """Random actions [steps, 3, 2] for three kitchens, of each chef's kind."""
    rng, cells = np.random.default_rng(seed), 4 * WIDTH
    return np.stack([rng.integers(0, 6 if kind == "primitive" else cells, (steps, 3)) for kind in kinds], -1)


@pytest.mark.parametrize("mover", [0, 1])
def test_each_of_two_kinds_of_chefs_moves_as_it_would_beside_its_own_kind(mover):
    """The other chef stays: by the game's own action, or by choosing its own cell."""
    stay, kinds = 4, ("primitive", "adjacent")
    for own in kinds:
        pair = [kinds[1 - kinds.index(own)]] * 2
        pair[mover] = own
        mixed, alone = (Overcooked(3, layout="cramped_room", actions=each) for each in (tuple(pair), own))
        mixed.reset(0), alone.reset(0)
        for actions in moves(5, pair):
            cells = alone.state["agent_cells"][:, 1 - mover]
            in_mixed, in_alone = actions.copy(), actions.copy()
            in_mixed[:, 1 - mover] = stay if pair[1 - mover] == "primitive" else cells
            in_alone[:, 1 - mover] = stay if own == "primitive" else cells
            mixed.step(in_mixed), alone.step(in_alone)
            for name in ("agent_cells", "headings", "held", "contents", "soups"):
                np.testing.assert_array_equal(mixed.state[name], alone.state[name])


def test_a_chef_with_the_games_actions_chooses_at_every_step_and_among_six():
    world = Overcooked(3, layout="cramped_room", actions=("adjacent", "primitive"))
    observations = world.reset(0)
    waited = False
    for actions in moves(1, ("adjacent", "primitive")):
        assert observations["decides"][:, 1].all()
        assert (observations["legal"][:, 1] == (np.arange(4 * WIDTH) < 6)).all()
        waited |= not observations["decides"][:, 0].all()
        observations, *_, info = world.step(actions)
        assert (info["duration"][:, 1] == 1).all()
    assert waited


def test_a_number_beyond_the_games_six_actions_is_to_stay():
    mixed, plain = (Overcooked(1, layout="cramped_room", actions=("primitive", "adjacent")) for _ in range(2))
    mixed.reset(0), plain.reset(0)
    for number in range(6, 4 * WIDTH):
        for world, action in ((mixed, number), (plain, 4)):
            world.step(np.array([[action, world.state["agent_cells"][0, 1]]]))
        for name in ("agent_cells", "headings", "held"):
            np.testing.assert_array_equal(mixed.state[name], plain.state[name])
