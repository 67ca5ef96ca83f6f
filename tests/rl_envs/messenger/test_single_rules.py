"""Rules for a single agent, sentence by sentence (MESSENGER, section 3), in the authors' engine's order of effects."""

import numpy as np
import pytest

from rl_envs.messenger.symbols import CHASER, FLEEING, IMMOVABLE
from rl_envs.messenger.world import STEP_LIMITS, Messenger
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


@pytest.mark.parametrize("agents", [1, 2])
@pytest.mark.parametrize("stage", [1, 2, 3])
def test_running_out_of_time_is_a_loss(agents, stage):
    world = Messenger(300, stage=stage, num_agents=agents)
    world.reset(0)
    limit = STEP_LIMITS[agents][stage - 1]
    assert world.max_episode_steps == limit
    longest = 0
    for _ in range(limit):
        _, reward, terminated, truncated, info = world.step(np.random.default_rng(0).integers(5, size=(300, agents)))
        assert not truncated.any()
        if "episode" in info:
            late = info["episode"]["length"] == limit
            longest += late.sum()
            lost = late & (info["episode"]["win_rate"] == 0)
            assert (reward[info["done_worlds"]][lost] == -1).all() and terminated[info["done_worlds"]].all()
    assert longest


def test_a_message_in_the_last_step_is_no_longer_worth_anything():
    world = situation(((0, 0), ON), max_episode_steps=1)
    assert step(world, STAY) == LOST
    world = situation(((0, 0), (9, 9), ON), holds=[True], max_episode_steps=1)
    assert step(world, STAY) == WON


def test_movements_of_removed_and_immovable_entities_change_nothing_by_chance():
    world = Messenger(200, stage=2)
    world.reset(0)
    still = world.state["entity_movements"] == IMMOVABLE
    first = world.state["entity_places"].copy()
    world.auto_resets = False
    world.step(np.full((200, 1), STAY))
    same = (world.state["entity_places"] == first).all(-1)
    assert same[still].all() and not same[world.state["entity_movements"] == CHASER].any()
    assert not same[world.state["entity_movements"] == FLEEING].any()
