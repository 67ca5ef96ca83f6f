"""MESSENGER's 108 games (entities as enemy, message and goal) and their splits (Hanjie et al., 2021, section 3).

The published file follows from rules, so it is not needed. Training has two kinds of games: entities in many
combinations (`train_multi_comb`), and two trios that always occur together (`train_single_comb`). No (entity, role)
pair of validation or test occurs in training.
"""

import itertools
import os
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from rl_envs.core.json_file import JsonFileError, read_object
from rl_envs.core.spec import Array
from rl_envs.messenger.symbols import ENTITIES, ROLES

Games: TypeAlias = Mapping[str, Array]
"""List name -> [G, 3] int64, entity numbers of enemy, message and goal."""

LISTS = ("train_multi_comb", "train_single_comb", "val", "test")
SPLITS: dict[str, dict[str, float]] = {
    "train": {"train_multi_comb": 0.75, "train_single_comb": 0.25},
    "train_mc": {"train_multi_comb": 1.0},
    "train_sc": {"train_single_comb": 1.0},
    "val": {"val": 1.0},
    "test": {"test": 1.0},
    "test_se": {"test": 1.0},
}
"""Split of a world -> probability of each list. `test_se`: test games with the movements of training."""

MAX_FILE_BYTES = 2**20
_FORM = "the published games.json (four lists of [enemy, message, goal])"
_SINGLE = (("dog", "fish", "bird"), ("fish", "bird", "dog"), ("sword", "ball", "mage"), ("ball", "mage", "sword"))
_MULTI = (
    ("robot", "ship", "queen", "thief"),
    ("airplane", "ship", "scientist", "thief"),
    ("airplane", "robot", "scientist", "queen"),
)
_EVALUATION = (
    (("airplane", "scientist"), ("bird", "mage")),
    (("robot", "dog"), ("queen", "sword")),
    (("thief", "ball"), ("ship", "fish")),
)
"""Two pairs of entities for each role; a game with an odd number of members from second pairs is a test game."""


class GamesError(ValueError):
    """A file of games is not usable; the message gives the reason."""


@cache
def games_by_rule() -> Games:
    """The games of the authors' file, in an order of our own."""
    multi = [triple for triple in itertools.product(*_MULTI) if len(set(triple)) == len(triple)]
    held_out: tuple[list[tuple[str, ...]], list[tuple[str, ...]]] = ([], [])
    for pairs in itertools.product((0, 1), repeat=len(ROLES)):
        chosen = [_EVALUATION[role][pair] for role, pair in enumerate(pairs)]
        held_out[sum(pairs) % 2].extend(itertools.product(*chosen))
    lists: list[Iterable[tuple[str, ...]]] = [multi, _SINGLE, *held_out]
    return {name: numbered(games) for name, games in zip(LISTS, lists, strict=True)}


def numbered(games: Iterable[Iterable[str]]) -> Array:
    """Entity numbers of games given as names, [G, 3] int64."""
    return np.array([[ENTITIES.index(entity) for entity in game] for game in games], np.int64).reshape(-1, len(ROLES))


def load_games(path: str | os.PathLike[str]) -> Games:
    """Read and check a file in the authors' format; raises GamesError."""
    try:
        document = read_object(path, MAX_FILE_BYTES, _FORM)
        _check_lists(document)
        seen: dict[tuple[str, ...], str] = {}
        for name in LISTS:
            for number, game in enumerate(document[name]):
                where = f"{name}[{number}]"
                _check_game(game, where)
                if tuple(game) in seen:
                    raise GamesError(f"{where}: the game {game} is also {seen[tuple(game)]}: keep one of them")
                seen[tuple(game)] = where
    except (JsonFileError, GamesError) as error:
        raise GamesError(f"games file {os.fspath(path)}: {error}") from None
    return {name: numbered(document[name]) for name in LISTS}


def _check_lists(document: dict[str, Any]) -> None:
    for key in document:
        if key not in LISTS:
            raise GamesError(
                f"unknown key {key[:80]!r}: remove it or correct its spelling; known are {', '.join(LISTS)}"
            )
    for name in LISTS:
        if not isinstance(document.get(name), list) or not document[name]:
            raise GamesError(f"{name}: must be a list of at least one game; {_FORM} shows the form")


def _check_game(game: object, where: str) -> None:
    is_triple = isinstance(game, list) and len(game) == len(ROLES) and all(entity in ENTITIES for entity in game)
    if not is_triple or len(set(game)) != len(ROLES):  # type: ignore[arg-type, call-overload]
        raise GamesError(f"{where}: must name three different entities of {', '.join(ENTITIES)}; got {str(game)[:80]}")


def pairs_of_games(games: Games, split: str) -> set[tuple[int, int]]:
    """All (entity number, role) pairs in the games of a split."""
    triples = [game for name in SPLITS[split] for game in games[name].tolist()]
    return {(entity, role) for game in triples for role, entity in enumerate(game)}


class GameSampler:
    """Draws the games of one split."""

    def __init__(self, games: Games, split: str) -> None:
        """Assign a part of the unit interval to every game."""
        shares = SPLITS[split]
        self._games = np.concatenate([games[name] for name in shares])
        chances = np.concatenate(
            [np.full(len(games[name]), share / len(games[name])) for name, share in shares.items()]
        )
        self._upper = np.cumsum(chances)

    def draw(self, uniforms: Array) -> Array:
        """[K, 3] int64, entity numbers of enemy, message and goal, one game for each uniform number [K]."""
        return self._games[np.searchsorted(self._upper[:-1], uniforms, side="right")]
