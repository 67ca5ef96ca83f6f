"""What a world tells a learner's loss: the word of the document that answers, and nothing unless it is asked."""

import numpy as np
import pytest

from rl_envs.rock_paper_scissors.splits import SETTINGS
from rl_envs.rock_paper_scissors.world import RockPaperScissors

WORLDS = 60


def worlds(**arguments):
    return RockPaperScissors(WORLDS, size=6, setting="ten_letters", **arguments)


def letters_on_grid(world, number):
    """The dragon's letter, by reading the names in the room."""
    names = [world.lexicon.names[name] for name in world.observe()["grid"][number].ravel()]
    (dragon,) = [name.split()[0] for name in names if "dragon" in name]
    return dragon


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("split", ["train", "eval"])
def test_the_answer_is_the_word_before_beats_the_dragons_letter(setting, split):
    """By brute force: read the whole document as text and look for the sentence that ends in the dragon's letter."""
    world = RockPaperScissors(WORLDS, size=6, setting=setting, split=split, tells_answer=True)
    answer = world.reset(3)["answer_word"]
    assert answer.shape == (WORLDS, 1) and answer.dtype == np.uint8
    for number in range(WORLDS):
        words = world.lexicon.decode(world.texts["document"].look_up(world.state["document"][number])).split()
        dragon = letters_on_grid(world, number)
        right = [k for k in range(len(words) - 2) if words[k + 1 : k + 3] == ["beats", dragon]]
        assert right == [answer[number, 0]]


def test_the_item_with_that_letter_wins():
    world = worlds(tells_answer=True)
    answer = world.reset(5)["answer_word"]
    world.auto_resets = False
    state = world.snapshot()
    for number in range(WORLDS):
        words = world.lexicon.decode(world.texts["document"].look_up(state["document"][number])).split()
        names = [world.lexicon.names[name] for name in state["item_names"][number]]
        assert names.index(words[answer[number, 0]]) + 1 == state["beaten_by"][number, 0]


def test_the_answer_is_observed_on_demand_and_changes_nothing_else():
    plain, telling = worlds(), worlds(tells_answer=True)
    plain.reset(2), telling.reset(2)
    generator = np.random.default_rng(0)
    for _ in range(40):
        actions = generator.integers(5, size=(WORLDS, 1))
        one, other = plain.step(actions), telling.step(actions)
        answer = other[0].pop("answer_word")
        assert telling.observation_spec["answer_word"].contains(answer)
        np.testing.assert_equal(one[:2], other[:2])
