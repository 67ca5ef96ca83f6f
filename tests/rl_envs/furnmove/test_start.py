"""How an episode of FurnMove begins (A Cordial Sync, appendix A.3): legal, unsolved, and in rooms drawn uniformly.

How places and headings are drawn is pinned by the digest of fixed starts (`test_fixed_starts.py`).
"""

import numpy as np
import pytest
from scipy.stats import chisquare

from rl_envs.furnmove.fixed_starts import Start, check_start
from rl_envs.furnmove.geometry import STEPS
from rl_envs.furnmove.splits import RoomStream
from rl_envs.furnmove.world import FurnMove
from tests.rl_envs.furnmove.scenes import ROOMS, SMALL


def starts(num_worlds, seed=1, **arguments):
    """State of many worlds after a reset."""
    world = FurnMove(num_worlds, **arguments)
    world.reset(seed)
    return world.state


@pytest.mark.parametrize("num_agents", [1, 2, 3, 4])
def test_every_start_is_legal_and_unsolved(num_agents):
    rooms = [*ROOMS, *(RoomStream(seed=3)[i] for i in range(3)), SMALL]
    state = starts(150, num_agents=num_agents, rooms=rooms)
    assert set(state["room"]) == set(range(len(rooms)))
    for i, number in enumerate(state["room"]):
        start = Start(*(state[name][i] for name in ("agent_cells", "agent_headings", "tv", "stand")))
        check_start(rooms[number], start, min_agent_distance_cells=2)
        assert rooms[number].agent_cells[tuple(start.tv[:2])], "the television lies over floor"
        towards = (STEPS[start.agent_headings] * (start.tv[:2] - start.agent_cells)).sum(1)
        assert (towards >= 0).all(), "agents face the television along rows or columns"
    assert not state["visited"].any()
    np.testing.assert_array_equal(state["best_distance"], state["start_distance"])


def test_the_separation_of_a_start_is_that_of_the_walk():
    state = starts(400, rooms=[SMALL], min_agent_distance_cells=1)
    distances = abs(state["agent_cells"][:, 0] - state["agent_cells"][:, 1]).max(1)
    assert distances.min() == 1


def test_rooms_are_drawn_uniformly():
    state = starts(600, rooms=[SMALL, *ROOMS[1:]])
    assert chisquare(np.bincount(state["room"], minlength=3)).pvalue > 1e-4
