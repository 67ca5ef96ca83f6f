"""Rules for two agents: EnDi's paper (section 5.2, A.2), and each behaviour of the release that differs from it."""

import pytest

from rl_envs.messenger.symbols import CHASER, FLEEING, IMMOVABLE, UNKNOWN, WITH_MESSAGE
from rl_envs.messenger.team_rules import RELEASED, behaviours
from rl_envs.messenger.world import Messenger
from tests.rl_envs.messenger.scenes import DOWN, LEFT, RIGHT, STAY, UP, cells, situation, step

A, B, C = (5, 4), (5, 6), (5, 5)
AWAY = ((0, 0), (0, 9), (9, 0), (9, 9), (0, 5))
LOST, NOTHING, WON, HALF = (-1, True, False), (0, False, False), (1, True, True), (0.5, True, False)
BOTH = [True, True]


def scene(enemy=None, messages=(None, None), goals=(None, None), avatars=(A, B), holds=None, stage=1, **arguments):
    places = [place or away for place, away in zip((enemy, *messages, *goals), AWAY, strict=True)]
    return situation(places, avatars=avatars, holds=holds, stage=stage, **arguments)


def played(*actions, moves=None, **arguments):
    return step(scene(**arguments), *(actions or (STAY, STAY)), moves=moves)


@pytest.mark.parametrize("stage", [1, 2])
def test_agents_win_together_on_different_right_objects(stage):
    assert played(messages=(A, B), stage=stage) == WON
    assert played(messages=(B, A), stage=stage) == WON
    assert played(goals=(A, B), holds=BOTH, stage=stage) == WON


@pytest.mark.parametrize("stage", [1, 2])
def test_one_agent_alone_or_both_on_the_same_object_win_nothing(stage):
    assert played(messages=(A, None), stage=stage) == NOTHING
    assert played(messages=(C, None), avatars=(C, C), stage=stage) == NOTHING
    assert played(goals=(None, B), holds=BOTH, stage=stage) == NOTHING
    assert played(messages=(A, B), holds=BOTH, stage=stage) == NOTHING


@pytest.mark.parametrize("stage", [1, 2, 3])
def test_whoever_touches_the_enemy_or_a_goal_without_the_message_loses_for_all(stage):
    assert played(enemy=A, stage=stage) == LOST
    assert played(enemy=B, messages=(A, None), stage=stage) == LOST
    assert played(goals=(A, None), stage=stage) == LOST
    assert played(goals=(A, B), stage=stage) == LOST


def test_agents_that_begin_differently_each_want_their_own_kind():
    assert played(messages=(B, None), goals=(A, None), holds=[True, False]) == WON


def test_agents_overlap_and_swap_freely():
    world = scene(stage=2)
    assert step(world, RIGHT, LEFT) == NOTHING and cells(world, "avatar") == [(5, 5), (5, 5)]
    assert step(world, RIGHT, LEFT) == NOTHING and cells(world, "avatar") == [B, A]


@pytest.mark.parametrize("stage", [2, 3])
def test_an_entity_that_moves_into_an_agents_cell_touches_it_and_cannot_be_swapped_with(stage):
    assert played(enemy=(4, 4), moves=[DOWN, STAY, STAY, STAY, STAY], stage=stage) == LOST
    assert played(goals=((4, 4), None), moves=[STAY, STAY, STAY, DOWN, STAY], stage=stage) == LOST
    assert played(UP, STAY, enemy=(4, 4), moves=[DOWN, STAY, STAY, STAY, STAY], stage=stage) == LOST


def test_entities_do_not_move_any_more_when_the_game_is_over():
    world = scene(messages=(A, B), stage=2)
    assert step(world, STAY, STAY, moves=[DOWN] * 5) == WON
    assert cells(world, "entity") == [AWAY[0], A, B, AWAY[3], AWAY[4]]


def test_entities_move_by_whole_cells_and_block_each_other_in_turn():
    world = scene(enemy=(2, 2), messages=((2, 3), None), goals=((2, 4), None), stage=2)
    step(world, STAY, STAY, moves=[RIGHT, RIGHT, UP, RIGHT, STAY])
    assert cells(world, "entity") == [(2, 3), (2, 4), (8, 0), (2, 5), AWAY[4]]  # goals make way for messages first
    world = scene(enemy=(2, 2), messages=((2, 1), None), stage=2)
    step(world, STAY, STAY, moves=[RIGHT, RIGHT, STAY, STAY, STAY])
    assert cells(world, "entity")[:2] == [(2, 3), (2, 1)]  # the enemy makes way last
    world = scene(enemy=(0, 0), messages=((4, 4), None), stage=2)
    step(world, STAY, STAY, moves=[UP, DOWN, STAY, STAY, STAY])
    assert cells(world, "entity")[:2] == [(0, 0), (5, 4)]  # neither the grid's end nor an avatar's cell


def test_in_stage_3_each_agent_gets_a_message_once():
    world = scene(messages=(A, None), stage=3)
    assert step(world, STAY, STAY) == (0.2, False, False)
    assert world.state["has_message"][0].tolist() == [True, False] and world.state["entity_here"].all()
    assert step(world, STAY, STAY) == NOTHING
    assert played(messages=(C, None), avatars=(C, C), stage=3) == (0.4, False, False)


def test_in_stage_3_agents_win_by_reaching_different_goals_one_after_another_and_not_by_the_same():
    world = scene(goals=(A, (5, 7)), holds=BOTH, stage=3)
    assert step(world, STAY, STAY) == NOTHING
    assert world.state["reached"][0].tolist() == [[True, False], [False, False]]
    assert step(world, UP, RIGHT) == WON
    world = scene(goals=(C, None), avatars=(C, C), holds=BOTH, stage=3)
    assert step(world, STAY, STAY) == NOTHING and step(world, STAY, STAY) == NOTHING
    assert world.state["reached"][0].tolist() == [[True, False], [True, False]]


def test_in_stage_3_a_win_or_a_loss_takes_the_place_of_a_message_in_the_same_step():
    world = scene(messages=(B, None), goals=(A, None), stage=3, holds=[False, False])
    assert step(world, STAY, STAY) == LOST
    world = scene(messages=(A, None), enemy=(4, 6), stage=3)
    assert step(world, STAY, STAY, moves=[DOWN, STAY, STAY, STAY, STAY]) == LOST


def test_half_reward():
    released = ["half_reward"]
    assert played(messages=(A, None), released=released) == HALF
    assert played(messages=(C, None), avatars=(C, C), released=released) == HALF
    assert played(messages=(A, B), released=released) == WON
    assert played(messages=(A, None), enemy=B, released=released) == LOST
    assert played(messages=(A, None), holds=BOTH, released=released) == NOTHING
    assert played(goals=(A, None), released=["half_reward", "any_object_pays"]) == HALF


def test_only_pairs_count():
    released = ["only_pairs_count"]
    assert played(goals=(A, None), stage=2, released=released) == NOTHING
    assert played(goals=(A, B), stage=2, released=released) == LOST
    assert played(messages=(A, B), holds=BOTH, stage=2, released=released) == LOST
    assert played(messages=(A, B), holds=[True, False], stage=2, released=released) == WON
    assert played(goals=(A, B), holds=[True, False], stage=2, released=released) == WON
    assert played(enemy=A, stage=2, released=released) == LOST


def test_goal_bonus():
    world = scene(goals=(C, None), avatars=(C, C), holds=BOTH, stage=3, released=["goal_bonus"])
    assert step(world, STAY, STAY) == (0.4, False, False) and step(world, STAY, UP) == (0.2, False, False)
    assert played(goals=(A, B), holds=BOTH, stage=3, released=["goal_bonus"]) == WON


def test_late_symbol():
    for released, seen in (([], [True, True]), (["late_symbol"], [False, True])):
        world = scene(messages=(A, None), stage=3, released=released)
        shown = []
        for _ in range(2):
            step(world, STAY, STAY)
            shown.append(world.observe()["agent_symbols"][0, 0, -1, 0] == WITH_MESSAGE)
        assert shown == seen


def test_message_at_start():
    for stage, released, share in ((1, [], 0.2), (2, [], 0.2), (3, [], 0.0), (3, ["message_at_start"], 0.2)):
        world = Messenger(4000, num_agents=2, stage=stage, released=released)
        world.reset(0)
        holds = world.state["has_message"]
        assert (holds[:, 0] == holds[:, 1]).all() and abs(holds.mean() - share) < 0.025


@pytest.mark.parametrize("stage", [2, 3])
def test_random_walk(stage):
    for released, movements in (([], {CHASER, FLEEING, IMMOVABLE}), (["random_walk"], {UNKNOWN})):
        world = Messenger(200, num_agents=2, stage=stage, released=released)
        world.reset(0)
        drawn = world.state["entity_movements"]
        assert set(drawn.ravel().tolist()) == movements
        assert (drawn[:, 1] == drawn[:, 2]).all() and (drawn[:, 3] == drawn[:, 4]).all()


def test_a_behaviour_changes_only_the_stages_that_it_concerns():
    for name, (stages, _) in RELEASED.items():
        for stage in {1, 2, 3} - set(stages):
            assert behaviours([name], stage) == frozenset()
