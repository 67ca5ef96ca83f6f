"""Rules for several agents (EnDi, appendix A.1, and docs/decisions.md where it is silent)."""

import numpy as np
import pytest

from rl_envs.rtfm.world import Rtfm
from tests.rl_envs.rtfm.scenes import DOWN, FAR, LEFT, RIGHT, STAY, UP, places, situation, step

FIRST, SECOND, DISTRACTORS = 1, 2, 3
"""Values of `held` for two agents."""
A, B = (3, 3), (6, 3)
MONSTERS = ((3, 4), (6, 4), FAR)


def pair(held, monsters=MONSTERS, items=(None, None, None), agents=(A, B), **arguments):
    return situation(agents, monsters, items, held=held, **arguments)


def test_agents_win_when_all_targets_are_dead_and_only_the_killer_is_rewarded():
    world = pair([FIRST, SECOND])
    assert step(world, RIGHT, STAY) == ([1.0, -0.02], False, False)
    assert world.state["held"][0].tolist() == [FIRST, SECOND]  # an item is kept after a kill
    assert step(world, STAY, RIGHT) == ([-0.02, 1.0], True, True)


def test_one_agent_alone_can_win():
    world = pair([FIRST, 0], items=(None, (3, 5), None), monsters=((3, 4), (3, 6), FAR))
    assert step(world, RIGHT, STAY) == ([1.0, -0.02], False, False)
    assert step(world, RIGHT, STAY) == ([-0.02, -0.02], False, False)
    assert step(world, RIGHT, STAY) == ([1.0, -0.02], True, True)


@pytest.mark.parametrize("held", [0, SECOND, DISTRACTORS])
def test_whoever_meets_a_target_without_its_item_dies_and_all_lose(held):
    world = pair([held, 0])
    assert step(world, RIGHT, STAY) == ([-1.0, -0.02], True, False)
    assert world.state["agent_alive"][0].tolist() == [False, True]


@pytest.mark.parametrize("held", [0, FIRST, DISTRACTORS])
def test_engaging_the_distractor_loses_even_with_its_item(held):
    world = pair([held, 0], monsters=(FAR, FAR, (3, 4)))
    assert step(world, RIGHT, STAY) == ([-1.0, -0.02], True, False)
    assert world.state["agent_alive"][0, 0] == (held == DISTRACTORS)


def test_the_last_kill_does_not_win_when_somebody_engages_the_distractor():
    world = pair([FIRST, DISTRACTORS], monsters=((3, 4), FAR, (6, 4)))
    world.state["monster_alive"][0, 1] = False
    assert step(world, RIGHT, RIGHT) == ([1.0, -1.0], True, False)


def test_a_team_can_share_its_losses():
    assert step(pair([0, 0], team_loss=-1.0), RIGHT, STAY) == ([-1.0, -1.0], True, False)
    assert step(pair([FIRST, 0], team_loss=-0.5), RIGHT, RIGHT) == ([1.0, -1.0], True, False)


def test_at_the_limit_everybody_loses():
    assert step(pair([0, 0], max_episode_steps=1), STAY, STAY) == ([-1.0, -1.0], True, False)
    assert step(pair([FIRST, 0], max_episode_steps=1), RIGHT, STAY) == ([-1.0, -1.0], True, False)


def test_agents_share_cells_and_do_not_fight():
    world = pair([0, 0], agents=((3, 3), (3, 5)), monsters=(FAR, FAR, FAR))
    assert step(world, RIGHT, LEFT) == ([-0.02, -0.02], False, False)
    assert places(world, "agent_cells") == [(3, 4), (3, 4)]


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_the_first_agent_in_a_cell_gets_the_item(order):
    world = pair([0, 0], agents=((3, 3), (3, 5)), monsters=(FAR, FAR, FAR), items=((3, 4), None, None))
    step(world, RIGHT, LEFT, agent_order=order)
    assert world.state["held"][0].tolist() == ([FIRST, 0] if order == [0, 1] else [0, FIRST])


def test_agents_come_first_equally_often():
    world = Rtfm(4000, num_agents=2, size=8)
    world.reset(5)
    size = 8
    world.state["agent_cells"][:] = [3 * size + 3, 3 * size + 5]
    world.state["monster_cells"][:] = 6 * size + 6
    world.state["item_cells"][:] = [3 * size + 4, 0, 0]
    world.step(np.tile([RIGHT, LEFT], (4000, 1)))
    assert abs((world.state["held"][:, 0] == FIRST).mean() - 0.5) < 4 * 0.5 / 4000**0.5


@pytest.mark.parametrize(
    ("held", "alive"), [([FIRST, 0], [True, True]), ([0, 0], [False, False]), ([SECOND, 0], [False, False])]
)
def test_an_agent_with_the_item_saves_all_in_its_cell(held, alive):
    world = pair(held, agents=(A, A), dyna=True)
    (first, second), ended, _ = step(world, STAY, STAY, monsters=[LEFT, STAY, STAY], order=[0, 1, 2])
    assert world.state["agent_alive"][0].tolist() == alive
    assert (first, second, ended) == ((1.0, -0.02, False) if alive[0] else (-1.0, -1.0, True))


def test_an_agent_that_enters_a_monsters_cell_is_not_saved_by_a_later_agent():
    world = pair([0, FIRST], agents=((3, 3), (2, 4)))
    assert step(world, RIGHT, DOWN, agent_order=[0, 1]) == ([-1.0, 1.0], True, False)
    world = pair([0, FIRST], agents=((3, 3), (2, 4)))
    assert step(world, RIGHT, DOWN, agent_order=[1, 0]) == ([-0.02, 1.0], False, False)


def test_three_agents_face_three_targets_and_win_together():
    monsters = ((3, 4), (5, 4), (7, 4), FAR)
    world = situation([(3, 3), (5, 3), (7, 3)], monsters, (None,) * 4, held=[1, 2, 3])
    assert step(world, RIGHT, RIGHT, UP) == ([1.0, 1.0, -0.02], False, False)
    assert step(world, STAY, STAY, DOWN) == ([-0.02] * 3, False, False)
    assert step(world, STAY, STAY, RIGHT) == ([-0.02, -0.02, 1.0], True, True)


def test_without_distractors_only_the_targets_and_their_items_are_there():
    world = Rtfm(8, num_agents=2, size=8, distractor_monster=False, distractor_item=False)
    world.reset(0)
    assert world.state["monster_cells"].shape == world.state["item_cells"].shape == (8, 2)
    world = situation([A, B], MONSTERS[:2], (None, None), held=[FIRST, SECOND])
    assert step(world, RIGHT, RIGHT) == ([1.0, 1.0], True, True)
