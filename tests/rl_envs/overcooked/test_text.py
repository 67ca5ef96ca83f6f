"""A state as text: exact inverse, and a sentence for what cannot be read."""

import numpy as np
import pytest

from rl_envs.overcooked.layouts import LAYOUTS
from rl_envs.overcooked.text import read_states
from rl_envs.overcooked.words import FULL, NOTHING, POT, READY, SOUP
from rl_envs.overcooked.world import Overcooked
from tests.rl_envs.overcooked.scenes import BAR, HATCH, POT_CELL, at, kitchen

DESCRIBED = ("agent_cells", "headings", "held", "contents", "episode_length", "soups")


def any_states(world, random):
    """States of every kind, also such as play seldom meets."""
    own, worlds = world.kitchen.contents, world.num_worlds
    floor = np.flatnonzero(world.kitchen.is_floor)
    things, pots = (
        random.integers(NOTHING, SOUP + 1, (worlds, own.size)),
        random.integers(POT, READY + 1, (worlds, own.size)),
    )
    pots[pots == FULL] += 1
    return {
        "agent_cells": np.stack([random.permutation(floor)[:2] for _ in range(worlds)]),
        "headings": random.integers(4, size=(worlds, 2)),
        "held": random.integers(4, size=(worlds, 2)),
        "contents": np.select([own == NOTHING, own == POT], [things, pots], own),
        "episode_length": random.integers(400, size=worlds),
        "soups": random.integers(30, size=worlds),
    }


@pytest.mark.parametrize("layout", LAYOUTS)
def test_reading_is_the_inverse_of_describing(layout):
    world = Overcooked(200, layout=layout)
    states = any_states(world, np.random.default_rng(0))
    world.restore(states)
    texts = [world.describe(index) for index in range(world.num_worlds)]
    read = read_states(world.kitchen, texts)
    assert set(read) == set(DESCRIBED)
    np.testing.assert_equal(read, states)
    assert len(set(texts)) == len({str([value[i].tolist() for value in states.values()]) for i in range(200)})


def test_a_description_reads_like_this():
    world = kitchen(at(POT_CELL, "onion"), at(HATCH), {POT_CELL: FULL + 7, BAR: "dish"})
    assert world.describe() == (
        "Step 0, soups served: 0.\n"
        "Pot 0 at row 0, column 2: a soup that has cooked for 7 of 20 steps.\n"
        "On the counters: a dish at row 2, column 0.\n"
        "Chef 0 at row 1, column 2 faces north and holds an onion.\n"
        "Chef 1 at row 2, column 3 faces south and holds nothing."
    )


@pytest.mark.parametrize(
    ("wrong", "right", "said"),
    [
        ("Step 0", "Step minus", "step"),
        ("Pot 0 at row 0, column 2", "Pot 0 at row 0, column 3", "row 0, column 2"),
        ("empty", "4 onions", "4 onions"),
        ("empty", "a soup that has cooked for 20 of 20 steps", "20 of 20"),
        ("nothing.\nChef 0", "a fish at row 0, column 0.\nChef 0", "a fish"),
        ("nothing.\nChef 0", "an onion at row 1, column 0.\nChef 0", "row 1, column 0"),
        ("nothing.\nChef 0", "an onion at row 9, column 0.\nChef 0", "row 9, column 0"),
        ("nothing.\nChef 0", "an onion somewhere.\nChef 0", "an onion somewhere"),
        ("faces north", "faces up", "'up'"),
        ("Chef 1", "Chef 2", "chef 1"),
        ("holds nothing.", "holds nothing.\nThe end.", "line|chef 1"),
    ],
)
def test_a_text_that_cannot_be_read_is_refused_with_its_number_and_the_line(wrong, right, said):
    world = kitchen(at(POT_CELL), at(HATCH))
    good = world.describe()
    assert wrong in good
    with pytest.raises(ValueError, match="state 1 of 2: .*(" + said.replace("(", r"\(") + ")"):
        read_states(world.kitchen, [good, good.replace(wrong, right)])
