"""What an agent of FurnMove sees (A Cordial Sync, section 6.1), beside what recorded views show."""

import numpy as np

from rl_envs.furnmove.geometry import TV_BODY
from rl_envs.furnmove.splits import room_by_name
from tests.rl_envs.furnmove.scenes import EAST, situations

TV = -2


def test_the_television_is_drawn_on_the_known_cells_of_the_real_room():
    """At the rim of FloorPlan229 parts of the television lie over unknown cells."""
    room = room_by_name("floorplan229")
    known = np.pad(room.agent_cells | room.tv_cells.any(0), 2)
    poses = [(row, column, turn) for turn, row, column in np.argwhere(room.tv_cells[:, 8:]).tolist() if column > 15]
    poses = np.add(poses, (8, 0, 0))
    world = situations([[(12, 12)]] * len(poses), [[EAST]] * len(poses), poses, (5, 2, 1), room)
    drawn = world.observe()["view"][:, 0, TV].sum((1, 2))
    covered = [known[tuple((TV_BODY[tv[2]] + tv[:2] + 2).T)].sum() for tv in poses]
    np.testing.assert_array_equal(drawn, covered)
    assert drawn.min() < drawn.max() == 13, "some televisions are clipped"
