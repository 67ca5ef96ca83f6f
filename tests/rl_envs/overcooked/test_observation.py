"""What chefs see, against a plain reading of the state, plane by plane and symbol by symbol."""

import pytest

from rl_envs.overcooked.observation import SYMBOLS
from rl_envs.overcooked.words import FULL, POT, READY
from tests.rl_envs.overcooked.scenes import BAR, HATCH, POT_CELL, at, kitchen, step


def names_at(world, cell, viewer=0):
    """Names of the symbols in a cell."""
    return [SYMBOLS[number] for number in world.observe()["symbols"][0, viewer][:, cell[0], cell[1]]]


@pytest.mark.parametrize(
    ("contents", "name"),
    [
        (POT, "nothing"),
        (POT + 1, "one onion in a pot"),
        (POT + 2, "two onions in a pot"),
        (FULL + 1, "soup that cooks"),
        (READY - 1, "soup that cooks"),
        (READY, "soup that is done"),
    ],
)
def test_symbols_of_pots_say_how_far_the_soup_is(contents, name):
    world = kitchen(at(HATCH, "dish"), at(BAR), {POT_CELL: contents}, observations=["symbols"])
    assert names_at(world, POT_CELL) == ["pot", name, "nothing"]


def test_symbols_tell_oneself_from_the_other_and_what_each_carries():
    world = kitchen(at(HATCH, "soup"), at(BAR, "onion"), {BAR: "dish"}, observations=["symbols"])
    assert names_at(world, (2, 3)) == ["nothing", "nothing", "oneself with soup"]
    assert names_at(world, (2, 3), viewer=1) == ["nothing", "nothing", "the other chef with soup"]
    assert names_at(world, (2, 1)) == ["nothing", "nothing", "the other chef with onion"]
    assert names_at(world, BAR) == ["counter", "dish", "nothing"]
    assert names_at(world, HATCH) == ["hatch", "nothing", "nothing"]


def test_a_chef_shows_at_the_object_it_is_about_to_use_while_its_body_stays():
    world = kitchen(((1, 1), "east", "nothing"), at(HATCH), actions="adjacent", observations=["symbols", "lossless"])
    store = 5
    step(world, store, 13)
    assert names_at(world, (1, 0))[2] == "oneself with nothing"
    assert names_at(world, (1, 1))[2] == "nothing"
    assert world.observe()["lossless"][0, 0, 0, 1, 1] == 1
    step(world, 0, 13)
    assert names_at(world, (1, 1))[2] == "oneself with onion"
