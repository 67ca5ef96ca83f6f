"""Layouts and their tables, and pictures."""

import numpy as np
import pytest

from rl_envs.overcooked.kitchen import Kitchen
from rl_envs.overcooked.layouts import LAYOUTS
from tests.rl_envs.overcooked.scenes import BAR, HATCH, POT_CELL, at, kitchen

SIZES = {
    "cramped_room": (4, 5, 1),
    "asymmetric_advantages": (5, 9, 2),
    "coordination_ring": (5, 5, 2),
    "forced_coordination": (5, 5, 2),
    "counter_circuit_o_1order": (5, 8, 2),
}
ROOMS = {"asymmetric_advantages": False, "forced_coordination": False}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_five_kitchens_have_their_size_pots_and_rooms(layout):
    found = Kitchen(layout)
    assert (found.height, found.width, len(found.pots)) == SIZES[layout]
    meets = found.distances[found.starts[0], found.starts[1]] < found.size
    assert meets == ROOMS.get(layout, True)


def test_pictures_show_every_cell_and_what_changes():
    world = kitchen(at(POT_CELL, "onion"), at(HATCH), {BAR: "dish"})
    empty = kitchen(at(POT_CELL), at(HATCH)).render()
    picture = world.render()
    assert picture.shape == (4 * 56 + 22, 5 * 56, 3)
    differs = (picture != empty).any(-1)[: 4 * 56].reshape(4, 56, 5, 56).any((1, 3))
    assert {tuple(cell) for cell in np.argwhere(differs).tolist()} == {BAR, (1, 2)}
