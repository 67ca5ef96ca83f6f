"""Results of custom environments: of one call (`Answer`), and observations and env steps of K copies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rl_envs.core.spec import Array, Arrays
from rl_envs.wrappers.custom.layout import Shown


@dataclass
class Frame:
    """Observations of all agents in K environments.

    Attributes:
        arrays: key -> [K, N, ...].
        texts: key -> K lists of N, each a text or a tuple of texts.
        alive: [K, N] bool, agents in the game.
        legal: [K, N, W] bool, legal actions; of several parts, all choices side by side.
        coordination: [K] int64, number of the present coordination set; 0 where the environment declares none.
    """

    arrays: Arrays
    texts: dict[str, list[list[Shown]]]
    alive: Array
    legal: Array
    coordination: Array

    def put(self, rows: Array, other: Frame) -> None:
        """Replace some of the K rows by those of another frame."""
        for key, value in other.arrays.items():
            self.arrays[key][rows] = value
        for key, texts in other.texts.items():
            for row, own in zip(rows.tolist(), texts, strict=True):
                self.texts[key][row] = own
        self.alive[rows], self.legal[rows], self.coordination[rows] = other.alive, other.legal, other.coordination


@dataclass(slots=True)
class Answer:
    """Result of a call of one environment; values of observations are not yet checked.

    Attributes:
        observations: number of an agent -> its observation.
        infos: number of an agent -> its infos.
        alive: [N], agents that are in the game; at its end, those that were truncated.
        goes_on: Whether agents still act.
        reward: [N].
        terminated, truncated: whether the game is over, and how.
    """

    observations: dict[int, Any]
    infos: dict[int, Mapping[str, Any]]
    alive: list[bool]
    goes_on: bool = True
    reward: Sequence[float] = ()
    terminated: bool = False
    truncated: bool = False


@dataclass
class Turn:
    """Result of one env step of K environments: reward [K, N] float64, terminated and truncated [K] bool."""

    frame: Frame
    reward: Array
    terminated: Array
    truncated: Array
