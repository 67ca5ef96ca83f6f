"""FurnMove's episode ends and metrics."""

import numpy as np
import pytest

from tests.rl_envs.furnmove.scenes import APART, CARRY_RIGHT, NORTH, situation


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
