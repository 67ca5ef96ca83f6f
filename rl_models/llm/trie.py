"""Candidates as a prefix tree: tokens that several of them begin with are there once.

Nodes stand in the order in which they were first met, so every node comes after its parent. This file knows token ids
and nothing of models.

`pack` lays prompts and their tries out as one padded batch: each row is a prompt, then the nodes of its trie, then
padding. Under the causal mask a row's nodes would see the nodes before them; here they see their ancestors alone, and a
node's position is the one that it has behind the prompt in its own candidate. Padding stands last, where no node sees
it.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rl_models.device import to_device

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


@dataclass(frozen=True)
class Packed:
    """R prompts with their candidates, S places a row, E nodes in all.

    Attributes:
        tokens: [R, S] int64.
        positions: [R, S] int64.
        sees: [R, 1, S, S] bool.
        ends: [R] int64, place of each prompt's last token among all R * S.
        speakers: [Q] int64, places among all R * S whose next token is asked for, each once.
        asked: [E] int64, for each node which of the Q places it follows.
        targets: [E] int64, for each node its token.
        paths: [R, K, L] int64, nodes of each candidate; E where there is none.
    """

    tokens: Tensor
    positions: Tensor
    sees: Tensor
    ends: Tensor
    speakers: Tensor
    asked: Tensor
    targets: Tensor
    paths: Tensor


def pack(prompts: Sequence[Ids], candidates: Sequence[Candidates], device: torch.device) -> Packed:
    """Lay R prompts and their candidates out on a device."""
    tries = [trie_of(each) for each in candidates]
    width = max(len(prompt) + len(trie.tokens) for prompt, trie in zip(prompts, tries, strict=True))
    tokens, positions = np.zeros((2, len(prompts), width), np.int64)
    sees = np.repeat(np.tri(width, dtype=bool)[None], len(prompts), axis=0)
    for row, (prompt, trie) in enumerate(zip(prompts, tries, strict=True)):
        first, last = len(prompt), len(prompt) + len(trie.tokens)
        tokens[row, :last] = np.concatenate([np.array(prompt, np.int64), trie.tokens])
        positions[row, :last] = np.concatenate([np.arange(first), first + trie.depths])
        sees[row, first:last, first:last] = trie.sees
    first_place = np.arange(len(prompts)) * width
    ends = first_place + np.array([len(prompt) - 1 for prompt in prompts])
    parents = [np.where(trie.parents < 0, end, end + 1 + trie.parents) for trie, end in zip(tries, ends, strict=True)]
    speakers, asked = np.unique(np.concatenate(parents), return_inverse=True)
    targets = np.concatenate([trie.tokens for trie in tries])
    arrays = (tokens, positions, sees[:, None], ends, speakers.astype(np.int64), asked, targets, _paths(tries))
    names = (field.name for field in fields(Packed))
    return Packed(**to_device(dict(zip(names, arrays, strict=True)), device))


def _paths(tries: Sequence[Trie]) -> Array:
    """[R, K, L] numbers of nodes among those of all tries, padded with their count."""
    count = sum(len(trie.tokens) for trie in tries)
    most = max((len(trie.paths) for trie in tries), default=0)
    longest = max((len(path) for trie in tries for path in trie.paths), default=0)
    paths = np.full((len(tries), most, longest), count, np.int64)
    first = 0
    for row, trie in enumerate(tries):
        for place, path in enumerate(trie.paths):
            paths[row, place, : len(path)] = first + path
        first += len(trie.tokens)
    return paths
