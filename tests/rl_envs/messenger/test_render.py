"""Images of MESSENGER show who is where and what can be read."""

import dataclasses
import functools

import numpy as np
import pytest

from rl_envs.core.render import BACKGROUND
from rl_envs.messenger.render import FLOOR, ROLE_COLOURS, Scene, Sprite, draw
from rl_envs.messenger.symbols import AGENT_COLOURS
from tests.rl_envs.images import patch_of, share
from tests.rl_envs.messenger.scenes import situation

CELL = 52
patch = functools.partial(patch_of, cell=CELL)
SCENE = Scene(
    sprites=[Sprite("dog", 0, (2, 3)), Sprite("fish", 1, (4.5, 6)), Sprite("bird", 2, (8, 8))],
    avatars=[(5, 1), (7, 2)],
    is_alive=[True, True],
    has_message=[False, True],
    manual=["the dog is the deadly enemy.", "the fish is the secret memo.", "the bird is the vital aim."],
)


def changed(**changes):
    return draw(dataclasses.replace(SCENE, **changes))


@pytest.mark.parametrize(
    ("place", "colour", "least"),
    [
        ((0, 0), FLOOR, 0.85),
        ((2, 3), ROLE_COLOURS[0], 0.5),
        ((4.5, 6), ROLE_COLOURS[1], 0.5),
        ((8, 8), ROLE_COLOURS[2], 0.5),
        ((5, 1), AGENT_COLOURS[0], 0.15),
        ((7, 2), AGENT_COLOURS[1], 0.08),
    ],
)
def test_everything_is_drawn_in_its_colour_where_it_is(place, colour, least):
    assert share(patch(draw(SCENE), place), colour) > least


def test_the_manual_stands_beside_the_grid_and_attention_before_its_sentences():
    plain = draw(SCENE)
    for change in ({"manual": ["something else."] * 3}, {"attention": np.eye(3).tolist()}):
        other = changed(**change)
        np.testing.assert_array_equal(plain[:, : 10 * CELL], other[:, : 10 * CELL])
        assert (plain[:, 10 * CELL :] != other[:, 10 * CELL :]).any()
    panel = changed(attention=np.eye(3).tolist())[:, 10 * CELL :].astype(int)
    none = changed(attention=np.zeros((3, 3)).tolist())[:, 10 * CELL :].astype(int)
    for colour in ROLE_COLOURS:
        assert share(panel, colour) > 0 == share(none, colour)


def test_a_caption_and_a_long_manual_do_not_change_the_size_of_a_image():
    long = ["this sentence is about as long as the longest one that a person has ever written for this game, " * 2] * 6
    long = [sentence[:150] for sentence in long]
    assert draw(SCENE).shape == draw(SCENE, caption="up, stay").shape == changed(manual=long).shape
    very_long = changed(manual=long * 4)
    assert very_long.shape[0] > draw(SCENE).shape[0]
    assert share(very_long[-12:, 10 * CELL :].astype(int), BACKGROUND) > 0.99


def test_a_worlds_scene_lists_sprites_as_they_are_observed_with_their_true_roles():
    world = situation(((1, 1.5), (4, 4), (8, 8), (6, 6), (2, 2)), stage=3)
    scene, seen = world.scene(), world.observe()
    assert [int(row) * 10 + int(column) for row, column in (sprite.place for sprite in scene.sprites)] == seen["cells"][
        0, 0, -1
    ].tolist()
    roles = {sprite.place: (sprite.name, sprite.role) for sprite in scene.sprites}
    assert roles == {
        (1, 1.5): ("robot", 0),
        (4, 4): ("airplane", 1),
        (8, 8): ("scientist", 2),
        (6, 6): ("airplane", 0),
        (2, 2): ("scientist", 0),
    }
    assert scene.manual == [world.sentences[number] for number in seen["manual"][0, 0]]
