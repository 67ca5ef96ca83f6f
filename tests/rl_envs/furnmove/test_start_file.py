"""Start files: exact round trips, the authors' shape, and one clear sentence for each way of being wrong."""

import contextlib
import copy
import json

import pytest

from rl_envs.furnmove.fixed_starts import StartError, Starts
from rl_envs.furnmove.room_file import save_room
from rl_envs.furnmove.splits import RoomStream, room_by_name, split_rooms
from rl_envs.furnmove.start_file import load_starts, save_starts
from rl_envs.furnmove.starts import main, make_starts
from tests.rl_envs.furnmove.files import assert_refused, damaged, examples
from tests.rl_envs.furnmove.scenes import OPEN_ROOM, room_without

CLOSED = room_without((20, 20))


def place(row, column, quarter_turns=0, **more):
    """A place as the authors write it: x to the east, z to the north."""
    return {"x": 0.25 * column, "y": 0.0, "z": -0.25 * row, "rotation": 90 * quarter_turns} | more


def start(agents=((14, 9), (14, 15)), tv=(12, 12, 0), stand=(3, 3, 0)):
    return {
        "agent_locations": [place(*cell, 1, horizon=30) for cell in agents],
        "lifted_object_location": place(*tv),
        "to_object_location": place(*stand),
    }


def document(*starts, **changes):
    scenes = {"open": {str(index): one for index, one in enumerate(starts or [start()])}}
    whole = {"format": "concord-starts", "version": 1, "agents": 2, "starts": scenes} | changes
    return {key: value for key, value in whole.items() if value is not None}


def with_value(value, *keys):
    """A good document with one value changed, or taken away if it is None."""
    whole = copy.deepcopy(document(start(), start()))
    *path, last = keys
    target = whole["starts"]["open"]["1"]
    for key in path:
        target = target[key]
    if value is None:
        del target[last]
    else:
        target[last] = value
    return whole


@pytest.mark.parametrize(
    "rooms",
    [
        split_rooms("test", "laptop"),
        split_rooms("test", "full"),
        RoomStream(3, "laptop", 4, "valid")[1:],
        [RoomStream()[7]],
    ],
    ids=lambda rooms: rooms[0].name,
)
@pytest.mark.parametrize("num_agents", [1, 2, 3])
def test_saved_starts_load_as_they_were_with_rooms_found_by_name(rooms, num_agents, tmp_path):
    starts = make_starts(rooms, num_agents, 12)
    save_starts(tmp_path / "starts.json", starts)
    loaded = load_starts(tmp_path / "starts.json")
    assert loaded == starts and loaded.rooms == tuple(rooms)
    assert loaded != make_starts(rooms, num_agents, 12, seed=1)
    assert [path.name for path in tmp_path.iterdir()] == ["starts.json"]


def test_starts_in_own_rooms_load_with_those_rooms_given(tmp_path):
    starts = make_starts([CLOSED, room_by_name("test_room_01"), OPEN_ROOM], 2, 5)  # named rooms need not be given
    save_starts(tmp_path / "starts.json", starts)
    assert load_starts(tmp_path / "starts.json", [OPEN_ROOM, CLOSED]) == starts
    with pytest.raises(StartError, match=r"starts/changed"):
        load_starts(tmp_path / "starts.json")


@pytest.mark.parametrize("size", ["laptop", "full"])
def test_named_rooms_beside_an_own_one_load_in_their_size(size, tmp_path):
    starts = make_starts([*split_rooms("train", size)[:2], OPEN_ROOM], 2, 3)
    save_starts(tmp_path / "starts.json", starts)
    assert load_starts(tmp_path / "starts.json", [OPEN_ROOM]) == starts


def test_starts_in_named_rooms_of_two_sizes_are_not_saved(tmp_path):
    rooms = [split_rooms("train", "laptop")[0], split_rooms("train", "full")[1], OPEN_ROOM]
    with pytest.raises(StartError, match="size"):
        save_starts(tmp_path / "starts.json", make_starts(rooms, 2, 3))
    assert not list(tmp_path.iterdir())


def test_a_room_that_only_has_the_name_of_a_named_room_is_not_saved_because_that_would_be_read(tmp_path):
    named = room_by_name("test_room_01")
    double = type(named)(named.name, OPEN_ROOM.agent_cells, OPEN_ROOM.tv_cells, OPEN_ROOM.drawing)
    with pytest.raises(StartError, match="test_room_01"):
        save_starts(tmp_path / "starts.json", make_starts([double], 2, 3))
    assert not list(tmp_path.iterdir())


def test_rows_run_to_the_south_columns_to_the_east_and_rotations_clockwise(write):
    one = start(agents=[(14, 9), (15, 14)], tv=(12, 11, 2), stand=(3, 4, 1))
    one["agent_locations"][1]["rotation"] = 270
    loaded = load_starts(write(document(one)), [OPEN_ROOM])
    assert loaded.agent_cells.tolist() == [[[14, 9], [15, 14]]] and loaded.agent_headings.tolist() == [[1, 3]]
    assert (loaded.tv.tolist(), loaded.stand.tolist()) == ([[12, 11, 2]], [[3, 4, 1]])


def test_places_are_written_in_metres_and_degrees(tmp_path):
    starts = Starts((OPEN_ROOM,), [0], [[(0, 6), (4, 0)]], [[0, 3]], [(2, 3, 0)], [(20, 8, 1)])
    save_starts(tmp_path / "starts.json", starts)
    assert json.loads((tmp_path / "starts.json").read_text())["starts"]["open"]["0"] == {
        "agent_locations": [
            {"x": 1.5, "y": 0.0, "z": 0.0, "rotation": 0, "horizon": 0},
            {"x": 0.0, "y": 0.0, "z": -1.0, "rotation": 270, "horizon": 0},
        ],
        "lifted_object_location": {"x": 0.75, "y": 1.3, "z": -0.5, "rotation": 0},
        "to_object_location": {"x": 2.0, "y": 0.0, "z": -5.0, "rotation": 90},
    }
    assert "-0.0," not in (tmp_path / "starts.json").read_text()


def test_starts_are_ordered_by_their_number_not_by_their_text_or_place(write):
    cells = {index: [(14, 9), (14, 15 - index % 3)] for index in (10, 2, 0, 9)}
    scenes = {"open": {str(index): start(agents=agents) for index, agents in cells.items()}}
    loaded = load_starts(write(document(starts=scenes)), [OPEN_ROOM])
    assert loaded.agent_cells.tolist() == [[list(cell) for cell in cells[index]] for index in (0, 2, 9, 10)]


def test_a_file_without_a_header_loads_for_rooms_that_have_the_scenes_names(write):
    made = make_starts([room_by_name("floorplan229")], 3, 6)
    path = write({})
    save_starts(path, made)
    indices = json.loads(path.read_text())["starts"]["floorplan229"]
    for scene in ("floorplan229", "FloorPlan229_physics"):
        assert load_starts(write({scene: indices})) == made


def test_an_origin_says_where_the_north_west_cell_of_a_room_is(write):
    moved = start()
    for one in (*moved["agent_locations"], moved["lifted_object_location"], moved["to_object_location"]):
        one["x"], one["z"] = one["x"] - 2.6, one["z"] + 7.1
    origins = {"open": {"x": -2.6, "z": 7.1}, "elsewhere": {"x": 1, "z": 1}}
    plain = load_starts(write(document()), [OPEN_ROOM])
    assert load_starts(write(document(moved, origins=origins)), [OPEN_ROOM]) == plain
    with pytest.raises(StartError, match="grid"):
        load_starts(write(document(moved)), [OPEN_ROOM])


def test_numbers_of_an_engine_may_miss_the_grid_by_a_hair_and_turn_full_circle(write):
    one = start()
    one["lifted_object_location"] |= {"x": 3.0000004, "z": -2.999998, "rotation": 360.00006}
    one["agent_locations"][0]["rotation"] = -270
    assert load_starts(write(document(one)), [OPEN_ROOM]) == load_starts(write(document()), [OPEN_ROOM])


def test_height_and_horizon_may_be_left_out(write):
    one = start()
    for part in (*one["agent_locations"], one["lifted_object_location"], one["to_object_location"]):
        for key in ("y", "horizon"):
            part.pop(key, None)
    whole = document(one, note="for people")
    assert load_starts(write(whole), [OPEN_ROOM]) == load_starts(write(document()), [OPEN_ROOM])


def test_example_of_the_documentation_loads(write):
    blocks = examples("start_format.md")
    assert blocks and all(len(load_starts(write(block))) == 1 for block in blocks)


AGENT, TV, STAND = ("agent_locations", 1), ("lifted_object_location",), ("to_object_location",)
WHERE = "starts/open/1/"

WRONG = {
    "not JSON": (b'{"format": "concord-starts",\n oops}', "line 2, column 2"),
    "nothing": ({}, "empty"),
    "other format": (document(format="maze"), "format"),
    "future version": (document(version=2), "version 1"),
    "agents that are no number": (document(agents="2"), "agents"),
    "unknown key of the header": (document(room="open"), "'room'"),
    "unknown room size": (document(room_size="huge"), "room_size"),
    "no scenes": (document(starts={}), "starts"),
    "unknown room": (document(starts={"attic": {"0": start()}}), "starts/attic"),
    "room name of two lines": (document(starts={"a\nb": {"0": start()}}), r"starts/a\?b"),
    "scene that is no object": (document(starts={"open": 5}), "starts/open .*object"),
    "scene without starts": (document(starts={"open": {}}), "starts/open .*empty"),
    "index that is no number": (document(starts={"open": {"first": start()}}), "starts/open/first"),
    "index written twice": (document(starts={"open": {"00": start()}}), "starts/open/00"),
    "agents that are no list": (with_value({}, AGENT[0]), WHERE + "agent_locations"),
    "too few agents": (with_value([place(14, 9)], AGENT[0]), WHERE + "agent_locations .*2 agents"),
    "other agents without a header": ({"open": {"0": start(), "1": start([(14, 9)])}}, "open/1/agent_locations"),
    "place that is no object": (with_value([3], *TV), WHERE + "lifted_object_location"),
    "place without x": (with_value(None, *AGENT, "x"), WHERE + 'agent_locations/1 .*"x"'),
    "number that is a truth value": (with_value(True, *STAND, "z"), WHERE + "to_object_location/z"),
    "coordinate that is no number": (with_value(float("nan"), *TV, "z"), WHERE + "lifted_object_location/z"),
    "number beyond all floats": (with_value(10**400, *AGENT, "x"), WHERE + "agent_locations/1/x"),
    "coordinate off the grid": (with_value(3.1, *TV, "x"), WHERE + "lifted_object_location/x .*grid"),
    "rotation off the grid": (with_value(45, *AGENT, "rotation"), WHERE + "agent_locations/1/rotation .*90"),
    "agent off the floor": (document(start(), start([(14, 9), (16, 15)])), WHERE + "agent_locations/1: row 16"),
    "agent outside of the room": (
        document(start(), start([(3, 9), (-1, 12)], (1, 12, 0), (9, 3, 0))),
        WHERE + "agent_locations/1: row -1",
    ),
    "agent not holding the TV": (document(start(), start([(14, 9), (19, 12)])), WHERE + "agent_locations/1.*hold"),
    "agents too near": (document(start(), start([(14, 14), (14, 15)])), WHERE + "agent_locations/1.*nearer"),
    "stand on blocked cells": (document(start(), start(stand=(21, 22, 0))), WHERE + "to_object_location.*row 20"),
    "stand under an agent": (document(start(), start(stand=(15, 8, 0))), WHERE + "to_object_location.*agent 0"),
    "TV pose not allowed": (
        document(start(), start(tv=(0, 12, 1), agents=[(0, 9), (2, 15)])),
        WHERE + "lifted_object_location.*rotation 90",
    ),
    "already solved": (document(start(), start(stand=(12, 11, 0))), WHERE + "to_object_location.*solved"),
    "origins that are no object": (document(origins=[]), "origins"),
    "origin without z": (document(origins={"open": {"x": 1}}), 'origins/open .*"z"'),
}
"""The open room has one closed cell, row 20, column 20; another closed one is row 16, column 15."""

OPEN = room_without((20, 20), (16, 15))
OPEN = type(OPEN)("open", OPEN.agent_cells, OPEN.tv_cells, OPEN.drawing)


@pytest.mark.parametrize("case", WRONG)
def test_wrong_files_are_refused_with_one_sentence_that_names_the_key(case, write):
    content, expected = WRONG[case]
    path = write(content)
    sentence = f"^start file {path}: .*{expected}"
    assert_refused(lambda path: load_starts(path, [OPEN, CLOSED]), path, StartError, sentence)


def test_a_room_that_stands_twice_in_a_file_is_refused(write):
    scenes = {"floorplan229": {"0": start()}, "FloorPlan229": {"0": start()}}
    double = type(OPEN)("floorplan229", OPEN.agent_cells, OPEN.tv_cells, OPEN.drawing)
    with pytest.raises(StartError, match="same name"):
        load_starts(write(scenes), [double])


def test_no_damaged_file_raises_anything_but_start_error(write):
    good = json.dumps(document(start(), room_size="laptop", origins={"open": {"x": 0, "z": 0}}))
    for content in damaged(good, 300):
        with contextlib.suppress(StartError):
            load_starts(write(content), [OPEN_ROOM])


def test_starts_that_cannot_be_played_are_not_saved(tmp_path):
    apart = Starts((OPEN_ROOM,), [0], [[(14, 9), (20, 20)]], [[0, 0]], [(12, 12, 0)], [(3, 3, 0)])
    with pytest.raises(StartError, match=r"start 0.*agent_locations/1"):
        save_starts(tmp_path / "starts.json", apart)
    assert not list(tmp_path.iterdir())


def test_the_command_writes_what_the_rule_makes_and_says_so(tmp_path, capsys):
    path = tmp_path / "starts.json"
    words = ("--rooms", "test", "--room-size", "laptop", "--num-rooms", 4, "--agents", 3, "--per-room", 6)
    main([*map(str, words), "--out", str(path)])
    said = capsys.readouterr().out
    assert "24" in said and str(path) in said
    assert load_starts(path) == make_starts(split_rooms("test", "laptop")[:4], 3, 6)


def test_the_command_takes_several_words_and_the_first_rooms_of_a_stream(tmp_path, capsys):
    save_room(type(OPEN)("mine", OPEN_ROOM.agent_cells, OPEN_ROOM.tv_cells, OPEN_ROOM.drawing), tmp_path / "mine.json")
    words = ("--rooms", tmp_path / "mine.json", "floorplan229", "valid_stream", "--num-rooms", 8, "--per-room", 2)
    main([*map(str, words), "--seed", "5", "--out", str(tmp_path / "starts.json")])
    said = capsys.readouterr().out
    assert all(name in said for name in ("16", "mine", "floorplan229", "valid_stream_0_5"))


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--rooms", "attic"), "'attic'"),
        (("--rooms", "test", "test", "--room-size", "laptop", "--per-room", 1), "same name"),
        (("--num-rooms", 7), "--num-rooms is 7"),
        (("--num-rooms", 0), "--num-rooms is 0"),
        (("--agents", 0), "num_agents"),
        (("--per-room", -1), "per_room"),
        (("--room-size", "huge"), "'huge'"),
    ],
)
def test_the_command_refuses_in_a_sentence_and_writes_nothing(words, sentence, tmp_path, capsys):
    with pytest.raises(SystemExit) as refused:
        main([*map(str, words), "--out", str(tmp_path / "starts.json")])
    assert refused.value.code == 2 and sentence in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
