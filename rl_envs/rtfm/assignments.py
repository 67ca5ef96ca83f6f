"""Assignments of monsters to teams and of modifiers to elements, numbered and split into training and evaluation.

RTFM, section 3: no assignment of training occurs in evaluation. There are 1,680 x 2,520 = 4,233,600 with groups and 6 x
24 = 144 without. They are never listed. An assignment is a pair of ranks in the lexicographic order of the labels. A
keyed permutation of the pairs puts its first half into training and its second half into evaluation; the first third of
that half is for validation and the rest for tests. It depends only on numbers, so it is equal in every process.
"""

from collections.abc import Iterator
from functools import cache

import numpy as np

from rl_envs.core.chance import mix
from rl_envs.core.spec import Array

SPLITS = ("train", "eval", "valid", "test")
"""`train` and `eval` are the paper's halves; `valid`, where settings are chosen, and `test` together are `eval`."""
NUM_TEAMS, NUM_ELEMENTS = 3, 4
MAX_MONSTERS, MAX_MODIFIERS = 9, 8
_ROUNDS = 4
_KEY = 0x5EED_0F_A11


class Partitions:
    """All partitions of things into groups of equal size, in lexicographic order of the labels."""

    def __init__(self, num_things: int, num_groups: int) -> None:
        """List the partitions."""
        share = num_things // num_groups
        self.labels = np.array(list(_labellings([share] * num_groups)), np.int8)  # [R, T] int8, group of each thing
        # [R, G, T / G] int64, things of each group, ascending
        self.members = np.argsort(self.labels, axis=1, kind="stable").reshape(-1, num_groups, share)
        self._digits = num_groups ** np.arange(num_things)[::-1]
        self._numbers = self.labels @ self._digits

    def __len__(self) -> int:
        return len(self.labels)

    def rank(self, labels: Array) -> Array:
        """Ranks of labellings [K, T] in lexicographic order, [K] int64."""
        numbers = np.asarray(labels, np.int64) @ self._digits
        places = np.minimum(np.searchsorted(self._numbers, numbers), len(self) - 1)
        if not (self._numbers[places] == numbers).all():
            raise ValueError(f"every group has {self.members.shape[2]} members here; got the labels {labels!r}")
        return places


class Assignments:
    """Every pair of a partition of monsters into teams and one of modifiers into elements."""

    def __init__(self, has_groups: bool) -> None:
        """List the partitions and key the permutation of their pairs."""
        self.teams = Partitions(MAX_MONSTERS if has_groups else NUM_TEAMS, NUM_TEAMS)  # partitions of the monsters
        # partitions of the modifiers
        self.elements = Partitions(MAX_MODIFIERS if has_groups else NUM_ELEMENTS, NUM_ELEMENTS)
        # number of assignments; `rank of teams * len(elements) + rank of elements` is an assignment's number
        self.count = len(self.teams) * len(self.elements)
        self._shift_teams = _round_tables(len(self.elements), len(self.teams), 0)
        self._shift_elements = _round_tables(len(self.teams), len(self.elements), 1)

    def permuted(self, places: Array) -> Array:
        """Assignments at these indices [K] of the keyed permutation, [K] int64.

        This is a Feistel network over pairs: each half is shifted by a function of the other, so a round is invertible.
        """
        team, element = np.divmod(places, len(self.elements))
        for shift_team, shift_element in zip(self._shift_teams, self._shift_elements, strict=True):
            team = (team + shift_team[element]) % len(self.teams)
            element = (element + shift_element[team]) % len(self.elements)
        return team * len(self.elements) + element

    def draw(self, uniforms: Array, split: str) -> Array:
        """Assignments of a split for uniforms [K], [K] int64."""
        first, end = self._bounds(split)
        return self.permuted((uniforms * (end - first)).astype(np.int64) + first)

    def _bounds(self, split: str) -> tuple[int, int]:
        """First index of a split in the keyed permutation, and the first one after it."""
        half = self.count // 2
        third = half + half // 3
        return {"train": (0, half), "eval": (half, self.count), "valid": (half, third), "test": (third, self.count)}[
            split
        ]

    def ranks(self, assignments: Array) -> tuple[Array, Array]:
        """Ranks of both partitions of assignments [K], two arrays [K] int64."""
        team, element = np.divmod(assignments, len(self.elements))
        return team, element

    def number(self, team_of: Array, element_of: Array) -> Array:
        """Assignments [K] of places in `TEAMS` [K, monsters] and places in `ELEMENTS` [K, modifiers], int64."""
        return self.teams.rank(team_of) * len(self.elements) + self.elements.rank(element_of)


@cache
def assignments(has_groups: bool) -> Assignments:
    """The assignments of worlds with or without groups, made once per process."""
    return Assignments(has_groups)


def _labellings(left: list[int]) -> Iterator[list[int]]:
    """All sequences that hold `left[k]` labels k, in lexicographic order."""
    if not any(left):
        yield []
    for label, count in enumerate(left):
        if count:
            rest = [*left[:label], count - 1, *left[label + 1 :]]
            yield from ([label, *tail] for tail in _labellings(rest))


def _round_tables(inputs: int, modulus: int, side: int) -> Array:
    """[rounds, inputs] int64 in 0 .. modulus - 1, hashed from the key."""
    number = np.arange(_ROUNDS * inputs, dtype=np.uint64) * np.uint64(2) + np.uint64(side)
    keyed = mix(number + mix(np.array([_KEY + modulus], np.uint64)))
    return (keyed % np.uint64(modulus)).astype(np.int64).reshape(_ROUNDS, inputs)
