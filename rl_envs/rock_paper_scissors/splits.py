"""Which letters beat which, in training and in evaluation: three ways to ask for more and more of a reader.

RTFM (Zhong et al., 2020, appendix on rock-paper-scissors). A game is an ordered triple of letters in which the next
letter beats the one before, in a circle; so each circle has three triples. This file must not know about rooms.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations, permutations

import numpy as np

from rl_envs.core.chance import mix
from rl_envs.core.spec import Array

LETTERS = "abcdefghijklmnopqrstuvwxyz"
SPLITS = ("train", "eval")
SETTINGS = ("permutation", "ten_letters", "new_edge", "new_edge_and_nodes")
_FEW, _MORE, _MANY = 5, 10, 20
_KEYS = {_FEW: 117, _MORE: 1}
"""By number of letters: the first with which both halves of the circles show every relation, so that only their
combination is new."""
_WINDOWS = {"train": (0, 1, 3), "eval": (1, 2, 4)}

Triple = tuple[int, int, int]


def triples(setting: str, split: str) -> Array:
    """All games of a split.

    Args:
        setting: `permutation`, circles of five known letters that were not seen; `ten_letters`, which is not the
            paper's, the same of ten, enough for small readers to generalise from; `new_edge`, known letters of twenty
            between which no relation was seen; `new_edge_and_nodes`, five letters that were not seen.
        split: `train` or `eval`.

    Returns:
        [G, 3] int64, places in `LETTERS`, in canonical order.

    Raises:
        ValueError: an unknown setting or split.
    """
    if setting not in SETTINGS or split not in SPLITS:
        raise ValueError(
            f"there is no split {split!r} of setting {setting!r}: settings are {', '.join(SETTINGS)}, "
            f"splits {', '.join(SPLITS)}"
        )
    chosen = {
        "permutation": lambda split: _half_of_circles(split, _FEW),
        "ten_letters": lambda split: _half_of_circles(split, _MORE),
        "new_edge": _windows,
        "new_edge_and_nodes": _own_letters,
    }[setting](split)
    return np.array(sorted(chosen), np.int64)


def circle(triple: Sequence[int]) -> tuple[int, ...]:
    """The same game for all three rotations of a triple."""
    start = list(triple).index(min(triple))
    return (*triple[start:], *triple[:start])


def _half_of_circles(split: str, letters: int) -> Iterable[Triple]:
    """Half of the circles of some letters, in all rotations; chosen by a keyed permutation of circles."""
    games = list(permutations(range(letters), 3))
    circles = sorted({circle(game) for game in games})
    order = mix(np.arange(len(circles), dtype=np.uint64) + np.uint64(_KEYS[letters])).argsort()
    half = np.array_split(order, 2)[SPLITS.index(split)]
    chosen = {circles[number] for number in half}
    return (game for game in games if circle(game) in chosen)


def _windows(split: str) -> Iterable[Triple]:
    """Windows of five out of twenty letters, two apart: the 1st, 2nd and 4th letter train, the others' are asked for.

    Evaluation keeps the windows whose letters all occur in training.
    """
    windows = [tuple(first + place for place in _WINDOWS[split]) for first in range(0, _MANY - 4, 2)]
    known = {first + place for first in range(0, _MANY - 4, 2) for place in _WINDOWS["train"]}
    return (game for window in windows if known.issuperset(window) for game in permutations(window))  # type: ignore[misc]


def _own_letters(split: str) -> Iterable[Triple]:
    """Five letters for training, five others for evaluation."""
    first = _FEW * SPLITS.index(split)
    return (game for few in combinations(range(first, first + _FEW), 3) for game in permutations(few))  # type: ignore[misc]
