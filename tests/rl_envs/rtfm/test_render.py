"""Images of RTFM show who is where and what can be read."""

import dataclasses
import functools

import numpy as np
import pytest

from rl_envs.core.render import BACKGROUND
from rl_envs.rtfm.grid import AGENT_COLOURS
from rl_envs.rtfm.render import FLOOR, ITEM, MONSTER, WALL, Scene, draw
from rl_envs.rtfm.words import LEGEND
from tests.rl_envs.images import patch_of, share
from tests.rl_envs.rtfm.scenes import RIGHT, STAY, situation

CELL = 84
patch = functools.partial(patch_of, cell=CELL)
SCENE = Scene(
    size=6,
    agents=[(1, 1), (4, 2)],
    is_agent_alive=[True, True],
    carried=["nothing", "arcane axe"],
    monsters=[("fire wolf", (2, 3)), ("b dragon", (3, 3))],
    items=[("blessed sword", (4, 4))],
    document="blessed beat fire . wolf are star alliance .",
    goal="defeat the star alliance",
)


def changed(**changes):
    return draw(dataclasses.replace(SCENE, **changes))


@pytest.mark.parametrize(
    ("place", "colour", "least"),
    [
        ((0, 3), WALL, 0.95),
        ((1, 4), FLOOR, 0.9),
        ((1, 1), AGENT_COLOURS[0], 0.2),
        ((4, 2), AGENT_COLOURS[1], 0.2),
        ((2, 3), LEGEND["fire monster"], 0.4),
        ((3, 3), MONSTER, 0.4),
        ((4, 4), ITEM, 0.5),
    ],
)
def test_everything_is_drawn_in_its_colour_at_its_cell(place, colour, least):
    image = draw(SCENE)
    assert image.dtype == np.uint8 and image.shape[0] >= 6 * CELL
    assert share(patch(image, place), colour) > least


CHANGES = [
    {"document": "arcane beat cold ."},
    {"goal": "defeat the rebel enclave"},
    {"carried": ["nothing", "nothing"]},
]


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_document_goal_and_inventories_stand_beside_the_room(change):
    plain, other = draw(SCENE), changed(**change)
    np.testing.assert_array_equal(plain[:, : 6 * CELL], other[:, : 6 * CELL])
    assert (plain[:, 6 * CELL :] != other[:, 6 * CELL :]).any()


def test_a_long_document_and_a_caption_make_the_image_higher_instead_of_cutting_it():
    long = changed(
        document=" . ".join(f"sentence number {n} is quite long and has to be wrapped" for n in range(30)) + " ."
    )
    assert long.shape[0] > draw(SCENE).shape[0]
    assert share(long[-12:, 6 * CELL :].astype(int), BACKGROUND) > 0.99
    assert draw(SCENE, caption="right, stay").shape == draw(SCENE).shape


def test_worlds_draw_themselves_as_they_ended():
    world = situation([(3, 3), (6, 6)], ((3, 4), (8, 8), (8, 7)), (None, (2, 2), None), held=[0, 1])
    alive = world.render()
    world.step(np.array([[RIGHT, STAY]]))
    dead = world.render()
    assert share(patch(alive, (3, 3)), AGENT_COLOURS[0]) > 0.2 > share(patch(dead, (3, 4)), AGENT_COLOURS[0]) > 0.02
    assert share(patch(dead, (2, 2)), ITEM) > 0.5
