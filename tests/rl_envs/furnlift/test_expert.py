"""The expert takes shortest paths, in the full graph and in the authors' graph that lacks a turn.

The paths of the authors' graph are compared with recorded ones (`tests/golden/test_furnlift_golden.py`).
"""

import itertools

import numpy as np
import pytest

from rl_envs import make
from rl_envs.furnlift.actions import MOVE_AHEAD, PASS, ROTATE_LEFT, ROTATE_RIGHT
from rl_envs.furnlift.expert import Expert, target_pairs
from tests.rl_envs.furnlift.scenes import EAST, NORTH, WEST

OPEN = np.ones((3, 12), bool)
PAIR = [[[1, 1, EAST], [1, 10, WEST]]]


def advise(expert, agents, can_pick_up=False, pairs=1):
    return expert.advise(np.array(agents), np.ones(pairs, bool), can_pick_up)


@pytest.mark.parametrize(("heading_ring", "expected"), [(True, (ROTATE_LEFT,)), (False, (ROTATE_RIGHT,))])
def test_the_authors_graph_lacks_the_turn_between_north_and_west(heading_ring, expected):
    expert = Expert(OPEN, [[[1, 1, WEST], [1, 10, WEST]]], heading_ring)
    advice = advise(expert, [[1, 1, NORTH], [1, 10, WEST]])
    assert advice.options == (expected, (PASS,))


def test_the_nearer_assignment_is_taken_and_the_given_one_of_equals():
    expert = Expert(OPEN, PAIR)
    np.testing.assert_array_equal(advise(expert, [[1, 9, WEST], [1, 2, EAST]]).targets, PAIR[0][::-1])
    same = Expert(OPEN, [[[1, 4, EAST], [1, 4, EAST]]])
    assert advise(same, [[1, 3, EAST], [1, 3, EAST]]).actions == (MOVE_AHEAD, MOVE_AHEAD)


def test_a_pair_on_which_a_pickup_fails_is_removed_for_good():
    pairs, usable = [*PAIR, [[0, 1, EAST], [0, 10, WEST]]], np.ones(2, bool)
    expert = Expert(OPEN, pairs)
    np.testing.assert_array_equal(expert.advise(np.array(PAIR[0]), usable, False).targets, pairs[1])
    np.testing.assert_array_equal(usable, [False, True])
    assert expert.advise(np.array(pairs[1]), usable, False) is None and not usable.any()


def test_no_pair_within_reach_gives_no_advice():
    split = OPEN.copy()
    split[:, 5] = False
    assert advise(Expert(split, PAIR), [[1, 1, EAST], [1, 2, EAST]]) is None


def test_pairs_are_far_enough_apart_and_the_nearest_come_first():
    targets = np.array(list(itertools.product(range(3), range(12), range(2))))
    pairs = target_pairs(targets, np.array([1, 5, 0]), 8)
    assert len(pairs) == 41
    assert (abs(pairs[:, 0, :2] - pairs[:, 1, :2]).sum(-1) >= 8).all()
    total = abs(pairs[..., :2] - (1, 5)).sum((1, 2))
    assert (np.diff(total) >= 0).all()


@pytest.mark.parametrize("heading_ring", [True, False])
def test_a_team_that_follows_the_expert_always_succeeds(heading_ring):
    world = make("furnlift-v0", 8, rooms="train", shows_expert=True, heading_ring=heading_ring, max_episode_steps=150)
    observations, successes = world.reset(1), []
    for _ in range(60):
        assert (observations["expert"] >= 0).all()
        observations, *_, info = world.step(observations["expert"])
        successes += info["episode"]["success"].tolist() if info["done_worlds"].size else []
    assert len(successes) >= 8 and all(successes)
