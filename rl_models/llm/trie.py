"""Candidates as a prefix tree: tokens that several of them begin with are there once.

Nodes stand in the order in which they were first met, so every node comes after its parent. This file knows token ids
and nothing of models.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Ids: TypeAlias = tuple[int, ...]
"""Token ids of one text."""
Candidates: TypeAlias = tuple[Ids, ...]
"""Token ids of K texts, one of which is to follow a prompt."""
Array: TypeAlias = NDArray[Any]

_TRIES_KEPT = 4096


@dataclass(frozen=True, eq=False)
class Trie:
    """K candidates over n nodes.

    Attributes:
        tokens: [n] int64.
        parents: [n] int64, -1 for those that follow the prompt.
        depths: [n] int64, from 0.
        sees: [n, n] bool, a node sees itself and its ancestors.
        paths: for each candidate its nodes in order, [l] int64.
    """

    tokens: Array
    parents: Array
    depths: Array
    sees: Array
    paths: tuple[Array, ...]


@functools.lru_cache(maxsize=_TRIES_KEPT)
def trie_of(candidates: Candidates) -> Trie:
    """The prefix tree of these candidates; the same for the same ones.

    Raises:
        ValueError: a candidate without a token.
    """
    number: dict[tuple[int, int], int] = {}
    paths = [_path(candidate, number) for candidate in candidates]
    parents = np.array([parent for parent, _ in number], np.int64)
    depths, sees = np.zeros(len(number), np.int64), np.eye(len(number), dtype=bool)
    for node, parent in enumerate(parents):
        if parent >= 0:
            depths[node] = depths[parent] + 1
            sees[node] |= sees[parent]
    return Trie(np.array([token for _, token in number], np.int64), parents, depths, sees, tuple(paths))


def _path(candidate: Sequence[int], number: dict[tuple[int, int], int]) -> Array:
    """A candidate's nodes; those that are new get the next numbers."""
    if not candidate:
        raise ValueError("an action's phrase has no token; give every action at least one word")
    nodes, parent = [], -1
    for token in candidate:
        parent = number.setdefault((parent, token), len(number))
        nodes.append(parent)
    return np.array(nodes, np.int64)
