"""Room files: exact round trips, and one clear sentence for each way of being wrong."""

import contextlib
import json

import pytest

from rl_envs.furnmove.room import Room, room_from_drawing
from rl_envs.furnmove.room_checks import RoomError, validate_room
from rl_envs.furnmove.room_file import load_room, save_room
from rl_envs.furnmove.splits import RoomStream, resolve_rooms, room_by_name, split_rooms
from tests.rl_envs.furnmove.files import assert_refused, damaged, examples

FLOOR = [
    "###########",
    "#.........#",
    "#.oo......#",
    "#.oo......#",
    "#.........#",
    "#.........#",
    "#......X..#",
    "#.........#",
    "#.........#",
    "###########",
]


def document(**changes):
    whole = {"format": "concord-room", "version": 1, "name": "my_room", "floor": FLOOR} | changes
    return {key: value for key, value in whole.items() if value is not None}


def floor_with(row, column, character):
    rows = list(FLOOR)
    rows[row] = rows[row][:column] + character + rows[row][column + 1 :]
    return rows


def television(row=4, column=5, character="."):
    empty = ["#" * 11] * 10
    mask = [*empty[:3], *["####...####"] * 3, *empty[6:]]
    mask[row] = mask[row][:column] + character + mask[row][column + 1 :]
    return [mask] * 4


@pytest.mark.parametrize(
    "room",
    [*split_rooms("test", "full"), *split_rooms("valid", "laptop"), RoomStream(seed=1, size="full")[0]],
    ids=lambda room: room.name,
)
def test_saved_rooms_load_as_they_were(room, tmp_path):
    save_room(room, tmp_path / "room.json")
    assert load_room(tmp_path / "room.json") == room
    assert [path.name for path in tmp_path.iterdir()] == ["room.json"]


def test_television_is_left_out_where_it_follows_from_the_floor(write, tmp_path):
    room = load_room(write(document()))
    save_room(room, tmp_path / "again.json")
    assert "television" not in json.loads((tmp_path / "again.json").read_text())
    assert room.agent_cells.shape == (8, 9) and room.tv_cells[0, 2, 2] and not room.tv_cells[:, 5, 6].any()


def test_given_television_cells_are_taken_as_they_are(write):
    room = load_room(write(document(television=television(), note="for people")))
    assert room.tv_cells.sum((1, 2)).tolist() == [9] * 4 and room.tv_cells[2, 2, 3]


def test_the_outside_may_be_drawn_behind_walls(write):
    floor = [" " * 13, *(f" {row} " for row in FLOOR), " " * 13]
    assert load_room(write(document(floor=floor))).agent_cells.sum() == load_room(write(document())).agent_cells.sum()


def test_example_of_the_documentation_loads(write):
    for block in examples("room_format.md"):
        assert load_room(write(block)).agent_cells.any()


WRONG = {
    "not JSON": (b'{"format": "concord-room",\n oops}', "line 2, column 2"),
    "other format": (document(format="maze"), "format"),
    "future version": (document(version=3), "version"),
    "missing key": (document(floor=None), '"floor"'),
    "unknown key": (document(flor=[]), "'flor'"),
    "bad name": (document(name="../../etc"), "name .*etc"),
    "name that is no text": (document(name=["a"]), "name"),
    "floor that is no list": (document(floor="###"), "floor .*rows"),
    "row that is no text": (document(floor=[*FLOOR[:-1], 5]), "floor .*rows"),
    "ragged": (document(floor=[*FLOOR[:4], FLOOR[4] + "#", *FLOOR[5:]]), "row 4 has 12"),
    "too small": (document(floor=["##", "##"]), "2 rows x 2 columns"),
    "too large": (document(floor=["#" * 67] * 5), "67 columns"),
    "unknown character": (document(floor=floor_with(4, 6, "?")), r"row 4, column 6: '\?'"),
    "half a character": (document(floor=floor_with(4, 6, "\ud800")), "row 4, column 6"),
    "hole in the wall": (document(floor=floor_with(0, 3, ".")), "row 0, column 3"),
    "floor beside the outside": (document(floor=floor_with(0, 3, " ")), "row 1, column 2"),
    "no place for the stand": (
        document(floor=["#" * 12, *["#..o..o..o.#", "#..........#", "#..o..o..o.#", "#..........#"] * 3, "#" * 12]),
        "stand",
    ),
    "no place for the television": (
        document(
            floor=["#" * 7, *["#.....#"] * 3, "#X.X.X#", *["#.....#"] * 3, "#" * 7], television=[["#" * 7] * 9] * 4
        ),
        "television and two agents",
    ),
    "floor in pieces": (
        document(floor=[*FLOOR[:5], "#oooooooooo"[:10] + "#", *FLOOR[6:]]),
        r"floor.*row \d+, column \d+",
    ),
    "three television drawings": (document(television=television()[:3]), "television .*4"),
    "television of another size": (document(television=[["#" * 9] * 9] * 4), "television.*floor"),
    "television on the border": (document(television=television(0, 3)), "rotation 0, row 0, column 3"),
    "television in tall furniture": (document(television=television(6, 7)), "row 6, column 7: 'X'"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_files_are_refused_with_one_sentence(case, write):
    content, expected = WRONG[case]
    assert_refused(load_room, write(content), RoomError, expected)


def test_missing_file_and_folder_are_refused(tmp_path):
    with pytest.raises(RoomError, match=r"none\.json"):
        resolve_rooms(str(tmp_path / "none.json"))


def test_no_damaged_file_raises_anything_but_room_error(write):
    """It loads, or is refused politely."""
    for content in damaged(json.dumps(document(television=television())), 200):
        with contextlib.suppress(RoomError):
            load_room(write(content))


def test_an_unplayable_room_is_not_saved(tmp_path):
    with pytest.raises(RoomError, match="stand"):
        save_room(room_from_drawing("narrow", ["....", "...."]), tmp_path / "room.json")
    assert not list(tmp_path.iterdir())


def test_masks_that_disagree_with_the_drawing_are_refused():
    room = room_by_name("test_room_01", "laptop")
    floor = room.agent_cells.copy()
    floor[2, 3] ^= True
    with pytest.raises(RoomError, match="row 3, column 4"):
        validate_room(Room(room.name, floor, room.tv_cells, room.drawing))
    with pytest.raises(RoomError, match="agent_cells"):
        validate_room(Room(room.name, floor[1:], room.tv_cells, room.drawing))


SOFA = {"kind": "sofa", "row": 2, "column": 2, "rows": 2, "columns": 2, "height": 0.9}


def test_listed_furniture_is_kept_with_its_kind_place_and_height(write, tmp_path):
    room = load_room(write(document(version=2, furniture=[SOFA])))
    (piece,) = room.furniture
    assert (piece.kind, piece.height) == ("sofa", 0.9)
    assert {room.drawing[row][column] for row in (1, 2) for column in (1, 2)} == {"o"}
    assert (piece.row, piece.column, piece.rows, piece.columns) == (1, 1, 2, 2)
    save_room(room, tmp_path / "again.json")
    again = json.loads((tmp_path / "again.json").read_text())
    assert again["version"] == 2 and again["furniture"] == [SOFA]
    assert load_room(tmp_path / "again.json") == room != load_room(write(document(version=2)))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"version": 1}, "version 1"),
        ({"furniture": {}}, "furniture"),
        ({"furniture": [{"kind": "sofa"}]}, "furniture 0 .*kind, row"),
        ({"furniture": [SOFA | {"kind": 3}]}, "furniture 0: kind"),
        ({"furniture": [SOFA | {"kind": "throne"}]}, "throne"),
        ({"furniture": [SOFA | {"row": 2.5}]}, "furniture 0: row"),
        ({"furniture": [SOFA | {"height": 10**400}]}, "furniture 0: .*height"),
        ({"furniture": [SOFA | {"row": 0}]}, "outside"),
        ({"furniture": [SOFA | {"rows": 0}]}, "outside"),
        ({"furniture": [SOFA | {"columns": 3}]}, "cells"),
        ({"furniture": [SOFA | {"height": 1.8}]}, "cells"),
        ({"furniture": [SOFA, SOFA]}, "overlap"),
    ],
)
def test_wrong_furniture_is_refused_with_one_sentence(changes, sentence, write):
    with pytest.raises(RoomError, match=sentence):
        load_room(write(document(**({"version": 2, "furniture": [SOFA]} | changes))))
