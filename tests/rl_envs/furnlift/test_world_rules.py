"""FurnLift's rules: A Cordial Sync, sections 2 and 6.1, and the authors' code."""

import numpy as np
import pytest

from rl_envs import make
from rl_envs.furnlift.actions import PICKUP, coordinated_actions
from rl_envs.furnlift.world import DIFFICULTIES, difficulty
from tests.rl_envs.furnlift.scenes import EAST, NORTH, SOUTH, WEST, world

BOTH = [[PICKUP, PICKUP]]
COUNTERS = ("failed_pickups", "failed_pickups_distance", "failed_pickups_visibility", "missed_pickups")


def step(found, first, second, **chance):
    found.auto_resets = False
    return found.step(np.array([[first, second]]), chance or None)


def test_without_the_distance_rule_seven_cells_are_enough():
    assert step(world(agents=((5, 2, EAST), (5, 9, WEST)), min_separation_cells=0), PICKUP, PICKUP)[2][0]


def test_an_agent_that_looks_away_does_not_see_it():
    found = world(agents=((5, 2, WEST), (5, 10, WEST)))
    _, reward, terminated, *_ = step(found, PICKUP, PICKUP)
    np.testing.assert_allclose(reward, [[-0.13, -0.13]])
    assert not terminated[0] and [int(found.state[name][0]) for name in COUNTERS] == [2, 0, 2, 0]


def test_recorded_visibility_replaces_our_own():
    sees = np.array([[True, False]])
    assert not step(world(), PICKUP, PICKUP, sees_television=sees)[2][0]
    with pytest.raises(ValueError, match="sees_television"):
        step(world(), PICKUP, PICKUP, sees_television=sees[0])


def test_classes_of_difficulty_follow_the_mean_start_distance():
    names = [DIFFICULTIES[index] for index in difficulty(np.array([2.0, 10.0, 10.5, 17.0, 17.5, 45.0]))]
    assert names == ["easy", "easy", "medium", "medium", "hard", "hard"]


def test_seventeen_of_25_joint_actions_are_coordinated():
    joint_actions, modality = coordinated_actions()
    assert joint_actions.shape == (1, 17, 2)
    np.testing.assert_array_equal(joint_actions[0, modality == 1], BOTH)
    assert not (joint_actions[0, modality == 0] == PICKUP).any()


def test_an_agent_sees_the_other_one_only_where_that_is_asked_for():
    agents = ((8, 3, NORTH), (6, 4, EAST))
    alone = world(agents=agents).observe()["view"]
    together = world(agents=agents, agents_visible=True).observe()["view"]
    assert alone.shape == (1, 2, 2, 15, 15) and together.shape == (1, 2, 6, 15, 15)
    np.testing.assert_array_equal(together[:, :, :2], alone)
    assert together[0, 0, 2 + EAST, 12, 8] == 1 and together[0, 0, 2:].sum() == 1
    assert together[0, 1, 2:].sum() == 0, "the first agent is behind the second"


def test_the_television_is_drawn_where_it_lies():
    view = world(agents=((8, 6, NORTH), (2, 6, SOUTH))).observe()["view"][0, :, 1]
    assert view[0, 11, 5:10].all() and view[0].sum() == 5
    np.testing.assert_array_equal(view[1], view[0])


def test_every_start_has_a_pair_and_agents_on_reachable_floor():
    found = make("furnlift-v0", 16, rooms="train_stream", room_size="laptop", shows_expert=True)
    found.reset(3)
    below = found.observe()["view"][:, :, 0, -1, 7]
    assert below.all(), "an agent stands on closed floor"
    assert found.state["usable_pairs"].any(1).all()
    assert (found.state["expert"] >= 0).all()
