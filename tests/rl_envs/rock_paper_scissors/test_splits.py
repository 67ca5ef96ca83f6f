"""The three splits of the reading task and what they share (RTFM, appendix; counts as the authors' code makes them)."""

import numpy as np
import pytest

from rl_envs.rock_paper_scissors.splits import LETTERS, SETTINGS, circle, triples
from rl_envs.rock_paper_scissors.world import RockPaperScissors


def parts(setting, split):
    """Games, circles, relations (who beats whom) and letters of a split."""
    games = [tuple(game) for game in triples(setting, split).tolist()]
    relations = {(game[n], game[(n + 1) % 3]) for game in games for n in range(3)}
    return games, {circle(game) for game in games}, relations, {letter for game in games for letter in game}


TRAINING_CIRCLES = [
    tuple(map(int, circle)) for circle in ["013", "021", "024", "032", "034", "041", "123", "142", "234", "243"]
]


@pytest.mark.parametrize(
    ("setting", "split", "counts"),
    [
        ("permutation", "train", (30, 10, 20, 5)),
        ("permutation", "eval", (30, 10, 20, 5)),
        ("ten_letters", "train", (360, 120, 90, 10)),
        ("ten_letters", "eval", (360, 120, 90, 10)),
        ("new_edge", "train", (48, 16, 48, 17)),
        ("new_edge", "eval", (36, 12, 36, 13)),
        ("new_edge_and_nodes", "train", (60, 20, 20, 5)),
        ("new_edge_and_nodes", "eval", (60, 20, 20, 5)),
    ],
)
def test_splits_have_so_many_games_circles_relations_and_letters(setting, split, counts):
    found = parts(setting, split)
    assert tuple(len(set(part)) for part in found) == counts
    assert len(found[0]) == counts[0]


@pytest.mark.parametrize(
    ("setting", "shared"),
    [
        ("permutation", (0, 0, 20, 5)),
        ("ten_letters", (0, 0, 90, 10)),
        ("new_edge", (0, 0, 0, 13)),
        ("new_edge_and_nodes", (0, 0, 0, 0)),
    ],
)
def test_evaluation_shares_with_training_what_its_setting_says(setting, shared):
    train, evaluation = (parts(setting, split) for split in ("train", "eval"))
    overlap = tuple(len(set(a) & set(b)) for a, b in zip(train, evaluation, strict=True))
    assert overlap == shared


@pytest.mark.parametrize("setting", SETTINGS)
def test_validation_and_test_are_parts_of_evaluation_that_share_no_circle(setting):
    whole, valid, test = (parts(setting, split) for split in ("eval", "valid", "test"))
    assert sorted(valid[0] + test[0]) == sorted(whole[0])
    assert not valid[1] & test[1]
    assert len(valid[1]) == len(whole[1]) // 3


def test_a_circle_is_the_same_however_it_is_turned():
    assert circle((3, 1, 2)) == circle((1, 2, 3)) == circle((2, 3, 1)) == (1, 2, 3) != circle((1, 3, 2))


def test_the_split_of_circles_is_the_one_of_all_results():
    known = sorted({circle(game) for game in triples("permutation", "train").tolist()})
    assert known == TRAINING_CIRCLES


@pytest.mark.parametrize(("setting", "split"), [("permutation", "eval"), ("new_edge", "train")])
def test_worlds_play_all_games_of_their_split_and_every_letter_as_the_dragons(setting, split):
    world = RockPaperScissors(3000, setting=setting, split=split)
    world.reset(0)
    np.testing.assert_array_equal(np.unique(world.state["triple"], axis=0), triples(setting, split))
    assert (abs(np.bincount(world.state["dragon"]) - 1000) < 4 * (3000 * 2 / 9) ** 0.5).all()
    letters = np.take_along_axis(world.state["triple"], world.state["dragon"][:, None], 1)[:, 0]
    names = np.array(world.lexicon.names)[world.state["monster_names"][:, 0]]
    assert names.tolist() == [f"{LETTERS[letter]} dragon" for letter in letters]
