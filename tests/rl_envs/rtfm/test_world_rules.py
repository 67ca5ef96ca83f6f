"""What one step of RTFM does, sentence by sentence (RTFM, section 3; the authors' engine where it is silent)."""

from tests.rl_envs.rtfm.scenes import (
    DISTRACTOR_ITEM,
    DOWN,
    FAR,
    LEFT,
    RIGHT,
    RIGHT_ITEM,
    STAY,
    places,
    situation,
    step,
)

HERE, RIGHT_OF_HERE = (3, 3), (3, 4)
WIN, LOSS = (1.0, True, True), (-1.0, True, False)


def result(world, action, **chance):
    (reward,), ended, won = step(world, action, **chance)
    return reward, ended, won


def test_a_win_is_undone_when_the_distractor_arrives_later_in_the_step():
    world = situation([HERE], ((3, 4), (2, 4)), held=[RIGHT_ITEM], dyna=True)
    assert result(world, RIGHT, monsters=[STAY, DOWN], order=[0, 1]) == LOSS
    assert world.state["monster_alive"][0].tolist() == [False, True]


def test_the_order_of_the_monsters_decides_who_dies_but_not_who_wins():
    for order, alive in (([0, 1], [False, True]), ([1, 0], [True, True])):
        world = situation([HERE], ((3, 4), (3, 2)), held=[RIGHT_ITEM], dyna=True)
        assert result(world, STAY, monsters=[LEFT, RIGHT], order=order) == LOSS
        assert world.state["monster_alive"][0].tolist() == alive


def test_pick_up_precedes_the_fight():
    world = situation([HERE], (RIGHT_OF_HERE, FAR), items=(RIGHT_OF_HERE, (6, 6)))
    assert result(world, RIGHT) == WIN


def test_with_drop_on_the_floor_items_change_places_when_one_is_entered():
    world = situation([HERE], items=(RIGHT_OF_HERE, (3, 5)), drop="floor")
    result(world, RIGHT), result(world, RIGHT)
    assert world.state["held"][0, 0] == DISTRACTOR_ITEM and places(world, "item_cells") == [(3, 5), None]
    result(world, STAY)
    assert world.state["held"][0, 0] == DISTRACTOR_ITEM
    result(world, LEFT), result(world, RIGHT)
    assert world.state["held"][0, 0] == RIGHT_ITEM and places(world, "item_cells") == [None, (3, 5)]


def test_a_win_in_the_last_step_is_a_win():
    world = situation([HERE], (RIGHT_OF_HERE, FAR), held=[RIGHT_ITEM], max_episode_steps=1)
    assert result(world, RIGHT) == WIN
