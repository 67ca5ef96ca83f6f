"""What one joint step of FurnMove does, which are coordinated, and how an episode ends (A Cordial Sync, A.1, A.3)."""

import itertools

import numpy as np
import pytest

from rl_envs.furnmove.actions import MODALITY, coordinated_actions, coordination_class, coordination_matrix
from tests.rl_envs.furnmove.scenes import (
    AHEAD,
    APART,
    CARRY_AHEAD,
    CARRY_RIGHT,
    CENTRE,
    EAST,
    FAILED,
    FINE,
    NORTH,
    PASS,
    PUSH_RIGHT,
    act,
    pose,
    situation,
)


def test_the_separation_can_be_switched_off():
    world = situation([(14, 9), (14, 11)], EAST, min_agent_distance_cells=1)
    assert act(world, AHEAD, PASS) == [FINE, FINE]
    assert act(world, AHEAD, PASS) == [FAILED, FINE], "two agents never share a cell"


def test_the_television_flies_over_the_stand_and_agents_do_not():
    world = situation(APART[2], EAST, stand=(15, 12, 0))  # rows 14-16, columns 10-14
    assert act(world, AHEAD, PASS) == [FAILED, FINE]
    assert act(world, CARRY_AHEAD, CARRY_AHEAD) == [FAILED, FAILED]
    assert world.state["visited"][0][CENTRE], "a joint action that fails marks the television's cell, too"
    assert pose(world) == ((*CENTRE, 0), APART[2], [EAST, EAST])
    for _ in range(2):
        assert act(world, PUSH_RIGHT, PUSH_RIGHT) == [0.99, 0.99]
    assert pose(world) == ((14, 12, 0), APART[2], [EAST, EAST]), "its centre lies over the stand"


def test_the_bonus_can_be_set():
    world = situation(APART[2], NORTH, stand=(12, 20, 0), closer_reward=0.25)
    assert act(world, CARRY_RIGHT, CARRY_RIGHT) == [0.24, 0.24]


def test_an_agent_alone_waits_for_nobody():
    world = situation([(14, 9)], EAST, stand=(12, 20, 0))
    assert act(world, AHEAD) == [FINE]
    assert act(world, CARRY_AHEAD) == [0.99]
    assert pose(world) == ((12, 13, 0), [(14, 11)], [EAST])


@pytest.mark.parametrize("bootstrap_at_limit", [True, False])
def test_solving_at_the_last_moment_is_an_end_and_no_limit(bootstrap_at_limit):
    arguments = {"max_episode_steps": 1, "bootstrap_at_limit": bootstrap_at_limit}
    world = situation(APART[2], NORTH, stand=(12, 14, 0), **arguments)
    _, _, terminated, truncated, info = world.step(np.full((1, 2), CARRY_RIGHT))
    assert (terminated[0], truncated[0]) == (True, False)
    assert info["episode"]["success"].tolist() == [1.0]


def test_an_episode_shorter_than_its_distance_has_md_spl_one():
    """Solved within one cell, d - 1 steps are enough; the larger of d and the steps counts."""
    world = situation(APART[2], NORTH, stand=(12, 15, 0))
    for _ in range(2):
        *_, info = world.step(np.full((1, 2), CARRY_RIGHT))
    assert info["episode"]["md_spl"].tolist() == [1.0]


ONES = {1: 13, 2: 16, 3: 46, 4: 184}
"""N -> 4**N - 3**N navigation tuples with a Pass, and 9 joint ones; a single agent waits for nobody."""


@pytest.mark.parametrize("num_agents", [1, 2, 3, 4])
def test_the_table_that_agents_see_is_the_rule(num_agents):
    joint_actions, modalities = coordinated_actions(num_agents)
    assert joint_actions.shape == (4 ** (num_agents - 1), ONES[num_agents], num_agents)
    assert (MODALITY[joint_actions] == modalities[:, None]).all()
    classes = set()
    for headings in itertools.product(range(4), repeat=num_agents):
        number = int(coordination_class(np.array(headings)))
        classes.add(number)
        listed = sorted(joint_actions[number].tolist())
        assert listed == np.argwhere(coordination_matrix(np.array(headings))).tolist(), headings
    assert classes == set(range(len(joint_actions)))
