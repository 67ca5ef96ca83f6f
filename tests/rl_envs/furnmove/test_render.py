"""Images of FurnMove show what they are given."""

import numpy as np
import pytest

from rl_envs.furnmove.frame_palette import AGENT_COLOURS
from rl_envs.furnmove.geometry import TV_BODY
from rl_envs.furnmove.render import CELL_COLOURS, GOAL, PATH, draw
from rl_envs.furnmove.room import FREE, LOW, TALL, Room, room_from_drawing
from rl_envs.furnmove.splits import room_by_name

CELL = 24
ROOM = room_from_drawing("plain", ["." * 12 for _ in range(10)] + ["oooo....XXXX"])
SCENE = {"agent_cells": [[3, 1], [6, 8]], "agent_headings": [1, 0], "tv": [4, 5, 0], "stand": [8, 9, 1]}


def frame_of(**changes):
    settings = SCENE | {"room": ROOM, "has_legend": False, "cell_pixels": CELL} | changes
    return draw(settings.pop("room"), **settings)


def patch(image, row, column):
    """The pixels of one cell of the room."""
    top, left = CELL // 2 + row * CELL, CELL // 2 + column * CELL
    return image[top : top + CELL, left : left + CELL].astype(int)


def has(pixels, colour):
    return bool((abs(pixels - np.array(colour)).max(-1) <= 6).any())


def test_caption_and_legend_are_strips_above_and_below():
    plain, captioned, explained = frame_of(), frame_of(caption="Pass, MoveAhead"), frame_of(has_legend=True)
    strip = captioned.shape[0] - plain.shape[0]
    np.testing.assert_array_equal(captioned[strip:], plain)
    np.testing.assert_array_equal(explained[: plain.shape[0]], plain)
    assert explained.shape[0] > plain.shape[0] and captioned[:strip].std() > 0


@pytest.mark.parametrize(("kind", "cell"), [(FREE, (0, 0)), (LOW, (10, 1)), (TALL, (10, 11))])
def test_each_kind_of_cell_has_its_colour(kind, cell):
    assert has(patch(frame_of(), *cell), CELL_COLOURS[kind])


def test_every_agent_is_drawn_in_its_own_colour_at_its_cell():
    image = frame_of(agent_cells=[[3, 1], [6, 8], [1, 5]], agent_headings=[1, 0, 2])
    for number, cell in enumerate([(3, 1), (6, 8), (1, 5)]):
        assert has(patch(image, *cell), AGENT_COLOURS[number])
    assert not has(patch(image, 0, 0), AGENT_COLOURS[0])


@pytest.mark.parametrize("heading", range(4))
def test_an_arrow_turns_clockwise_with_its_heading(heading):
    north = patch(frame_of(agent_headings=[0, 0]), 3, 1)
    turned = patch(frame_of(agent_headings=[heading, 0]), 3, 1)
    assert abs(np.rot90(north, -heading) - turned)[4:-4, 4:-4].mean() < 12
    assert heading == 0 or abs(north - turned).mean() > 5


@pytest.mark.parametrize("rotation", range(4))
def test_the_television_covers_its_13_cells(rotation):
    image = frame_of(tv=[4, 5, rotation], stand=[8, 9, 0], agent_cells=np.zeros((0, 2)), agent_headings=[])
    dark = [(row, column) for row in range(10) for column in range(12) if np.median(patch(image, row, column)) < 100]
    assert dark == sorted((4 + row, 5 + column) for row, column in TV_BODY[rotation].tolist())


def test_goal_and_way_are_drawn():
    image = frame_of(path=[[1, 10], [2, 10], [3, 10], [4, 10]])
    assert has(patch(image, 8, 9), GOAL) and not has(patch(image, 1, 1), GOAL)
    assert has(patch(image, 4, 10), PATH) and not has(patch(frame_of(), 4, 10), PATH)


def test_a_room_without_a_drawing_is_drawn_from_its_masks():
    room = room_by_name("floorplan229")
    bare = Room(room.name, room.agent_cells, room.tv_cells, ())
    np.testing.assert_array_equal(frame_of(room=bare), frame_of(room=room))
