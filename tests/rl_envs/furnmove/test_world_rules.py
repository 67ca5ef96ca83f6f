"""What one joint step of FurnMove does, sentence by sentence (A Cordial Sync, section 3, A.1 and A.3)."""

import itertools

import numpy as np
import pytest

from tests.rl_envs.furnmove.scenes import (
    AHEAD,
    APART,
    CARRY_AHEAD,
    CARRY_LEFT,
    CARRY_RIGHT,
    CENTRE,
    EAST,
    FAILED,
    FINE,
    NORTH,
    OPEN_ROOM,
    PASS,
    PUSH_AHEAD,
    PUSH_BACK,
    PUSH_LEFT,
    PUSH_RIGHT,
    SOUTH,
    TURN_LEFT,
    TURN_OBJECT,
    TURN_RIGHT,
    WEST,
    act,
    pose,
    room_without,
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


def test_nobody_walks_into_furniture():
    world = situation(APART[2], EAST, room=room_without((14, 10)))
    assert act(world, AHEAD, PASS) == [FAILED, FINE]
    assert pose(world)[1] == APART[2]


@pytest.mark.parametrize(("action", "heading"), [(TURN_LEFT, WEST), (TURN_RIGHT, EAST), (PASS, NORTH)])
def test_rotations_and_pass_always_succeed_beside_a_pass(action, heading):
    world = situation(APART[2], NORTH)
    assert act(world, action, PASS) == [FINE, FINE]
    assert pose(world) == (OLD_TV, APART[2], [heading, NORTH])


@pytest.mark.parametrize("actions", [(TURN_LEFT, TURN_LEFT), (TURN_LEFT, AHEAD), (AHEAD, AHEAD), (TURN_OBJECT, AHEAD)])
def test_without_a_pass_uncoordinated_actions_all_fail(actions):
    world = situation(APART[2], NORTH)
    before = pose(world)
    assert act(world, *actions) == [FAILED, FAILED]
    assert pose(world) == before


@pytest.mark.parametrize("action", [CARRY_AHEAD, TURN_OBJECT, PUSH_LEFT])
def test_a_joint_action_beside_a_pass_costs_only_who_tried_it(action):
    world = situation(APART[2], NORTH)
    before = pose(world)
    assert act(world, PASS, action) == [FINE, FAILED]
    assert act(world, action, PASS) == [FAILED, FINE]
    assert pose(world) == before


def test_of_three_agents_one_still_walks_though_pass_walk_and_push_are_uncoordinated():
    world = situation(APART[3], [NORTH, EAST, NORTH])
    tv, agents, _ = pose(world)
    assert act(world, PASS, AHEAD, PUSH_AHEAD) == [FINE, FINE, FAILED]
    assert pose(world)[:2] == (tv, [agents[0], moved(agents[1], EAST), agents[2]])


def test_later_agents_see_where_earlier_agents_went():
    row = [(14, 9), (14, 11), (10, 12)]
    leaving_first = situation([row[1], row[0], row[2]], EAST)
    assert act(leaving_first, AHEAD, AHEAD, PASS) == [FINE, FINE, FINE]
    leaving_last = situation(row, EAST)
    assert act(leaving_last, AHEAD, AHEAD, PASS) == [FAILED, FINE, FINE]
    towards_each_other = situation([(14, 9), (14, 12), row[2]], [EAST, WEST, NORTH])
    assert act(towards_each_other, AHEAD, AHEAD, PASS) == [FINE, FAILED, FINE]


def test_a_single_agent_waits_for_nobody():
    world = situation(APART[1], EAST)
    assert act(world, AHEAD) == [FINE]
    assert act(world, TURN_LEFT) == [FINE]
    assert pose(world)[1:] == ([(14, 10)], [NORTH])


@pytest.mark.parametrize("num_agents", [1, 2, 3, 4])
@pytest.mark.parametrize("heading", range(4))
@pytest.mark.parametrize("push", range(4))
def test_the_direction_of_a_push_is_counted_clockwise_from_the_heading(num_agents, heading, push):
    way = (heading + push) % 4
    world = situation(APART[num_agents], heading)
    act(world, *[CARRY_AHEAD + push] * num_agents)
    assert pose(world)[0] == (*moved(CENTRE, way), 0)
    assert pose(world)[1] == [moved(cell, way) for cell in APART[num_agents]]
    world = situation(APART[num_agents], heading)
    act(world, *[PUSH_AHEAD + push] * num_agents)
    assert pose(world)[:2] == ((*moved(CENTRE, way), 0), APART[num_agents]), "the agents stay"


def test_agents_that_look_elsewhere_push_the_same_way_in_their_own_words():
    world = situation(APART[3], [NORTH, EAST, SOUTH])
    act(world, PUSH_AHEAD, PUSH_LEFT, PUSH_BACK)
    assert pose(world)[0] == (*moved(CENTRE, NORTH), 0)
    assert act(world, PUSH_AHEAD, PUSH_AHEAD, PUSH_AHEAD) == [FAILED] * 3
    assert act(world, PUSH_AHEAD, CARRY_LEFT, PUSH_BACK) == [FAILED] * 3


def test_the_television_turns_clockwise_by_a_quarter():
    world = situation(APART[2], NORTH)
    for rotation in (1, 2, 3, 0):
        assert act(world, TURN_OBJECT, TURN_OBJECT) == [FINE, FINE]
        assert pose(world) == ((*CENTRE, rotation), APART[2], [NORTH, NORTH])


def test_the_cells_from_which_it_is_held_turn_clockwise_with_it():
    """Turned right once, the television's narrow side looks east: only there can one stand 2 away from its centre."""
    for rotation, column in ((1, 1), (3, -1)):
        reach, body = (CENTRE[0] + 3, CENTRE[1] + column), (CENTRE[0] + 3, CENTRE[1] - column)
        assert act(situation([reach], NORTH, tv=(*CENTRE, rotation)), AHEAD) == [FINE]
        assert act(situation([body], NORTH, tv=(*CENTRE, rotation)), AHEAD) == [FAILED]


def test_agents_may_pass_through_each_other_when_all_move_rigidly():
    side_by_side = [(14, 10), (14, 11)]
    world = situation(side_by_side, EAST)
    assert act(world, CARRY_AHEAD, CARRY_AHEAD) == [FINE, FINE]
    assert pose(world)[1] == [(14, 11), (14, 12)]


def test_carrying_is_all_or_nothing_when_one_agent_is_blocked():
    world = situation(APART[2], NORTH, room=room_without(moved(APART[2][1], EAST)))
    before = pose(world)
    assert act(world, CARRY_RIGHT, CARRY_RIGHT) == [FAILED, FAILED]
    assert pose(world) == before
    assert act(world, PUSH_RIGHT, PUSH_RIGHT) == [FINE, FINE], "only agents are blocked there"


def test_pushing_is_all_or_nothing_when_one_agent_would_let_go():
    agents = [(15, 12), (10, 12)]
    world = situation(agents, NORTH)
    before = pose(world)
    assert moved(agents[0], SOUTH) not in hold_cells(OLD_TV)
    assert act(world, PUSH_AHEAD, PUSH_AHEAD) == [FAILED, FAILED]
    assert pose(world) == before


def test_turning_is_all_or_nothing_when_one_agent_could_not_hold_on():
    agents = [(12, 7), (14, 15)]
    assert agents[0] not in hold_cells((*CENTRE, 1))
    world = situation(agents, NORTH)
    before = pose(world)
    assert act(world, TURN_OBJECT, TURN_OBJECT) == [FAILED, FAILED]
    assert pose(world) == before


@pytest.mark.parametrize("action", [CARRY_RIGHT, PUSH_RIGHT])
def test_the_television_moves_only_where_the_room_allows_its_present_rotation(action):
    target = moved(CENTRE, EAST)
    for rotation, allowed in itertools.product(range(4), range(4)):
        tv_cells = OPEN_ROOM.tv_cells.copy()
        tv_cells[:, target[0], target[1]] = np.arange(4) == allowed
        holders = sorted(hold_cells((*CENTRE, rotation)) & hold_cells((*target, rotation)))
        room = room_without(tv_cells=tv_cells)
        world = situation([holders[0], holders[-1]], NORTH, tv=(*CENTRE, rotation), room=room)
        assert act(world, action, action) == [FINE if rotation == allowed else FAILED] * 2


def test_the_television_turns_only_into_a_rotation_that_the_room_allows_there():
    tv_cells = OPEN_ROOM.tv_cells.copy()
    tv_cells[(slice(None), *CENTRE)] = [True, True, False, True]
    world = situation(APART[2], NORTH, room=room_without(tv_cells=tv_cells))
    assert act(world, TURN_OBJECT, TURN_OBJECT) == [FINE, FINE]
    assert act(world, TURN_OBJECT, TURN_OBJECT) == [FAILED, FAILED]
    assert pose(world)[0] == (*CENTRE, 1)


def test_the_television_flies_over_the_stand_and_agents_do_not():
    world = situation(APART[2], EAST, stand=(15, 12, 0))  # rows 14-16, columns 10-14
    assert act(world, AHEAD, PASS) == [FAILED, FINE]
    assert act(world, CARRY_AHEAD, CARRY_AHEAD) == [FAILED, FAILED]
    assert pose(world) == (OLD_TV, APART[2], [EAST, EAST])
    for _ in range(2):
        assert act(world, PUSH_RIGHT, PUSH_RIGHT) == [0.99, 0.99]
    assert pose(world) == ((14, 12, 0), APART[2], [EAST, EAST]), "its centre lies over the stand"


@pytest.mark.parametrize(("num_agents", "bonus"), [(1, 1.0), (2, 1.0), (3, 2.0), (4, 2.0)])
def test_a_new_shortest_distance_pays_every_agent_one_and_from_three_agents_on_two(num_agents, bonus):
    world = situation(APART[num_agents], NORTH, stand=(12, 20, 0))
    assert act(world, *[CARRY_RIGHT] * num_agents) == [round(FINE + bonus, 9)] * num_agents


def test_the_bonus_can_be_set():
    world = situation(APART[2], NORTH, stand=(12, 20, 0), closer_reward=0.25)
    assert act(world, CARRY_RIGHT, CARRY_RIGHT) == [0.24, 0.24]


def test_only_what_is_closer_than_ever_before_pays():
    world = situation(APART[2], NORTH, stand=(12, 20, 0))
    there, back = (CARRY_RIGHT,) * 2, (CARRY_LEFT,) * 2
    earned = [act(world, *actions)[0] for actions in (there, back, there, there, back, back, there, there, there)]
    assert earned == [0.99, FINE, FINE, 0.99, FINE, FINE, FINE, FINE, 0.99]


def test_the_distance_is_manhattan():
    """From (1, 4) away over (2, 4) and (2, 3) the Euclidean distance sinks and the Manhattan one does not."""
    world = situation([(10, 9), (10, 15)], NORTH, stand=(13, 16, 0))
    assert act(world, PUSH_AHEAD, PUSH_AHEAD) == [FINE, FINE]
    assert act(world, PUSH_RIGHT, PUSH_RIGHT) == [FINE, FINE]
    assert act(world, PUSH_BACK, PUSH_BACK) == [0.99, 0.99]


def test_walking_agents_earn_no_bonus():
    world = situation(APART[2], EAST, stand=(14, 20, 0))
    assert act(world, AHEAD, PASS) == [FINE, FINE]


def test_the_smallest_return_of_250_steps_is_minus_seven_and_a_half():
    world = situation(APART[2], NORTH)
    for _ in range(250):
        *_, info = world.step(np.array([[AHEAD, AHEAD]]))
    np.testing.assert_allclose(info["episode"]["return"], [[-7.5, -7.5]])
