"""What a team held when a fight ended its episode: the metrics that tell reading from control."""

import numpy as np
import pytest

from rl_envs.registry import make
from tests.rl_envs.rtfm.scenes import DISTRACTOR_ITEM, FAR, NOTHING, RIGHT, RIGHT_ITEM, STAY, situation

HERE, BESIDE = (3, 3), (3, 4)
NAMES = ("fights_right_item", "fights_wrong_item", "fights_no_item")


def shares(world, *actions):
    episode = world.step(np.array([actions]))[-1]["episode"]
    return [episode[name][0] for name in NAMES]


@pytest.mark.parametrize("monsters", [(BESIDE, FAR), (FAR, BESIDE)])
@pytest.mark.parametrize(
    ("held", "wanted"), [(RIGHT_ITEM, [1, 0, 0]), (DISTRACTOR_ITEM, [0, 1, 0]), (NOTHING, [0, 0, 1])]
)
def test_a_fight_counts_by_the_item_in_hand_whoever_was_met(held, wanted, monsters):
    assert shares(situation([HERE], monsters, held=[held]), RIGHT) == wanted


def test_an_episode_out_of_time_has_no_fight():
    assert shares(situation([HERE], max_episode_steps=1), STAY) == [0, 0, 0]


def test_two_fighters_of_one_step_count_half_each():
    world = situation([HERE, (5, 5)], (BESIDE, (5, 6), FAR), (None, None, None), held=[1, 0])
    assert shares(world, RIGHT, RIGHT) == [0.5, 0, 0.5]


def test_a_win_is_with_the_item_of_the_fight_and_not_with_one_that_was_picked_up_after_it():
    """The dragon walks into the agent with the right item and dies; the agent then moves on to another item."""
    world = make("rock_paper_scissors-v0", 1, size=6, setting="ten_letters")
    world.restore(
        {
            "agent_cells": np.array([[14]]),
            "monster_cells": np.array([[13]]),
            "item_cells": np.array([[0, 15, 28]]),
            "triple": np.array([[0, 1, 2]]),
            "dragon": np.array([0]),
            "held": np.array([[1]]),
        }
    )
    chance = {"monster_moves": np.array([[4]]), "monster_order": np.array([[0]])}
    _, reward, terminated, _, info = world.step(np.array([[4]]), chance=chance)
    assert reward.tolist() == [[1]] and terminated.all()
    assert [info["episode"][name].tolist() for name in NAMES] == [[1], [0], [0]]
