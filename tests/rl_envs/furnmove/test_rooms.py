"""Rooms of FurnMove: geometry of sheet and paper, generated rooms, splits and streams."""

import hashlib

import numpy as np
import pytest

from rl_envs.furnmove import splits
from rl_envs.furnmove.generator import MAX_CELLS, generate_room, is_playable
from rl_envs.furnmove.geometry import HOLD_MASKS
from rl_envs.furnmove.room import (
    FREE,
    carry_poses,
    characters,
    holdable_poses,
    largest_part,
    room_from_drawing,
)
from rl_envs.furnmove.room_checks import validate_room
from rl_envs.furnmove.splits import NAMED_ROOMS, SIZES, RoomStream, bounds, resolve_rooms, room_by_name, split_rooms


@pytest.mark.long
@pytest.mark.parametrize("size", SIZES)
def test_every_generated_room_is_playable_and_valid(size):
    for room in RoomStream(seed=5, size=size, count=40):
        validate_room(room)
        assert is_playable(room)
        assert room.height <= MAX_CELLS[size][0] and room.width <= MAX_CELLS[size][1]
        assert largest_part(room.agent_cells).sum() == room.agent_cells.sum()


def test_named_rooms_are_20_5_and_5_and_floorplan229_is_the_sixth_full_test_room():
    for size in SIZES:
        for split, count in NAMED_ROOMS.items():
            rooms = split_rooms(split, size)
            extra = (split, size) == ("test", "full")
            assert len(rooms) == count + extra
            assert rooms[0].name == f"{split}_room_01" and rooms[0] is room_by_name(rooms[0].name, size)
    assert [len(split_rooms(split)) for split in NAMED_ROOMS] == [20, 5, 6]
    assert split_rooms("test")[-1] is room_by_name("floorplan229")


@pytest.mark.parametrize(("size", "known"), [("full", "948d501a19d69156"), ("laptop", "e88cd66af771b03f")])
def test_named_rooms_are_those_that_published_results_used(size, known):
    """A change of the generator that changes named rooms makes old results incomparable: say so in the changelog."""
    rooms = [room for split in NAMED_ROOMS for room in split_rooms(split, size)]
    drawings = "\n".join("/".join(room.drawing) for room in rooms)
    assert hashlib.sha256(drawings.encode()).hexdigest().startswith(known)


@pytest.mark.parametrize("size", SIZES)
def test_no_room_is_in_two_splits_or_streams(size):
    sources = [split_rooms(split, size) for split in NAMED_ROOMS]
    sources += [RoomStream(seed, size, 20, split) for split in NAMED_ROOMS for seed in (0, 1)]
    rooms = [room for source in sources for room in source]
    assert len({room.name for room in rooms}) == len(rooms)
    assert len({(room.drawing, room.tv_cells.tobytes()) for room in rooms}) == len(rooms)


def test_a_stream_is_an_endless_supply_that_makes_no_room_until_asked(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(splits, "generate_room", None)
        stream = RoomStream(seed=0, size="full", count=2**32)
        assert bounds(stream) == (32, 36) and len(stream) == 2**32
    assert stream[7] is stream[7] and stream[-1].name == f"train_stream_0_{2**32 - 1}"
    assert list(stream[:2]) == [stream[0], stream[1]]
    with pytest.raises(IndexError, match="no room"):
        stream[2**32]


def test_the_first_rooms_of_a_stream_do_not_depend_on_its_length():
    short, long = RoomStream(size="laptop", count=3), RoomStream(size="laptop", count=300)
    assert list(short) == list(long[:3])


def test_rooms_cannot_be_changed_by_those_who_share_them():
    room = room_by_name("train_room_01")
    for array in (room.agent_cells, room.tv_cells):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = True


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: split_rooms("trian"),
        lambda: split_rooms("train", "tiny"),
        lambda: room_by_name("train_room_21"),
        lambda: resolve_rooms("kitchen"),
        lambda: RoomStream(seed=-1),
        lambda: RoomStream(count=0),
        lambda: generate_room(0, "huge", "x"),
        lambda: bounds(()),
    ],
)
def test_unknown_names_and_numbers_of_rooms_are_refused(wrong):
    with pytest.raises(ValueError, match=r"must be|no room|needs|give"):
        wrong()


def test_floorplan229_has_the_counts_of_the_published_figure():
    room = room_by_name("floorplan229")
    assert (room.height, room.width, room.agent_cells.sum()) == (18, 23, 246)
    assert room.tv_cells.sum((1, 2)).tolist() == [321, 315, 336, 323]
    assert (room.tv_cells.any(0).sum(), room.tv_cells.all(0).sum()) == (374, 286)
    assert room.agent_cells[3:8, 1:4].all() and is_playable(room)


def slow_holdable(room):
    """`holdable_poses` cell by cell, pair by pair."""
    poses = np.zeros_like(room.tv_cells)
    for rotation, row, column in np.argwhere(room.tv_cells):
        around = np.argwhere(HOLD_MASKS[rotation]) - 5 + (row, column)
        around = around[((around >= 0) & (around < room.agent_cells.shape)).all(1)]
        around = around[room.agent_cells[tuple(around.T)]]
        poses[rotation, row, column] = (abs(around[:, None] - around).max(-1) >= 2).any()
    return poses


def slow_largest(poses):
    """`largest_part` by visiting one pose after the other."""
    left, best = {tuple(pose) for pose in np.argwhere(poses).tolist()}, set()
    while left:
        part, todo = set(), [left.pop()]
        while todo:
            rotation, row, column = pose = todo.pop()
            part.add(pose)
            moves = [(rotation, row + 1, column), (rotation, row - 1, column), (rotation, row, column + 1)]
            moves += [(rotation, row, column - 1), ((rotation + 1) % 4, row, column), ((rotation - 1) % 4, row, column)]
            todo += [move for move in moves if move in left]
            left -= set(moves)
        best = max(best, part, key=len)
    return best


@pytest.mark.parametrize("size", SIZES)
def test_carry_poses_agree_with_a_slow_search(size):
    for room in (*RoomStream(seed=9, size=size, count=2), room_by_name("floorplan229")):
        np.testing.assert_array_equal(holdable_poses(room), slow_holdable(room))
        assert {tuple(pose) for pose in np.argwhere(carry_poses(room)).tolist()} == slow_largest(holdable_poses(room))


def test_a_wall_too_long_to_carry_across_leaves_only_the_larger_side():
    left, right = ["......." for _ in range(9)], [".........." for _ in range(9)]
    room = room_from_drawing("split", [a + "##" + b for a, b in zip(left, right, strict=True)])
    poses = carry_poses(room)
    assert poses.any() and not poses[:, :, :9].any()
    assert not is_playable(room)


def test_the_television_flies_over_low_furniture_but_not_over_tall():
    rows = ["." * 11 for _ in range(11)]
    rows[5] = ".....o....."
    low = room_from_drawing("low", rows)
    tall = room_from_drawing("tall", [row.replace("o", "X") for row in rows])
    assert low.tv_cells[:, 5, 5].all() and not tall.tv_cells[:, 5, 5].any()
    assert not low.agent_cells[5, 5]
    np.testing.assert_array_equal(low.agent_cells, characters(rows) == FREE)
