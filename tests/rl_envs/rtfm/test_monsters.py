"""How monsters walk (RTFM, section 3; their sight is the authors' engine's), and that chance is as it is said to be."""

import numpy as np

from rl_envs.rtfm.grid import WALKS, make_grid
from rl_envs.rtfm.world import Rtfm
from tests.rl_envs.rtfm.scenes import RIGHT, STAY

DRAWS = np.arange(WALKS)
GRID = make_grid(8)


def walks(grid, monster, prey):
    """Share of the equally likely draws that leads to each cell."""
    return np.bincount(grid.walk(np.full(WALKS, monster), np.full(WALKS, prey), DRAWS), minlength=grid.size**2) / WALKS


def test_monsters_approach_with_probability_six_tenths_within_five_cells_and_else_move_anywhere_legal():
    """Against the rule written out move by move, for every pair of cells."""
    for monster in GRID.inside:
        row, column = divmod(int(monster), GRID.size)
        steps = [(row, column), (row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)]
        legal = [place for place in steps if 0 < place[0] < GRID.size - 1 and 0 < place[1] < GRID.size - 1]
        for prey in GRID.inside:
            goal = divmod(int(prey), GRID.size)
            apart = {place: np.hypot(place[0] - goal[0], place[1] - goal[1]) for place in steps}
            closer = [place for place in steps if apart[place] < apart[row, column]] or [(row, column)]
            chase = 0.6 if apart[row, column] <= 5 else 0.0
            wanted = np.zeros(GRID.size**2)
            for place in legal:
                wanted[place[0] * GRID.size + place[1]] += (1 - chase) / len(legal)
            for place in closer:
                wanted[place[0] * GRID.size + place[1]] += chase / len(closer)
            np.testing.assert_allclose(walks(GRID, monster, prey), wanted, atol=1e-12)


def test_monsters_chase_where_the_agent_was_before_the_step():
    world = Rtfm(6000, size=10, dyna=True)
    world.reset(0)
    world.state["agent_cells"][:], world.state["monster_cells"][:] = 4 * 10 + 4, [7 * 10 + 4, 1 * 10 + 8]
    world.state["item_cells"][:] = 0
    world.step(np.full((6000, 1), RIGHT))
    went_up = (world.state["monster_cells"][:, 0] == 6 * 10 + 4).mean()
    went_right = (world.state["monster_cells"][:, 0] == 7 * 10 + 5).mean()
    assert abs(went_up - (0.6 + 0.4 / 5)) < 4 * 0.5 / 6000**0.5
    assert abs(went_right - 0.4 / 5) < 4 * 0.3 / 6000**0.5


def test_monsters_move_in_random_order():
    """Two monsters that reach the agent together: the target falls only if it comes first."""
    world = Rtfm(12_000, size=6, dyna=True)
    world.reset(1)
    world.auto_resets = False
    world.state["agent_cells"][:], world.state["monster_cells"][:] = 2 * 6 + 2, [2 * 6 + 3, 3 * 6 + 2]
    world.state["item_cells"][:], world.state["held"][:] = 0, 1
    world.step(np.full((12_000, 1), STAY))
    both = (world.state["monster_cells"] == 2 * 6 + 2).all(1) | (
        ~world.state["agent_alive"][:, 0] & (world.state["monster_cells"][:, 1] == 2 * 6 + 2)
    )
    target_first = ~world.state["monster_alive"][both, 0]
    came = (world.state["monster_cells"][both, 0] == 2 * 6 + 2) | target_first
    assert came.sum() > 3000
    assert abs(target_first[came].mean() - 0.5) < 4 * 0.5 / came.sum() ** 0.5


def test_the_prey_is_the_nearest_agent_and_ties_are_broken_by_chance():
    for agents, shares in (
        ([(5, 2), (5, 7)], (0.6, 0.0)),
        ([(5, 3), (5, 7)], (0.3, 0.3)),
        ([(5, 2), (5, 8)], (0.3, 0.3)),
    ):
        world = Rtfm(8000, num_agents=2, size=10, dyna=True)
        world.reset(2)
        cells = [row * 10 + column for row, column in agents]
        world.state["agent_cells"][:], world.state["monster_cells"][:] = cells, [5 * 10 + 5, 88, 88]
        if shares[1] == 0:
            world.state["monster_cells"][:, 0] = 5 * 10 + 4
        world.state["item_cells"][:] = 0
        start = world.state["monster_cells"][0, 0]
        world.step(np.zeros((8000, 2), int))
        for side, share in zip((-1, 1), shares, strict=True):
            went = (world.state["monster_cells"][:, 0] == start + side).mean()
            assert abs(went - (share + 0.4 / 5)) < 4 * 0.5 / 8000**0.5
