"""Results of custom environments: of one call (`Answer`), and observations and env steps of K copies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rl_envs.core.spec import Array, Arrays
from rl_envs.wrappers.custom.layout import Shown


@dataclass
class Frame:
    """Observations of all agents in K environments."""

    arrays: Arrays  # key -> [K, N, ...]
    texts: dict[str, list[list[Shown]]]  # key -> K lists of N, each a text or a tuple of texts
    alive: Array  # [K, N] bool, agents in the game
    legal: Array  # [K, N, W] bool, legal actions; of several parts, all choices side by side
    coordination: Array  # [K] int64, number of the present coordination set; 0 where the environment declares none

    def put(self, rows: Array, other: Frame) -> None:
        """Replace the rows `rows` [k] int of the K by those of another frame."""
        for key, value in other.arrays.items():
            self.arrays[key][rows] = value
        for key, texts in other.texts.items():
            for row, own in zip(rows.tolist(), texts, strict=True):
                self.texts[key][row] = own
        self.alive[rows], self.legal[rows], self.coordination[rows] = other.alive, other.legal, other.coordination


@dataclass(slots=True)
class Answer:
    """Result of a call of one environment; values of observations are not yet checked."""

    observations: dict[int, Any]  # number of an agent -> its observation
    infos: dict[int, Mapping[str, Any]]  # number of an agent -> its infos
    alive: list[bool]  # [N], agents that are in the game; at its end, those that were truncated
    goes_on: bool = True  # whether agents still act
    reward: Sequence[float] = ()  # [N]
    terminated: bool = False  # the game is over, or was stopped (`truncated`)
    truncated: bool = False


@dataclass
class Turn:
    """Result of one env step of K environments: reward [K, N] float64, terminated and truncated [K] bool."""

    frame: Frame
    reward: Array
    terminated: Array
    truncated: Array
