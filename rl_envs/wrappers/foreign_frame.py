"""Observations of several foreign environments side by side, and the result of an env step of all of them."""

from __future__ import annotations

from dataclasses import dataclass

from rl_envs.core.spec import Array, Arrays
from rl_envs.wrappers.foreign_spaces import Shown


@dataclass
class Frame:
    """Observations of all agents in K games.

    Attributes:
        arrays: key -> [K, N, ...].
        texts: key -> K lists of N, each a text or a tuple of texts.
        alive: [K, N] bool, agents in the game.
        legal: [K, N, A] bool, legal actions.
        coordination: [K] int64, number of the present coordination set; 0 where the environment declares none.
    """

    arrays: Arrays
    texts: dict[str, list[list[Shown]]]
    alive: Array
    legal: Array
    coordination: Array

    def put(self, rows: Array, other: Frame) -> None:
        """Replace some of the K games by those of another frame."""
        for key, value in other.arrays.items():
            self.arrays[key][rows] = value
        for key, texts in other.texts.items():
            for row, own in zip(rows.tolist(), texts, strict=True):
                self.texts[key][row] = own
        self.alive[rows], self.legal[rows], self.coordination[rows] = other.alive, other.legal, other.coordination


@dataclass
class Turn:
    """The result of one env step of K games: what is seen, reward [K, N] float64, terminated and truncated [K] bool."""

    frame: Frame
    reward: Array
    terminated: Array
    truncated: Array
