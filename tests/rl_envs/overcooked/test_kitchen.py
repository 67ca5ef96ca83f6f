"""Layouts and their tables, what is refused, snapshots and pictures."""

import numpy as np
import pytest

from rl_envs.overcooked.kitchen import Kitchen
from rl_envs.overcooked.layouts import LAYOUTS
from rl_envs.overcooked.world import Overcooked
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


@pytest.mark.parametrize(
    ("layout", "said"),
    [
        ("counter_circuit", "counter_circuit"),
        (["XXX", "X1X"], "2 rows of 3"),
        (["XXPX", "X12", "XXXX"], "row 1"),
        (["XXPX", "X1TX", "X2XX", "XXXX"], "row 1.*'T'"),
        (["XXPX", "X11X", "XXXX"], "1.*2"),
        (["XXXX", "X12X", "XXXX"], "pot"),
        (["XXPX", "X12 ", "XXXX"], "floor"),
    ],
)
def test_a_layout_that_is_no_kitchen_is_refused_in_one_sentence(layout, said):
    with pytest.raises(ValueError, match=said):
        Overcooked(layout=layout)


def test_pictures_show_every_cell_and_what_changes():
    world = kitchen(at(POT_CELL, "onion"), at(HATCH), {BAR: "dish"})
    empty = kitchen(at(POT_CELL), at(HATCH)).render()
    picture = world.render()
    assert picture.shape == (4 * 56 + 22, 5 * 56, 3)
    differs = (picture != empty).any(-1)[: 4 * 56].reshape(4, 56, 5, 56).any((1, 3))
    assert {tuple(cell) for cell in np.argwhere(differs).tolist()} == {BAR, (1, 2)}
