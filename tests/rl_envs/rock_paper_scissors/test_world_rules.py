"""What one step of the reading task does (RTFM, appendix; the authors' engine where it is silent)."""

import numpy as np
import pytest

from rl_envs.rock_paper_scissors.splits import LETTERS, triples
from rl_envs.rock_paper_scissors.world import RockPaperScissors

STAY, UP, DOWN, LEFT, RIGHT = range(5)
SIZE = 6
WIN, LOSS, GOES_ON = (1.0, True), (-1.0, True), (-0.02, False)


def room(agent, dragon, items=(None, None, None), held=0, letter=0, triple=(0, 1, 2), **arguments):
    world = RockPaperScissors(size=SIZE, **arguments)
    world.auto_resets = False
    world.restore(
        {
            "agent_cells": np.array([[agent[0] * SIZE + agent[1]]]),
            "monster_cells": np.array([[dragon[0] * SIZE + dragon[1]]]),
            "item_cells": np.array([[item[0] * SIZE + item[1] if item else 0 for item in items]]),
            "triple": np.array([triple]),
            "dragon": np.array([letter]),
            "held": np.array([[held]]),
        }
    )
    return world


def step(world, action, dragon_moves):
    _, reward, terminated, _, _ = world.step(np.array([[action]]), {"monster_moves": np.array([[dragon_moves]])})
    return reward[0, 0], bool(terminated[0])


@pytest.mark.parametrize("letter", range(3))
@pytest.mark.parametrize("held", range(4))
def test_only_the_letter_that_beats_the_dragons_wins(letter, held):
    """Item k is the letter after letter k of the triple, so it beats the dragon with letter k."""
    for action, move in ((STAY, LEFT), (RIGHT, STAY)):
        world = room((2, 2), (2, 3), held=held, letter=letter)
        assert step(world, action, move) == (WIN if held == letter + 1 else LOSS)


def test_the_dragon_moves_first():
    """It kills the agent before the agent can step onto the right letter, or away."""
    assert step(room((2, 2), (2, 3), items=((2, 1), None, None)), LEFT, LEFT) == LOSS
    world = room((2, 2), (2, 4), items=((1, 2), None, None))
    assert step(world, UP, LEFT) == GOES_ON and world.state["held"][0, 0] == 1


def test_an_agent_that_beat_the_dragon_still_moves():
    world = room((2, 2), (2, 3), held=1)
    assert step(world, UP, LEFT) == WIN
    assert world.observe()["position"][0, 0, 0].tolist() == [1, 2]


def test_a_dead_agent_does_not_move():
    world = room((2, 2), (2, 3))
    step(world, UP, LEFT)
    assert world.state["agent_cells"][0, 0] == 2 * SIZE + 2 and not world.state["agent_alive"][0, 0]


def test_the_limit_is_a_loss():
    assert step(room((1, 1), (4, 4), max_episode_steps=1), STAY, STAY) == LOSS


def test_names_document_goal_and_inventory_are_letters():
    world = room((2, 2), (3, 3), items=((1, 1), (1, 2), (1, 3)), held=0, letter=1, triple=(7, 4, 12))
    seen, names = world.observe(), np.array(world.lexicon.names)
    shown = names[seen["grid"][0, 0, :, :, 0]]
    assert shown[3, 3] == "e dragon" and shown[1, 1:4].tolist() == ["e", "m", "h"] and shown[2, 2] == "you"
    document, goal = (world.lexicon.decode(world.texts[key].look_up(seen[key][0, 0])) for key in ("document", "goal"))
    assert document == "e beats h . m beats e . h beats m ." and goal == "dragon ."
    assert names[seen["inventory"][0, 0, 0]] == "unarmed"
    step(world, LEFT, STAY), step(world, UP, STAY)
    assert names[world.observe()["inventory"][0, 0, 0]] == "e ; unarmed"


@pytest.mark.parametrize(("setting", "split"), [("permutation", "eval"), ("new_edge", "train")])
def test_worlds_play_all_games_of_their_split_and_every_letter_as_the_dragons(setting, split):
    world = RockPaperScissors(3000, setting=setting, split=split)
    world.reset(0)
    np.testing.assert_array_equal(np.unique(world.state["triple"], axis=0), triples(setting, split))
    assert (abs(np.bincount(world.state["dragon"]) - 1000) < 4 * (3000 * 2 / 9) ** 0.5).all()
    letters = np.take_along_axis(world.state["triple"], world.state["dragon"][:, None], 1)[:, 0]
    names = np.array(world.lexicon.names)[world.state["monster_names"][:, 0]]
    assert names.tolist() == [f"{LETTERS[letter]} dragon" for letter in letters]
