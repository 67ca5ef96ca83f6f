"""The floors of iTHOR's living rooms: the paper's split, the recorded cells, and masks by the stated rule."""

import json
from pathlib import Path

import numpy as np
import pytest

from rl_envs.furnmove import ithor
from rl_envs.furnmove.furnishing import FINE, RING_CELLS, WALL_CODE, WALL_METRES, furnish_room, shown_characters
from rl_envs.furnmove.geometry import TV_BODY
from rl_envs.furnmove.render import CELL_COLOURS, Canvas
from rl_envs.furnmove.room import LOW, WALL, Furniture, Room, characters
from rl_envs.furnmove.room_checks import validate_room
from rl_envs.furnmove.splits import ITHOR_ROOMS, resolve_rooms, room_by_name
from tests.rl_envs.furnmove.scenes import EAST, situations

FLOORS = json.loads(Path(ithor.__file__).with_name("ithor_living_room_floors.json").read_text())


def test_the_split_is_the_papers():
    numbers = {split: [int(room.name[-3:]) for room in resolve_rooms(split)] for split in ITHOR_ROOMS}
    assert numbers["ithor_train"] == list(range(201, 221))
    assert numbers["ithor_valid"] == list(range(221, 226))
    assert numbers["ithor_test"] == list(range(226, 231))


def test_agents_have_exactly_the_cells_of_the_layouts():
    rooms = [room for split in ITHOR_ROOMS for room in resolve_rooms(split)]
    assert sum(int(room.agent_cells.sum()) for room in rooms) == 6469
    for room in rooms:
        floor = FLOORS[room.name.removeprefix("ithor_")]
        np.testing.assert_array_equal(room.agent_cells[1:-1, 1:-1], [[c == "." for c in row] for row in floor["floor"]])
        assert room.agent_cells.sum() == floor["cells"]


@pytest.mark.parametrize("split", ITHOR_ROOMS)
def test_every_room_is_playable(split):
    for room in resolve_rooms(split):
        validate_room(room)


def test_inferred_masks_share_88_percent_with_the_true_ones_of_floorplan229():
    true, ours = room_by_name("floorplan229"), room_by_name("ithor_FloorPlan229")
    pad, shares = 8, []
    cells = np.pad(true.agent_cells, pad)
    height, width = ours.agent_cells.shape
    places = np.ndindex(cells.shape[0] - height + 1, cells.shape[1] - width + 1)
    row, column = max(places, key=lambda at: (cells[at[0] :, at[1] :][:height, :width] & ours.agent_cells).sum())
    assert (cells[row:, column:][:height, :width] & ours.agent_cells).sum() == 206
    for mask, wanted in zip(ours.tv_cells, true.tv_cells, strict=True):
        placed, wanted = np.zeros_like(cells), np.pad(wanted, pad)
        placed[row : row + height, column : column + width] = mask
        shares.append((placed & wanted).sum() / (placed | wanted).sum())
    assert min(shares) > 0.85 and np.mean(shares) == pytest.approx(0.88, abs=0.005)


def test_the_rule_on_a_drawing_done_by_hand():
    """A floor of one row: the bar of five cells lies along it, above or below it, or across it."""
    room = ithor.room_of_floor("corridor", ["...##..."])
    assert room.drawing == ("##oooooo##", "#...oo...#", "##oooooo##")
    along, across = ["..xxxxxx..", ".xxxxxxxx.", "..xxxxxx.."], ["..........", ".xxxxxxxx.", ".........."]
    for mask, wanted in zip(room.tv_cells, (along, across) * 2, strict=True):
        assert ["".join("x" if cell else "." for cell in row) for row in mask] == wanted


def test_cells_beyond_the_enclosed_floor_are_shown_as_wall_and_keep_their_rules():
    for room in (room for split in ITHOR_ROOMS for room in resolve_rooms(split)):
        beyond, drawn = ~ithor.between(room.agent_cells), characters(room.drawing)
        assert (shown_characters(room)[beyond] == WALL).all()
        np.testing.assert_array_equal(shown_characters(room)[~beyond], drawn[~beyond])
        assert (drawn[beyond & room.tv_cells.any(0)] == LOW).all()
        found = furnish_room(room)
        codes = found.codes[RING_CELLS * FINE : -RING_CELLS * FINE, RING_CELLS * FINE : -RING_CELLS * FINE]
        of_beyond = codes[beyond.repeat(FINE, axis=0).repeat(FINE, axis=1)]
        assert set(of_beyond.tolist()) <= {0, WALL_CODE}, "eroded cells are free, all else is wall"
        assert found.heights[WALL_CODE] == WALL_METRES


def test_a_corridor_has_walls_and_one_piece_of_furniture_on_the_map_too():
    room = ithor.room_of_floor("thor_corridor", ["...##..."])
    assert ["".join(row) for row in shown_characters(room)] == ["##########", "#...oo...#", "##########"]
    canvas = Canvas(room, 8)
    canvas.draw_room()
    image = np.asarray(canvas.finished())
    assert tuple(image[8, 40]) == CELL_COLOURS[WALL] and tuple(image[16, 40]) == CELL_COLOURS[LOW]


def test_a_listed_piece_beyond_the_enclosed_floor_stays_furniture():
    bare = ithor.room_of_floor("thor_corridor", ["...##..."])
    room = Room(bare.name, bare.agent_cells, bare.tv_cells, bare.drawing, (Furniture("sofa", 0, 2, 1, 3, 0.92),))
    assert "".join(shown_characters(room)[0]) == "##ooo#####"


@pytest.mark.parametrize("name", ["train", "test", "floorplan229"])
def test_rooms_whose_television_cells_are_known_are_shown_as_they_are_drawn(name):
    for room in resolve_rooms(name):
        np.testing.assert_array_equal(shown_characters(room), characters(room.drawing))


TV = -2


def test_the_television_is_drawn_on_the_known_cells_of_the_real_room():
    """At the rim of FloorPlan229 parts of the television lie over unknown cells."""
    room = room_by_name("floorplan229")
    known = np.pad(room.agent_cells | room.tv_cells.any(0), 2)
    poses = [(row, column, turn) for turn, row, column in np.argwhere(room.tv_cells[:, 8:]).tolist() if column > 15]
    poses = np.add(poses, (8, 0, 0))
    world = situations([[(12, 12)]] * len(poses), [[EAST]] * len(poses), poses, (5, 2, 1), room)
    drawn = world.observe()["view"][:, 0, TV].sum((1, 2))
    covered = [known[tuple((TV_BODY[tv[2]] + tv[:2] + 2).T)].sum() for tv in poses]
    np.testing.assert_array_equal(drawn, covered)
    assert drawn.min() < drawn.max() == 13, "some televisions are clipped"
