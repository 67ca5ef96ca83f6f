"""What an agent of FurnMove sees, against a builder of plain loops (A Cordial Sync, section 6.1)."""

import numpy as np
import pytest

from rl_envs.furnmove.splits import RoomStream, room_by_name
from rl_envs.furnmove.world import FurnMove
from tests.rl_envs.furnmove.scenes import (
    APART,
    EAST,
    NORTH,
    ROOMS,
    WEST,
    likely_coordinated,
    situation,
    situations,
)
from tests.rl_envs.furnmove.slow_game import SlowGame

TV = -2
STATE = ("agent_cells", "agent_headings", "tv", "stand")


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


def test_the_class_of_headings_that_agents_see_is_the_same_for_all():
    world = situation(APART[3], [EAST, WEST, NORTH])
    assert len(set(world.observe()["coordination"][0].tolist())) == 1
