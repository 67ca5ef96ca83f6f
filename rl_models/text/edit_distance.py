"""The nearest of many texts by edit distance in tokens: insertions, deletions and replacements each cost 1.

Levenshtein, 1966, with words and punctuation marks as tokens. Most texts are ruled out by a lower bound: each edit
changes the counts of tokens by at most one on either side.
"""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
_TOKEN = re.compile(r"\w+|[^\w\s]")
_AT_ONCE = 64
"""Texts whose distances are computed together."""
_PAD, _UNKNOWN = -1, -2


def tokenize(text: str) -> list[str]:
    """Words and punctuation marks in their order."""
    return _TOKEN.findall(text)


class TextIndex:
    """Index of texts for nearest-neighbour search."""

    def __init__(self, texts: Sequence[str]) -> None:
        """Count the tokens of every text; raises ValueError where there is none."""
        if not texts:
            raise ValueError("an index of texts needs at least one text to find")
        self.texts = tuple(texts)
        split = [tokenize(text) for text in self.texts]
        self._numbers = {token: number for number, token in enumerate(dict.fromkeys(t for s in split for t in s))}
        self._lengths = np.array([len(one) for one in split])
        self._ids = np.full((len(split), int(self._lengths.max())), _PAD, np.int16)
        self._counts = np.zeros((len(split), len(self._numbers)), np.int16)
        for row, one in enumerate(split):
            self._ids[row, : len(one)] = [self._numbers[token] for token in one]
            np.add.at(self._counts[row], self._ids[row, : len(one)], 1)

    def nearest(self, text: str, among: Array | None = None) -> tuple[int, int]:
        """Index of the nearest text, the first of equally near ones, and its distance in tokens.

        Searched are all, or those with these indices [K], ascending.
        """
        query = np.array([self._numbers.get(token, _UNKNOWN) for token in tokenize(text)], np.int16)
        rows = np.arange(len(self.texts)) if among is None else among
        bounds = self._bounds(query, rows)
        order = np.argsort(bounds, kind="stable")
        best, place = np.iinfo(np.int64).max, len(self.texts)
        for first in range(0, len(order), _AT_ONCE):
            some = order[first : first + _AT_ONCE]
            some = some[bounds[some] <= best]
            if not some.size:
                break
            found = _distances(query, self._ids[rows[some]], self._lengths[rows[some]])
            least = int(found.min())
            first_of = int(rows[some[found == least]].min())
            best, place = min((best, place), (least, first_of))
        return place, best

    def relative_distance(self, text: str, distance: int, place: int) -> float:
        """A distance divided by the number of tokens of the longer text, 0 for equal ones and at most 1."""
        return distance / max(1, len(tokenize(text)), int(self._lengths[place]))

    def _bounds(self, query: Array, rows: Array) -> Array:
        """[K] int64, least distances that the counts of tokens allow."""
        wanted = np.bincount(query[query >= 0], minlength=len(self._numbers)).astype(np.int16)
        shared = np.minimum(self._counts[rows], wanted).sum(1)
        bounds: Array = np.maximum(len(query), self._lengths[rows]) - shared
        return bounds


def _distances(query: Array, texts: Array, lengths: Array) -> Array:
    """Edit distances [K] int64 of a text [Q] to others [K, L], padded after their lengths [K]."""
    columns = np.arange(int(lengths.max()) + 1, dtype=np.int32)
    texts = texts[:, : len(columns) - 1]
    row = np.broadcast_to(columns, (len(texts), len(columns))).copy()
    for number, token in enumerate(query, start=1):
        changed = np.minimum(row[:, 1:] + 1, row[:, :-1] + (texts != token))
        row[:, 0], row[:, 1:] = number, changed
        # An insertion costs 1 more than the entry before it: a running minimum in coordinates without that slope.
        row = np.minimum.accumulate(row - columns, axis=1) + columns
    found: Array = row[np.arange(len(texts)), lengths]
    return found
