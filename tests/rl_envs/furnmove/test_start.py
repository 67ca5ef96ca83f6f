"""How an episode of FurnMove begins (A Cordial Sync, appendix A.3): legal, unsolved, and uniform where it should be."""

import functools
import itertools
from collections import Counter

import numpy as np
import pytest
from scipy.stats import chi2

from rl_envs.furnmove.room import room_from_drawing
from rl_envs.furnmove.room_checks import RoomError
from rl_envs.furnmove.splits import RoomStream
from rl_envs.furnmove.world import FurnMove
from tests.rl_envs.furnmove.scenes import ROOMS
from tests.rl_envs.furnmove.slow_game import STAND_OFFSETS, STEP, around, chebyshev, hold_cells

SMALL = room_from_drawing("small", [".......", ".....o.", ".......", ".......", ".......", "......."])
FLOOR = {(row, column) for row in range(6) for column in range(7) if SMALL.agent_cells[row, column]}
MIN_P = 1e-4
"""Seeds are fixed, so a test that passes once passes for ever; a wrong distribution gives p below 1e-20."""


def starts(num_worlds, seed=1, **arguments):
    """(world, its state after a reset) of many worlds."""
    world = FurnMove(num_worlds, **arguments)
    world.reset(seed)
    return world, world.state


@pytest.mark.parametrize("num_agents", [1, 2, 3, 4])
def test_every_start_is_legal_and_unsolved(num_agents):
    rooms = [*ROOMS, *(RoomStream(seed=3)[i] for i in range(3)), SMALL]
    world, state = starts(300, num_agents=num_agents, rooms=rooms)
    assert set(state["room"]) == set(range(len(rooms)))
    for i in range(world.num_worlds):
        room = rooms[state["room"][i]]
        agents = [tuple(cell) for cell in state["agent_cells"][i].tolist()]
        tv, stand = state["tv"][i].tolist(), state["stand"][i].tolist()
        under_stand = around(stand[:2], STAND_OFFSETS, stand[2])
        assert room.tv_cells[tv[2], tv[0], tv[1]]
        assert room.agent_cells[tv[0], tv[1]], "the television lies over floor"
        assert all(min(cell) >= 0 and room.agent_cells[cell] for cell in under_stand)
        assert all(room.agent_cells[cell] for cell in agents)
        assert set(agents) <= hold_cells(tv)
        assert not set(agents) & under_stand
        assert all(chebyshev(*pair) >= 2 for pair in itertools.combinations(agents, 2))
        assert abs(tv[0] - stand[0]) + abs(tv[1] - stand[1]) > 1
        for cell, heading in zip(agents, state["agent_headings"][i].tolist(), strict=True):
            assert faces(cell, heading, tv), "agents face the television along rows or columns"
    assert not state["visited"].any()
    np.testing.assert_array_equal(state["best_distance"], state["start_distance"])


def faces(cell, heading, tv):
    """Whether a heading has no component away from the television."""
    return STEP[heading][0] * (tv[0] - cell[0]) + STEP[heading][1] * (tv[1] - cell[1]) >= 0


def test_the_separation_of_a_start_is_that_of_the_walk():
    _, state = starts(400, rooms=[SMALL], min_agent_distance_cells=1)
    distances = abs(state["agent_cells"][:, 0] - state["agent_cells"][:, 1]).max(1)
    assert distances.min() == 1


def test_a_room_without_a_legal_start_is_refused_with_a_sentence():
    tight = room_from_drawing("tight", [".....", ".....", "....."])
    with pytest.raises(RoomError, match=r"tight"):
        FurnMove(rooms=[tight]).reset(0)


def chi_square_p(counted, expected):
    """Counts [K] against probabilities [K] that need not be normalised."""
    counted, expected = np.asarray(counted, float), np.asarray(expected, float)
    expected = expected / expected.sum() * counted.sum()
    assert expected.min() > 5, "too few for the test"
    return chi2.sf(((counted - expected) ** 2 / expected).sum(), len(counted) - 1)


def carried_poses():
    """Poses of the small room that two agents can hold and that are connected with each other, by flooding."""
    holdable = {
        (row, column, rotation)
        for rotation, row, column in np.argwhere(SMALL.tv_cells).tolist()
        if any(chebyshev(*pair) >= 2 for pair in itertools.combinations(hold_cells((row, column, rotation)) & FLOOR, 2))
    }
    parts = []
    while holdable:
        part, edge = set(), {holdable.pop()}
        while edge:
            part |= edge
            edge = {other for pose in edge for other in neighbours(pose)} & holdable
            holdable -= edge
        parts.append(part)
    return max(parts, key=len)


def neighbours(pose):
    row, column, rotation = pose
    moves = [(row + down, column + right, rotation) for down, right in STEP]
    return [*moves, (row, column, (rotation + 1) % 4), (row, column, (rotation - 1) % 4)]


def by_cell(poses):
    """(row, column) -> its rotations."""
    cells = {}
    for row, column, rotation in sorted(poses):
        cells.setdefault((row, column), []).append(rotation)
    return cells


def accepted_starts():
    """(television, two agents, stand, share) of all starts of the small room, N = 2, by the rules of rejection."""
    poses = carried_poses()
    reached = {tuple(pose[:2]) for pose in poses}
    reached |= {(row + down, column + right) for row, column in reached for down, right in STEP}
    places = itertools.product(range(6), range(7), range(4))
    stands = by_cell(
        {(r, c, k) for r, c, k in places if around((r, c), STAND_OFFSETS, k) <= FLOOR and (r, c) in reached}
    )
    stands_of = functools.cache(lambda agents: stands_beside(agents, stands))
    for cell, rotations in by_cell({pose for pose in poses if pose[:2] in FLOOR}).items():
        for rotation in rotations:
            held = sorted(hold_cells((*cell, rotation)) & FLOOR)
            for first in held:
                apart = [second for second in held if chebyshev(first, second) >= 2]
                for second, (stand, share) in ((s, choice) for s in apart for choice in stands_of((first, s))):
                    if abs(cell[0] - stand[0]) + abs(cell[1] - stand[1]) > 1:
                        yield (*cell, rotation), first, second, stand, share / len(rotations) / len(held) / len(apart)


def stands_beside(agents, stands):
    """(stand, share) for two agents: a rotation that covers neither, uniform at each cell that has one."""
    found = []
    for cell, rotations in stands.items():
        free = [turn for turn in rotations if not set(agents) & around(cell, STAND_OFFSETS, turn)]
        found += [((*cell, rotation), 1 / len(free)) for rotation in free]
    return found


@pytest.fixture(scope="module")
def expected():
    """Marginal distributions of what is drawn: name -> {value: share}."""
    shares = {"tv": Counter(), "tv cell": Counter(), "agent": Counter(), "stand": Counter()}
    for tv, first, second, stand, share in accepted_starts():
        for name, value in (("tv", tv), ("tv cell", tv[:2]), ("agent", first), ("agent", second), ("stand", stand)):
            shares[name][value] += share
    return shares


@pytest.fixture(scope="module")
def drawn():
    """5,000 starts in the small room with two agents."""
    return starts(5_000, rooms=[SMALL])[1]


@pytest.mark.long
@pytest.mark.parametrize(("name", "agent"), [("tv", 0), ("tv cell", 0), ("agent", 0), ("agent", 1), ("stand", 0)])
def test_places_are_drawn_as_plain_rejection_of_uniform_draws_draws_them(name, agent, expected, drawn):
    """Who is placed first is drawn too, so both agents have the mean of the two distributions."""
    values = {"tv": drawn["tv"], "tv cell": drawn["tv"][:, :2], "agent": drawn["agent_cells"][:, agent]}
    found = Counter(map(tuple, values.get(name, drawn["stand"]).tolist()))
    shares = expected[name]
    assert set(found) <= set(shares), "something impossible happened"
    assert chi_square_p([found[value] for value in shares], list(shares.values())) > MIN_P


def test_a_coin_says_whether_an_agent_faces_along_rows_or_columns_and_another_which_way_if_aligned(drawn):
    away = drawn["tv"][:, None, :2] - drawn["agent_cells"]
    down, right, headings = away[..., 0].ravel(), away[..., 1].ravel(), drawn["agent_headings"].ravel()
    beside = (down != 0) & (right != 0)
    assert chi_square_p(np.bincount(headings[beside] % 2, minlength=2), [1, 1]) > MIN_P
    for aligned, towards, across in (
        (down == 0, np.where(right > 0, 1, 3), (0, 2)),
        (right == 0, np.where(down > 0, 2, 0), (1, 3)),
    ):
        faced = headings[aligned]
        counts = [(faced == towards[aligned]).sum(), *((faced == way).sum() for way in across)]
        assert chi_square_p(counts, [2, 1, 1]) > MIN_P


def test_rooms_are_drawn_uniformly():
    _, state = starts(1_500, rooms=[SMALL, *ROOMS[1:]])
    assert chi_square_p(np.bincount(state["room"], minlength=3), [1, 1, 1]) > MIN_P
