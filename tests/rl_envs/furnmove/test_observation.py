"""What an agent of FurnMove sees, against a builder of plain loops (A Cordial Sync, section 6.1)."""

import numpy as np
import pytest

from rl_envs.furnmove.splits import RoomStream, room_by_name
from rl_envs.furnmove.world import FurnMove
from tests.rl_envs.furnmove.scenes import (
    APART,
    CARRY_AHEAD,
    CENTRE,
    EAST,
    NORTH,
    PASS,
    PUSH_AHEAD,
    ROOMS,
    SOUTH,
    TURN_OBJECT,
    TURN_RIGHT,
    WEST,
    likely_coordinated,
    situation,
    situations,
)
from tests.rl_envs.furnmove.slow_game import SlowGame

TV_ALLOWED, FLOOR, VISITED, FIRST_OTHER = range(4)
TV, STAND = -2, -1
STATE = ("agent_cells", "agent_headings", "tv", "stand")


def view(world, agent=0):
    """[C, 15, 15], what an agent of a single world sees."""
    return world.observe()["view"][0, agent]


def ones(channel):
    """Marked (row, column) cells of one channel."""
    return set(map(tuple, np.argwhere(channel).tolist()))


@pytest.mark.parametrize("num_agents", [1, 2, 3, 4])
def test_every_agents_view_is_the_slow_builders_during_random_play(num_agents):
    rooms = [*ROOMS, RoomStream(seed=5, split="valid")[0]]
    random = np.random.default_rng(num_agents)
    world = FurnMove(12, num_agents=num_agents, rooms=rooms, max_episode_steps=1000)
    world.reset(seed=40 + num_agents)
    assert len(set(world.state["room"])) == len(rooms), "every room is met"
    for time in range(24):
        obs, *_ = world.step(likely_coordinated(world, random))
        if time % 6 == 5:
            for i in range(world.num_worlds):
                np.testing.assert_array_equal(obs["view"][i], slow_views(world, i))
    assert world.state["visited"].any()


def slow_views(world, index):
    state = world.state
    game = SlowGame(world.rooms[state["room"][index]], *(state[name][index] for name in STATE))
    game.visited = set(map(tuple, np.argwhere(state["visited"][index]).tolist()))
    return [game.view(agent) for agent in range(world.num_agents)]


def test_every_pose_of_the_television_in_the_real_room_is_drawn_as_the_slow_builder_draws_it():
    """At the rim of FloorPlan229 parts of the television lie over unknown cells."""
    room = room_by_name("floorplan229")
    poses = np.argwhere(room.tv_cells)
    rim = [(row, column, rotation) for rotation, row, column in poses.tolist() if not 3 <= column <= 19]
    agents, stand = (12, 12), (5, 2, 1)
    world = situations([[agents]] * len(rim), [[heading % 4] for heading in range(len(rim))], rim, stand, room)
    views = world.observe()["view"]
    drawn = np.zeros(len(rim), int)
    for i, tv in enumerate(rim):
        game = SlowGame(room, [agents], [i % 4], tv, stand)
        np.testing.assert_array_equal(views[i], [game.view(0)])
        drawn[i] = views[i, 0, TV].sum()
    assert drawn.min() < drawn.max() == 13, "some televisions are clipped"


@pytest.mark.parametrize(("num_agents", "channels"), [(1, 5), (2, 9), (3, 13), (4, 17)])
def test_five_channels_and_four_for_every_other_agent(num_agents, channels):
    world = situation(APART[num_agents], NORTH)
    obs = world.observe()["view"]
    assert obs.shape == (1, num_agents, channels, 15, 15)
    assert obs.dtype == np.uint8
    assert set(np.unique(obs)) == {0, 1}


@pytest.mark.parametrize(("heading", "tv_centre"), [(NORTH, (12, 10)), (EAST, (11, 5)), (SOUTH, None), (WEST, None)])
def test_the_agent_stands_in_the_middle_of_the_bottom_row_and_looks_up(heading, tv_centre):
    """From (14, 9) the television at (12, 12) lies 2 ahead and 3 to the right, or 3 ahead and 2 to the left."""
    world = situation(APART[1], heading)
    world.step(np.array([[TURN_OBJECT]]))  # marks the centre as visited
    assert ones(view(world)[VISITED]) == ({tv_centre} if tv_centre else set())


def test_an_agent_sees_14_cells_ahead_and_7_to_each_side_and_nothing_beyond_the_room():
    far = {"stand": (21, 21, 0)}
    np.testing.assert_array_equal(view(situation([(14, 9)], NORTH, **far))[FLOOR], 1)
    west, south = situation([(14, 4)], NORTH, **far), situation([(14, 9)], SOUTH, **far)
    np.testing.assert_array_equal(view(west)[FLOOR], np.tile(np.arange(15) >= 3, (15, 1)))
    np.testing.assert_array_equal(view(south)[FLOOR], np.tile(np.arange(15)[:, None] >= 4, 15))


def test_agents_see_the_floor_without_the_stand_and_the_television_over_it():
    world = situation([(14, 9)], NORTH, tv=(8, 9, 0), stand=(8, 9, 0))
    seen = view(world)
    assert ones(seen[STAND]) == {(row, column) for row in (7, 8, 9) for column in range(5, 10)}
    assert not (seen[FLOOR] & seen[STAND]).any()
    assert (seen[TV] & seen[STAND]).sum() == 13
    assert seen[TV_ALLOWED][8, 7] == 1


@pytest.mark.parametrize("rotation", range(4))
def test_the_stand_always_shows_15_cells_and_the_television_in_the_open_13(rotation):
    world = situation([(14, 9)], NORTH, tv=(8, 9, rotation), stand=(4, 9, rotation))
    assert view(world)[STAND].sum() == 15
    assert view(world)[TV].sum() == 13
    columns = np.flatnonzero(view(world)[STAND].any(0))
    assert len(columns) == (5 if rotation % 2 == 0 else 3)


def test_the_televisions_front_of_three_cells_turns_clockwise():
    for rotation, front in enumerate((NORTH, EAST, SOUTH, WEST)):
        seen = view(situation([(14, 9)], NORTH, tv=(8, 9, rotation)))[TV][5:12, 5:10]  # centred on the television
        edges = {NORTH: seen[2], EAST: seen[:, 3], SOUTH: seen[4], WEST: seen[:, 1]}
        assert edges[front].sum() == 3, "the front"
        assert edges[(front + 2) % 4].sum() == 5, "the back"


def test_others_come_in_cyclic_order_one_channel_for_each_relative_heading():
    world = situation(APART[4], [NORTH, NORTH, EAST, WEST])
    assert others(view(world, agent=1)) == {(2, 1): {(10, 1)}, (3, 3): {(10, 7)}, (0, 0): {(14, 1)}}
    world = situation(APART[4], [NORTH, EAST, SOUTH, WEST])
    assert others(view(world, agent=1)) == {(3, 2): {(14, 3)}}, "all but agent 3, to its left, are behind it"


def others(seen):
    """(agent, its relative heading) -> where agent 1 of four sees it."""
    order = (2, 3, 0)
    return {
        (order[channel // 4], channel % 4): ones(seen[FIRST_OTHER + channel])
        for channel in range(12)
        if seen[FIRST_OTHER + channel].any()
    }


def test_headings_of_others_are_relative_to_ones_own():
    for own in range(4):
        for relative in range(4):
            world = situation([(12, 9), (12, 9)], [own, (own + relative) % 4])
            seen = view(world)
            assert [int(seen[FIRST_OTHER + turn].sum()) for turn in range(4)] == [
                int(turn == relative) for turn in range(4)
            ]


def test_cells_are_visited_after_joint_attempts_only_whether_they_succeed_or_not():
    world = situation(APART[2], NORTH)

    def visited():
        return set(map(tuple, np.argwhere(world.state["visited"][0]).tolist()))

    assert visited() == set(), "not even where it starts"
    for actions in ([TURN_RIGHT, PASS], [PUSH_AHEAD, PASS], [CARRY_AHEAD, PUSH_AHEAD], [PASS, PASS]):
        world.step(np.array([actions]))
        assert visited() == set()
    world = situation([(15, 12), (10, 12)], NORTH)
    world.step(np.array([[PUSH_AHEAD, PUSH_AHEAD]]))
    assert world.state["tv"][0].tolist() == [*CENTRE, 0], "it failed"
    assert visited() == {CENTRE}
    world.step(np.array([[CARRY_AHEAD, CARRY_AHEAD]]))
    assert visited() == {CENTRE, (11, 12)}


def test_the_class_of_headings_that_agents_see_is_the_same_for_all():
    world = situation(APART[3], [EAST, WEST, NORTH])
    assert len(set(world.observe()["coordination"][0].tolist())) == 1
