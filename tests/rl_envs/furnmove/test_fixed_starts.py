"""Fixed starts (A Cordial Sync, section 6): made by rule, the same everywhere, each played once by as many worlds."""

import functools
import hashlib

import numpy as np
import pytest

from rl_envs.furnmove.fixed_starts import StartError, Starts
from rl_envs.furnmove.room import room_from_drawing
from rl_envs.furnmove.splits import split_rooms
from rl_envs.furnmove.start_file import save_starts
from rl_envs.furnmove.starts import make_starts
from rl_envs.furnmove.world import FurnMove
from rl_envs.testing import check_world
from tests.rl_envs.furnmove.scenes import OPEN_ROOM, PASS, SMALL

TIGHT = room_from_drawing("tight", [".....", ".....", "....."])
LAPTOP = split_rooms("test", "laptop")
NAMES = ("room", "agent_cells", "agent_headings", "tv", "stand")


def arrays(starts):
    return {name: getattr(starts, name) for name in NAMES}


def of_room(starts, room):
    """What lies in one room, without the room's number."""
    return [starts[k][1] for k in range(len(starts)) if starts[k][0] is room]


def same(ours, others):
    return len(ours) == len(others) and all(
        np.array_equal(a, b) for one, other in zip(ours, others, strict=True) for a, b in zip(one, other, strict=True)
    )


@pytest.mark.parametrize("num_agents", [1, 2, 3])
def test_there_are_as_many_starts_as_asked_in_every_room_and_no_two_alike(num_agents):
    starts = make_starts([*LAPTOP, SMALL], num_agents, 50)
    assert len(starts) == 300 and starts.num_agents == num_agents
    assert np.bincount(starts.room).tolist() == [50] * 6
    starts.check(min_agent_distance_cells=2)
    rows = np.concatenate([array.reshape(300, -1) for array in arrays(starts).values()], axis=1)
    assert len(np.unique(rows, axis=0)) == 300


def test_in_a_room_of_few_starts_what_was_drawn_before_is_drawn_again_until_none_is_left():
    narrow = room_from_drawing("narrow", ["......", "......", "......", "....XX"])
    starts = make_starts([narrow], 2, 7)
    rows = np.concatenate([array.reshape(7, -1) for array in arrays(starts).values()], axis=1)
    assert len(np.unique(rows, axis=0)) == 7
    with pytest.raises(StartError, match=r"narrow.* 8 .*7 were found"):
        make_starts([narrow], 2, 8)


def test_start_k_of_a_room_depends_neither_on_how_many_there_are_nor_on_other_rooms():
    many = make_starts(LAPTOP, 2, 30)
    few = make_starts([SMALL, LAPTOP[3]], 2, 10)
    assert same(of_room(many, LAPTOP[3])[:10], of_room(few, LAPTOP[3]))


def test_starts_are_the_same_in_every_process():
    parts = arrays(make_starts(LAPTOP, 3, 20)).values()
    digest = hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()
    assert digest.startswith("0c34025cf015fdfd")


def test_another_seed_another_room_and_another_index_make_other_starts():
    one, other = make_starts(LAPTOP, 2, 20), make_starts(LAPTOP, 2, 20, seed=1)
    assert (one.agent_cells != other.agent_cells).any((1, 2)).mean() > 0.9
    twins = [room_from_drawing(name, SMALL.drawing) for name in ("one", "two")]
    pair = make_starts(twins, 2, 20)
    assert not same(of_room(pair, pair.rooms[0]), of_room(pair, pair.rooms[1]))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((LAPTOP, 0, 5), "num_agents"),
        ((LAPTOP, 2, 0), "per_room"),
        (((), 2, 5), "rooms"),
        (([SMALL, SMALL], 2, 5), "same name"),
        (([TIGHT], 2, 5), "'tight'"),
    ],
)
def test_starts_that_cannot_be_made_are_refused(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        make_starts(*arguments)


def test_distance_of_agents_is_that_asked_for():
    near = make_starts([SMALL], 2, 200, min_agent_distance_cells=1)
    assert abs(near.agent_cells[:, 0] - near.agent_cells[:, 1]).max(1).min() == 1
    with pytest.raises(StartError, match="2 cells"):
        near.check(min_agent_distance_cells=2)


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("tv", [[1, 2]], r"\[K, 3\]"),
        ("room", [], r"\[K\]"),
        ("room", [1], "room after room"),
        ("agent_headings", [[0, 4]], "quarter turns"),
        ("stand", [[3, 3, -1]], "quarter turns"),
    ],
)
def test_arrays_that_are_no_list_of_starts_are_refused(name, value, sentence):
    good = {
        "room": [0],
        "agent_cells": [[(14, 9), (14, 15)]],
        "agent_headings": [[0, 0]],
        "tv": [(12, 12, 0)],
        "stand": [(3, 3, 0)],
    }
    assert len(Starts((OPEN_ROOM,), **good)) == 1
    with pytest.raises(StartError, match=sentence):
        Starts((OPEN_ROOM,), **good | {name: value})


@pytest.fixture(scope="module")
def starts():
    return make_starts(LAPTOP[:3], 2, 4)


def assert_at(world, starts, numbers):
    """Every world is at the start of this number, and sees it."""
    wanted = {name: array[list(numbers)] for name, array in arrays(starts).items()}
    np.testing.assert_equal({name: world.state[name] for name in wanted}, wanted)
    assert [world.rooms[i].name for i in world.state["room"]] == [starts[k][0].name for k in numbers]


@pytest.mark.parametrize("seed", [0, 7])
def test_as_many_worlds_as_starts_play_each_exactly_once_whatever_the_seed(starts, seed):
    world = FurnMove(len(starts), starts=starts)
    world.reset(seed)
    assert_at(world, starts, range(12))
    np.testing.assert_array_equal(world.state["best_distance"], abs(starts.tv - starts.stand)[:, :2].sum(1))


def test_a_world_plays_the_starts_one_after_another_from_its_own_number_on(starts):
    world = FurnMove(2, first_world=9, starts=starts, max_episode_steps=1)
    world.reset(0)
    for episode in range(15):
        assert_at(world, starts, [(9 + episode) % 12, (10 + episode) % 12])
        world.step(np.full((2, 2), PASS))


def test_a_file_plays_as_the_starts_that_it_holds(starts, tmp_path):
    save_starts(tmp_path / "starts.json", starts)
    world = FurnMove(12, starts=str(tmp_path / "starts.json"), num_agents=2)
    world.reset(0)
    assert_at(world, starts, range(12))


def test_starts_that_do_not_fit_the_other_arguments_are_refused(starts):
    with pytest.raises(ValueError, match=r"rooms.*starts"):
        FurnMove(starts=starts, rooms="test")
    with pytest.raises(StartError, match="num_agents"):
        FurnMove(starts=starts, num_agents=3)
    with pytest.raises(StartError, match=r"agent_locations/1: .*5 cells"):
        FurnMove(starts=starts, min_agent_distance_cells=5)
    with pytest.raises(StartError, match="nowhere"):
        FurnMove(starts="nowhere.json")


def test_worlds_with_fixed_starts_keep_the_contract():
    starts = make_starts(LAPTOP, 3, 3)
    check_world(functools.partial(FurnMove, starts=starts, max_episode_steps=20))
