"""Who sees the television: range, view, and what stands in between; and FurnLift in which an expert takes over."""

import numpy as np
import pytest

from rl_envs.furnlift.guided import GuidedFurnLift
from rl_envs.furnlift.sight import closed_cells, seeing_states, television_places
from rl_envs.furnlift.world import FurnLift
from rl_envs.furnmove.room import room_from_drawing
from tests.rl_envs.furnlift.scenes import EAST, HALL, NORTH, SOUTH, TV, WEST


def seeing(drawing=HALL.drawing, tv=TV):
    return seeing_states(room_from_drawing("seen", drawing), np.array(tv))


@pytest.mark.parametrize(
    ("state", "is_seen"),
    [
        ((9, 6, NORTH), True),  # 0.795 m from the front
        ((10, 6, NORTH), True),  # 1.045 m
        ((5, 0, EAST), True),  # 0.965 m from an end
        ((9, 6, SOUTH), False),
        ((9, 6, EAST), True),  # a corner of the pitched view reaches 70 degrees aside
        ((9, 9, EAST), False),
        ((5, 12, WEST), True),
        ((0, 0, SOUTH), False),  # 1.4 m
    ],
)
def test_it_is_seen_within_range_and_in_view_alone(state, is_seen):
    assert seeing()[state] == is_seen


def test_the_range_is_a_metre_and_a_quarter_to_the_nearest_side():
    rows = np.flatnonzero(seeing(["............."] * 21, (10, 6, 0))[:, 6, NORTH])
    assert rows.max() == 10 + int((1.25 + 0.205) / 0.25)


def test_turning_the_room_turns_what_sees_it():
    drawing = ["......o....", "...........", "...........", "...........", "......X....", "...........", "..........."]
    straight = seeing(drawing, (2, 4, 0))
    turned = ["".join(row) for row in np.rot90(np.array([list(row) for row in drawing]), -1)]
    other = seeing(turned, (4, 4, 1))
    for heading in range(4):
        np.testing.assert_array_equal(np.rot90(straight[..., heading], -1), other[..., (heading + 1) % 4])


@pytest.mark.parametrize(("between", "is_seen"), [(".", True), ("o", True), ("X", False), ("#", False)])
def test_only_what_is_higher_than_the_line_of_sight_hides_it(between, is_seen):
    drawing = [list("." * 13) for _ in range(13)]
    for row in (7, 8):
        drawing[row] = list(between * 13)
    assert seeing(["".join(row) for row in drawing], (5, 6, 0))[9, 6, NORTH] == is_seen


def test_cells_nearer_than_the_radius_of_an_agent_are_closed():
    closed = closed_cells((11, 13), np.array(TV))
    assert set(map(tuple, np.argwhere(closed))) == {(row, column) for row in (4, 5, 6) for column in range(4, 9)}


def test_the_television_lies_on_free_floor():
    places = television_places(room_from_drawing("small", [".....", "...o.", "....."]))
    assert [tuple(place) for place in places] == [(0, 2, 0), (0, 2, 2), (2, 2, 0), (2, 2, 2)]


ROOMS = {"rooms": "train", "room_size": "laptop", "max_episode_steps": 40}


def test_an_expert_that_always_acts_solves_every_episode_whatever_the_team_chooses():
    world, successes = GuidedFurnLift(8, 0, 1.0, 10**9, **ROOMS), []
    world.reset(0)
    for _ in range(60):
        *_, info = world.step(np.full((8, 2), 3))
        successes += info["episode"]["success"].tolist() if info["done_worlds"].size else []
    assert len(successes) >= 8 and all(successes)


def test_after_the_decline_the_team_plays_the_plain_game():
    guided, plain = GuidedFurnLift(4, 0, 1.0, 1e-9, **ROOMS), FurnLift(4, 0, shows_expert=True, **ROOMS)
    random = np.random.default_rng(0)
    for world in (guided, plain):
        world.reset(2)
        world.next_episode()
    for _ in range(30):
        actions = random.integers(5, size=(4, 2))
        ours, theirs = guided.step(actions), plain.step(actions)
        np.testing.assert_array_equal(ours[1], theirs[1])
        np.testing.assert_equal(ours[0], theirs[0])


def test_the_experts_share_falls_over_episodes_by_one_coin_for_both():
    world, shares = GuidedFurnLift(400, 0, 0.9, 10, **ROOMS), []
    for episode in (0, 5, 9):
        world.chance.episode[:] = episode
        world.chance.step[:] = 1
        coins = world.expert_acts()
        assert coins.shape == (400,)
        shares.append(coins.mean())
    np.testing.assert_allclose(shares, [0.9, 0.45, 0.09], atol=0.07)
