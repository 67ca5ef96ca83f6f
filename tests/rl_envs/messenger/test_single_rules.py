"""Rules for a single agent, sentence by sentence (MESSENGER, section 3), in the authors' engine's order of effects."""

import numpy as np
import pytest

from rl_envs.messenger.symbols import CHASER, FLEEING, IMMOVABLE
from rl_envs.messenger.world import STEP_LIMITS, Messenger
from tests.rl_envs.messenger.scenes import DOWN, LEFT, RIGHT, STAY, UP, cells, situation, step

ON = (5, 5)
LOST, NOTHING, PICKED_UP, WON = (-1, True, False), (0, False, False), (0.5, False, False), (1, True, True)
FIRST_STAGE = [((ON,), LOST, LOST), (((0, 0), ON), WON, LOST), (((0, 0), (0, 1), ON), LOST, WON)]


@pytest.mark.parametrize(("entities", "without", "with_message"), FIRST_STAGE, ids=["enemy", "message", "goal"])
def test_in_stage_1_the_first_touch_decides(entities, without, with_message):
    for holds, outcome in ((False, without), (True, with_message)):
        world = situation(entities, holds=[holds], stage=1)
        assert step(world, STAY) == outcome
        assert world.state["has_message"][0, 0] == holds and world.state["entity_here"].all()


def test_in_stage_1_nothing_moves():
    world = situation(((3, 5), (5, 3), (5, 7)), stage=1)
    before = cells(world, "entity")
    assert step(world, UP) == NOTHING and step(world, LEFT) == NOTHING
    assert cells(world, "entity") == before and cells(world, "avatar") == [(4, 4)]


def test_the_message_is_worth_half_and_makes_the_avatar_a_messenger():
    world = situation(((0, 0), ON), stage=2)
    assert step(world, STAY) == PICKED_UP
    assert world.state["has_message"].all() and world.state["entity_here"][0].tolist() == [True, False, True]


def test_the_goal_wins_with_the_message_and_loses_without():
    assert step(situation(((0, 0), (9, 9), ON)), STAY) == LOST
    world = situation(((0, 0), (9, 9), ON), holds=[True])
    assert step(world, STAY) == WON
    assert world.state["entity_here"][0].tolist() == [True, True, False] and world.state["avatar_alive"].all()


def test_message_and_goal_in_one_step_lose_for_whoever_came_without():
    world = situation(((0, 0), ON, ON))
    assert step(world, STAY) == LOST
    assert not world.state["has_message"].any() and not world.state["avatar_alive"].any()


def test_the_enemy_kills_before_anything_else_happens():
    world = situation((ON, ON, ON), holds=[True])
    assert step(world, STAY) == LOST
    assert world.state["entity_here"][0].tolist() == [True, False, True]


def test_decoys_kill_too_and_every_killer_counts():
    assert step(situation(((0, 0), (9, 9), (9, 8), ON, (9, 7)), stage=3), STAY) == LOST
    assert step(situation(((0, 0), (9, 9), (9, 8), (9, 7), ON), stage=3, holds=[True]), STAY) == LOST
    assert step(situation((ON, (9, 9), (9, 8), ON, ON), stage=3), STAY) == (-3, True, False)


@pytest.mark.parametrize("offset", [(0, 0.5), (0.5, 0), (-0.5, 0.5), (0.5, 0.5), (0, 1), (1, 1), (0.5, 1)])
def test_sprites_touch_if_they_overlap_whatever_cell_they_are_drawn_in(offset):
    world = situation(((0, 0), (5 + offset[0], 5 + offset[1])))
    assert step(world, STAY)[0] == (0.5 if max(map(abs, offset)) < 1 else 0)


def test_entities_move_half_a_cell_and_the_avatar_a_whole_one():
    world = situation(((2, 2), (7, 7), (3, 7)))
    step(world, LEFT, moves=[DOWN, UP, STAY])
    assert cells(world, "entity") == [(2.5, 2), (6.5, 7), (3, 7)] and cells(world, "avatar") == [(5, 4)]


def test_entities_and_avatars_that_would_leave_the_grid_stay():
    world = situation(((0, 4), (9, 9), (4, 0)), avatars=((0, 0),))
    step(world, UP, moves=[UP, RIGHT, LEFT])
    assert cells(world, "entity") == [(0, 4), (9, 9), (4, 0)] and cells(world, "avatar") == [(0, 0)]
    step(world, LEFT, moves=[STAY, DOWN, STAY])
    assert cells(world, "avatar") == [(0, 0)] and cells(world, "entity")[1] == (9, 9)


def test_entities_see_where_the_avatar_was_before_the_step():
    walks = set()
    for seed in range(20):
        world = situation(((2, 5), (9, 9), (9, 0)), movements=(CHASER, IMMOVABLE, IMMOVABLE))
        world.chance.key[:] = seed
        world.step(np.array([[RIGHT]]))
        walks.add(cells(world, "entity")[0])
    assert walks == {(2.5, 5)}


def test_a_removed_message_stays_where_it_was_and_touches_nobody():
    world = situation(((0, 0), ON, (9, 9)), movements=(IMMOVABLE, CHASER, IMMOVABLE))
    step(world, STAY)
    for _ in range(3):
        assert step(world, STAY, moves=[STAY, UP, STAY]) == NOTHING
    assert cells(world, "entity")[1] == ON and (world.observe()["symbols"][0, 0, -1] == 0).sum() == 1


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
