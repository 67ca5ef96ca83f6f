"""The frozen lake's rules, maps and texts."""

import numpy as np
import pytest

from rl_envs.frozen_lake_spread.maps import Lake, get_lake, steps_to
from rl_envs.frozen_lake_spread.text import describe, parse
from rl_envs.frozen_lake_spread.world import FrozenLakeSpread

LEFT, DOWN, RIGHT, UP = range(4)


def lakes(cells, **arguments):
    """One world for each row of (row, column) pairs."""
    cells = np.array(cells)
    world = FrozenLakeSpread(len(cells), **arguments)
    world.restore({"cells": cells[..., 0] * world.lake.side + cells[..., 1]})
    return world


def test_the_shortest_ways_pay_at_steps_4_and_5_and_then_the_game_is_over():
    world = FrozenLakeSpread()
    world.reset(0)
    first = [DOWN, DOWN, RIGHT, DOWN, UP]  # what it chooses on its target does nothing
    second = [LEFT, DOWN, DOWN, DOWN, RIGHT]
    played = [world.step(np.array([actions])) for actions in zip(first, second, strict=True)]
    assert [reward[0].tolist() for _, reward, *_ in played] == [[0, 0]] * 3 + [[1, 1], [1, 1]]
    assert [bool(terminated[0]) for _, _, terminated, *_ in played] == [False] * 4 + [True]
    assert played[-1][-1]["episode"]["success"].tolist() == [1]


@pytest.mark.parametrize(("name", "steps"), [("4x4", (4, 5)), ("8x8", (8, 7))])
def test_targets_lie_as_far_from_the_starts_as_the_map_says(name, steps):
    lake = get_lake(name)
    found = [
        steps_to(target, lake.holes, lake.following)[start]
        for start, target in zip(lake.starts, lake.targets, strict=True)
    ]
    assert tuple(found) == steps


@pytest.mark.parametrize("name", ["4x4", "8x8"])
def test_every_hole_ends_the_game_without_pay(name):
    lake = get_lake(name)
    ways = [(cell, action) for cell in range(lake.side**2) for action in range(4)]
    ways = [(c, a) for c, a in ways if not lake.holes[c] and c not in lake.targets and lake.holes[lake.following[c, a]]]
    assert {int(lake.following[way]) for way in ways} == set(np.flatnonzero(lake.holes))
    world = FrozenLakeSpread(len(ways), map=name)
    cells = np.array([[cell, lake.starts[1]] for cell, _ in ways])
    world.restore({"cells": cells})
    _, reward, terminated, _, info = world.step(np.array([[action, UP] for _, action in ways]))
    assert terminated.all() and not reward.any()
    assert (info["episode"]["fell"] == 1).all() and (info["episode"]["success"] == 0).all()


def test_on_slippery_ice_three_directions_are_equally_likely():
    world = FrozenLakeSpread(6000, map="8x8", slippery=True)
    world.reset(1)
    world.state["cells"][:] = 1 * 8 + 4
    world.step(np.full((6000, 2), DOWN))
    for agent in range(2):
        cells, counts = np.unique(world.state["cells"][:, agent], return_counts=True)
        assert cells.tolist() == [11, 13, 20]  # left, right, down; never back
        np.testing.assert_allclose(counts / 6000, 1 / 3, atol=0.03)


def test_recorded_slips_are_taken_as_they_are():
    world = lakes([[(1, 4), (1, 4)]], map="8x8", slippery=True)
    world.step(np.array([[DOWN, DOWN]]), chance={"slips": np.array([[0, 2]])})
    assert world.state["cells"].tolist() == [[11, 13]]


def test_agents_share_a_cell_unless_it_holds_one_only():
    start = [[(0, 1), (0, 2)], [(0, 1), (0, 3)]]
    for blocks, wanted in ((False, [[2, 1], [2, 2]]), (True, [[1, 2], [2, 3]])):
        world = lakes(start, blocks=blocks)
        world.step(np.array([[RIGHT, LEFT], [RIGHT, LEFT]]))
        assert world.state["cells"].tolist() == wanted


def test_the_first_agent_takes_a_free_target_and_for_the_other_it_is_ice():
    world = lakes([[(2, 1), (3, 2)]])
    _, reward, terminated, _, _ = world.step(np.array([[DOWN, LEFT]]))
    assert reward.tolist() == [[1, 1]] and not terminated.any()
    assert world.state["target"].tolist() == [[1, 0]]
    assert world.state["cells"].tolist() == [[13, 13]]
    world.step(np.array([[UP, RIGHT]]))
    _, reward, terminated, _, info = world.step(np.array([[UP, RIGHT]]))
    assert terminated.all() and reward.tolist() == [[1, 1]]
    assert info["episode"]["success"].tolist() == [1] and info["episode"]["arrivals"].tolist() == [2]


def test_own_rewards_go_to_the_one_that_arrives():
    world = lakes([[(2, 1), (0, 0)]], own_rewards=True)
    assert world.step(np.array([[DOWN, UP]]))[1].tolist() == [[1, 0]]


def test_a_fall_takes_one_agent_out_if_it_does_not_end_the_game():
    world = lakes([[(0, 1), (2, 1)]], hole="out")
    observations, _, terminated, _, _ = world.step(np.array([[DOWN, UP]]))
    assert terminated.all() and "alive" in observations  # both fell into (1, 1)
    world = lakes([[(0, 1), (2, 1)]], hole="out")
    observations, _, terminated, _, _ = world.step(np.array([[DOWN, LEFT]]))
    assert not terminated.any() and observations["alive"].tolist() == [[False, True]]
    world.restore({"cells": np.array([[5, 9]]), "out": np.array([[True, False]])})
    _, reward, terminated, _, info = world.step(np.array([[UP, DOWN]]))
    assert reward.tolist() == [[0, 1]] and terminated.all() and info["episode"]["success"].tolist() == [0]


def test_agents_see_their_own_place_first():
    world = lakes([[(0, 1), (2, 2)]], observations=("place", "one_hot", "cells"))
    seen = world.observe()
    assert seen["place"].tolist() == [[[0, 1, 2, 2], [2, 2, 0, 1]]]
    assert seen["cells"].tolist() == [[[1, 10], [10, 1]]]
    assert seen["one_hot"][0, 0].reshape(4, 4).argmax(1).tolist() == [0, 1, 2, 2]


def test_random_maps_differ_by_seed_and_can_be_solved():
    lakes_found = [get_lake("random-8x8", seed) for seed in range(20)]
    assert len({lake.holes.tobytes() for lake in lakes_found}) > 15
    assert len({tuple(lake.targets) for lake in lakes_found}) > 15
    for lake in lakes_found:
        assert not lake.holes[lake.starts].any() and not lake.holes[lake.targets].any()
        for target in lake.targets:
            assert np.isfinite(steps_to(target, lake.holes, lake.following)[lake.starts]).all()
    assert get_lake("random-8x8", 3).holes.tolist() == get_lake("random-8x8", 3).holes.tolist()


def random_states(lake: Lake, count):
    numbers = np.random.default_rng(0)
    ice = np.flatnonzero(~lake.holes)
    for _ in range(count):
        cells = numbers.choice(ice, 2)
        target = [1 + list(lake.targets).index(cell) if cell in lake.targets else 0 for cell in cells]
        target[1] = 0 if target[1] == target[0] else target[1]
        yield cells, target, int(numbers.integers(100))


@pytest.mark.parametrize("name", ["4x4", "8x8", "random-8x8"])
def test_a_state_in_words_reads_back_exactly(name):
    lake = get_lake(name)
    for cells, target, step in random_states(lake, 50):
        found = parse(lake, describe(lake, cells, target, step))
        assert found["cells"].tolist() == [cells.tolist()] and found["target"].tolist() == [target]
        assert found["episode_length"].tolist() == [step]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("Agent 1 is at home.", "Agent 1"),
        ("Step 9999999999. Agent 1 is at row 1, column 1. Agent 2 is at row 1, column 2.", "read"),
        ("Step 3. Agent 1 is at row 9, column 1. Agent 2 is at row 1, column 1.", "1 to 4"),
        ("Step 3. Agent 1 is at row 2, column 2. Agent 2 is at row 1, column 1.", "hole"),
        ("Step 3. Agent 1 is at row 1, column 1 on a target. Agent 2 is at row 1, column 1.", "target"),
    ],
)
def test_a_text_that_is_no_state_is_refused(text, sentence):
    with pytest.raises(ValueError, match=sentence):
        parse(get_lake("4x4"), text)
