"""Rules for a single agent, sentence by sentence (MESSENGER, section 3), in the authors' engine's order of effects."""

import numpy as np

from rl_envs.messenger.symbols import CHASER, IMMOVABLE
from tests.rl_envs.messenger.scenes import RIGHT, STAY, cells, situation, step

ON = (5, 5)
LOST, WON = (-1, True, False), (1, True, True)


def test_entities_see_where_the_avatar_was_before_the_step():
    walks = set()
    for seed in range(20):
        world = situation(((2, 5), (9, 9), (9, 0)), movements=(CHASER, IMMOVABLE, IMMOVABLE))
        world.chance.key[:] = seed
        world.step(np.array([[RIGHT]]))
        walks.add(cells(world, "entity")[0])
    assert walks == {(2.5, 5)}


def test_a_message_in_the_last_step_is_no_longer_worth_anything():
    world = situation(((0, 0), ON), max_episode_steps=1)
    assert step(world, STAY) == LOST
    world = situation(((0, 0), (9, 9), ON), holds=[True], max_episode_steps=1)
    assert step(world, STAY) == WON
