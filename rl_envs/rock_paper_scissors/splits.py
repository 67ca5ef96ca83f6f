"""Games of letters for training and evaluation, in settings that require more and more generalisation.

RTFM (Zhong et al., 2020, appendix on rock-paper-scissors). A game is an ordered triple of letters in which each letter
is beaten by the next one, in a circle. So each circle has three triples.
"""

from collections.abc import Iterable, Sequence
from itertools import combinations, permutations

import numpy as np

from rl_envs.core.arguments import one_of
from rl_envs.core.chance import mix
from rl_envs.core.spec import Array

LETTERS = "abcdefghijklmnopqrstuvwxyz"
SPLITS = ("train", "eval", "valid", "test")
"""`train` and `eval` are the paper's; `valid`, where settings are chosen, and `test` together are `eval`."""
SETTINGS = ("permutation", "ten_letters", "new_edge", "new_edge_and_nodes")
_FEW, _MORE, _MANY = 5, 10, 20
_KEYS = {_FEW: 117, _MORE: 1}
"""Number of letters -> key of the permutation: the first key with which both halves of the circles contain every
relation, so that only combinations of relations are new in evaluation."""
_PART_KEY = 7
"""Key of the permutation of the circles of `eval` whose first third is `valid`."""
_WINDOWS = {"train": (0, 1, 3), "eval": (1, 2, 4)}

Triple = tuple[int, int, int]


def triples(setting: str, split: str) -> Array:
    """All games of a split, [G, 3] int64, indices into `LETTERS`, in lexicographic order.

    Args:
        setting: `permutation`: unseen circles of five known letters. `ten_letters` (not in the paper): the same with
            ten letters, enough for small networks to generalise. `new_edge`: unseen relations between known letters of
            twenty. `new_edge_and_nodes`: five unseen letters.
        split: `train`, `eval`, or a part of `eval`: `valid` or `test`, which share no circle.
    """
    one_of(SETTINGS, setting=setting)
    one_of(SPLITS, split=split)
    chosen = {
        "permutation": lambda split: _half_the_circles(split, _FEW),
        "ten_letters": lambda split: _half_the_circles(split, _MORE),
        "new_edge": _windows,
        "new_edge_and_nodes": _own_letters,
    }[setting]("train" if split == "train" else "eval")
    games = sorted(chosen)
    return np.array(games if split in _WINDOWS else _part(games, split), np.int64)


def _part(games: Sequence[Triple], split: str) -> list[Triple]:
    """Games of `valid` or `test` among those of `eval`: a third of the circles, or the rest."""
    valid, test = _split_circles(games, _PART_KEY, parts=3)
    return valid if split == "valid" else test


def _split_circles(games: Sequence[Triple], key: int, parts: int) -> tuple[list[Triple], list[Triple]]:
    """Games of 1 of `parts` equal parts of the circles, chosen by a keyed permutation, and all other games."""
    circles = sorted({circle(game) for game in games})
    order = mix(np.arange(len(circles), dtype=np.uint64) + np.uint64(key)).argsort()
    first = {circles[number] for number in order[: len(circles) // parts]}
    return [game for game in games if circle(game) in first], [game for game in games if circle(game) not in first]


def circle(triple: Sequence[int]) -> tuple[int, ...]:
    """The rotation of a triple that starts with its smallest letter; equal for all three rotations."""
    start = list(triple).index(min(triple))
    return (*triple[start:], *triple[:start])


def _half_the_circles(split: str, letters: int) -> Iterable[Triple]:
    """Half of the circles of the first letters, in all rotations, chosen by a keyed permutation of circles."""
    games = list(permutations(range(letters), 3))
    return _split_circles(games, _KEYS[letters], parts=2)[split == "eval"]


def _windows(split: str) -> Iterable[Triple]:
    """Windows of five out of twenty letters, two apart: letters 1, 2 and 4 train, letters 2, 3 and 5 evaluate."""
    windows = [tuple(first + place for place in _WINDOWS[split]) for first in range(0, _MANY - 4, 2)]
    known = {first + place for first in range(0, _MANY - 4, 2) for place in _WINDOWS["train"]}
    return (game for window in windows if known.issuperset(window) for game in permutations(window))  # type: ignore[misc]


def _own_letters(split: str) -> Iterable[Triple]:
    """Five letters for training, five others for evaluation."""
    first = _FEW * (split == "eval")
    return (game for few in combinations(range(first, first + _FEW), 3) for game in permutations(few))  # type: ignore[misc]
