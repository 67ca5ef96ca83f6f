"""The two-step game pays what the paper's tables say."""

import itertools

import numpy as np
import pytest

from rl_envs.two_step_game.world import FIRST, RISKY, SAFE, TwoStepGame

JOINT = np.array(list(itertools.product((0, 1), repeat=2)))


def games(room=FIRST):
    """One game for each joint action, in this room."""
    world = TwoStepGame(len(JOINT))
    world.reset(0)
    world.restore({"room": np.full(len(JOINT), room)})
    return world


def test_the_first_agent_alone_decides_which_half_is_played():
    world = games()
    observations, reward, terminated, _, _ = world.step(JOINT)
    np.testing.assert_array_equal(observations["state"].argmax(-1), (SAFE + JOINT[:, :1]).repeat(2, 1))
    assert (reward == 0).all() and not terminated.any()


@pytest.mark.parametrize(("room", "paid"), [(SAFE, [7, 7, 7, 7]), (RISKY, [0, 1, 1, 8])])
def test_the_second_step_pays_both_agents_by_the_papers_tables_and_ends_the_game(room, paid):
    world = games(room)
    observations, reward, terminated, truncated, info = world.step(JOINT)
    np.testing.assert_array_equal(reward, np.stack([paid, paid], 1))
    np.testing.assert_array_equal(info["episode"]["outcome"], paid)
    assert terminated.all() and not truncated.any()
    assert (observations["state"].argmax(-1) == FIRST).all()
