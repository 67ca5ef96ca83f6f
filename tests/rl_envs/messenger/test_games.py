"""The games of each split follow from rules (MESSENGER, section 3); files of games are checked key by key."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from rl_envs.messenger.games import LISTS, SPLITS, GameSampler, GamesError, games_by_rule, load_games, pairs_of_games
from rl_envs.messenger.symbols import ENTITIES

WORDS = {
    name: [[ENTITIES[entity] for entity in game] for game in games.tolist()] for name, games in games_by_rule().items()
}
PUBLISHED = Path(os.environ["MESSENGER_TEXT_DIR"]) if "MESSENGER_TEXT_DIR" in os.environ else None


def test_there_are_108_games_in_four_lists_and_all_are_different():
    assert {name: len(games) for name, games in WORDS.items()} == dict(zip(LISTS, (40, 4, 32, 32), strict=True))
    every = [tuple(game) for games in WORDS.values() for game in games]
    assert len(set(every)) == 108 and all(len(set(game)) == 3 for game in every)


def test_no_role_of_an_entity_in_training_is_its_role_in_validation_or_test():
    games = games_by_rule()
    train, val, test = (pairs_of_games(games, split) for split in ("train", "val", "test"))
    assert (len(train), len(val), val == test) == (24, 12, True)
    assert train.isdisjoint(val)


def test_two_trios_are_always_together_and_others_occur_in_many_combinations():
    companies = {name: {} for name in LISTS}
    for name in LISTS:
        for game in WORDS[name]:
            companies[name].setdefault(frozenset(game), []).append(game)
    trios = companies["train_single_comb"]
    assert len(trios) == 2 and not frozenset.intersection(*trios)
    for one, other in trios.values():
        assert all(before != after for before, after in zip(one, other, strict=True))
    for entity in {entity for game in WORDS["train_multi_comb"] for entity in game}:
        assert entity not in frozenset.union(*trios)
        assert len([company for company in companies["train_multi_comb"] if entity in company]) > 5


@pytest.mark.skipif(PUBLISHED is None, reason="MESSENGER_TEXT_DIR names no folder with the published games")
def test_the_rules_give_the_published_games():
    published = load_games(PUBLISHED / "games.json")
    for name, games in games_by_rule().items():
        assert {tuple(game) for game in games.tolist()} == {tuple(game) for game in published[name].tolist()}
        assert len(games) == len(published[name])


@pytest.mark.parametrize("split", SPLITS)
def test_a_split_draws_its_lists_in_their_shares_and_games_uniformly(split):
    sampler = GameSampler(games_by_rule(), split)
    drawn = sampler.draw((np.arange(100_000) + 0.5) / 100_000)
    games, counts = np.unique(drawn, axis=0, return_counts=True)
    shares = dict(zip(map(tuple, games.tolist()), counts / len(drawn), strict=True))
    lists = {name: games_by_rule()[name].tolist() for name in SPLITS[split]}
    wanted = {tuple(game): share / len(lists[name]) for name, share in SPLITS[split].items() for game in lists[name]}
    assert shares == pytest.approx(wanted, abs=2e-5)
    assert (sampler.draw(np.array([0.0, np.nextafter(1, 0)])) >= 0).all()


def written(tmp_path, document):
    path = tmp_path / "games.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


def test_a_file_of_games_is_read_as_it_is(tmp_path):
    read = load_games(written(tmp_path, WORDS))
    assert all((read[name] == games).all() for name, games in games_by_rule().items())


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"val": None}, "val"),
        ({"test": []}, "test"),
        ({"tests": []}, ".*'tests'"),
        ({"val": [["dog", "dog", "bird"]]}, r"val\[0\]"),
        ({"val": [["dog", "cat", "bird"]]}, r"val\[0\]"),
        ({"val": [["dog", "bird"]]}, r"val\[0\]"),
        ({"val": [[["dog"], "bird", "fish"]]}, r"val\[0\]"),
        ({"val": [["dog", "fish", "bird"]]}, r"val\[0\].*train_single_comb\[0\]"),
    ],
)
def test_faults_of_a_file_of_games_are_told_with_their_key_path(tmp_path, change, sentence):
    with pytest.raises(GamesError, match=f"games.json: {sentence}"):
        load_games(written(tmp_path, WORDS | change))
