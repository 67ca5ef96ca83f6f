"""FurnLift in a small open room, put into given states."""

import numpy as np

from rl_envs.furnlift.world import FurnLift
from rl_envs.furnmove.room import room_from_drawing

HALL = room_from_drawing("hall", ["............."] * 11)
TV = (5, 6, 0)
NORTH, EAST, SOUTH, WEST = range(4)


def world(agents=((5, 2, EAST), (5, 10, WEST)), tv=TV, num_worlds=1, rooms=(HALL,), **arguments):
    """Both agents see the television in the middle from its two ends, eight cells apart, unless told otherwise."""
    found = FurnLift(num_worlds, rooms=list(rooms), **arguments)
    agents = np.broadcast_to(np.array(agents), (num_worlds, 2, 3))
    state = {"agent_cells": agents[..., :2], "agent_headings": agents[..., 2]}
    same = {"room": np.zeros(num_worlds, int), "tv": np.broadcast_to(np.array(tv), (num_worlds, 3))}
    found.restore(state | same)
    return found
