"""What one joint step of FurnMove does, sentence by sentence (A Cordial Sync, section 3, A.1 and A.3)."""

import itertools

import numpy as np
import pytest

from tests.rl_envs.furnmove.scenes import (
    AHEAD,
    APART,
    CARRY_AHEAD,
    CARRY_RIGHT,
    CENTRE,
    EAST,
    FAILED,
    FINE,
    NORTH,
    PASS,
    PUSH_RIGHT,
    act,
    pose,
    situation,
    situations,
)
from tests.rl_envs.furnmove.slow_game import STEP, chebyshev, hold_cells

OLD_TV = (*CENTRE, 0)


def moved(cell, heading, steps=1):
    return cell[0] + steps * STEP[heading][0], cell[1] + steps * STEP[heading][1]


@pytest.mark.parametrize("rotation", range(4))
def test_an_agent_can_never_let_go_of_the_television(rotation):
    tv = (*CENTRE, rotation)
    held = hold_cells(tv)
    cases = [(cell, heading) for cell in held for heading in range(4)]
    world = situations([[cell] for cell, _ in cases], [[heading] for _, heading in cases], [tv] * len(cases))
    _, reward, *_ = world.step(np.full((len(cases), 1), AHEAD))
    for (cell, heading), earned, now in zip(cases, reward[:, 0], world.state["agent_cells"][:, 0], strict=True):
        target = moved(cell, heading)
        assert tuple(now) == (target if target in held else cell)
        assert earned == pytest.approx(FINE if target in held else FAILED)


@pytest.mark.parametrize("walker", [0, 1])
def test_nobody_walks_into_the_3x3_block_around_another_agent(walker):
    held = hold_cells(OLD_TV)
    cases = [
        (cell, heading, other)
        for cell, other in itertools.product(held, held)
        for heading in range(4)
        if chebyshev(cell, other) == 2 and moved(cell, heading) in held
    ]
    refused = [chebyshev(moved(cell, heading), other) < 2 for cell, heading, other in cases]
    assert sum(refused) > 100
    assert len(cases) - sum(refused) > 100

    def ordered(its, others):
        return [its, others] if walker == 0 else [others, its]

    world = situations(
        [ordered(cell, other) for cell, _, other in cases],
        [ordered(heading, NORTH) for _, heading, _ in cases],
        [OLD_TV] * len(cases),
    )
    _, reward, *_ = world.step(np.array([ordered(AHEAD, PASS)] * len(cases)))
    now = world.state["agent_cells"][:, walker].tolist()
    expected = [list(c if no else moved(c, h)) for (c, h, _), no in zip(cases, refused, strict=True)]
    assert now == expected
    np.testing.assert_allclose(reward[:, walker], np.where(refused, FAILED, FINE))
    np.testing.assert_allclose(reward[:, 1 - walker], FINE)


def test_the_separation_can_be_switched_off():
    world = situation([(14, 9), (14, 11)], EAST, min_agent_distance_cells=1)
    assert act(world, AHEAD, PASS) == [FINE, FINE]
    assert act(world, AHEAD, PASS) == [FAILED, FINE], "two agents never share a cell"


def test_the_television_flies_over_the_stand_and_agents_do_not():
    world = situation(APART[2], EAST, stand=(15, 12, 0))  # rows 14-16, columns 10-14
    assert act(world, AHEAD, PASS) == [FAILED, FINE]
    assert act(world, CARRY_AHEAD, CARRY_AHEAD) == [FAILED, FAILED]
    assert pose(world) == (OLD_TV, APART[2], [EAST, EAST])
    for _ in range(2):
        assert act(world, PUSH_RIGHT, PUSH_RIGHT) == [0.99, 0.99]
    assert pose(world) == ((14, 12, 0), APART[2], [EAST, EAST]), "its centre lies over the stand"


def test_the_bonus_can_be_set():
    world = situation(APART[2], NORTH, stand=(12, 20, 0), closer_reward=0.25)
    assert act(world, CARRY_RIGHT, CARRY_RIGHT) == [0.24, 0.24]
