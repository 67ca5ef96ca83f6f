"""Observations in words: what an experiment hands in so that a language model can act in a world.

This file knows neither the words nor the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from rl_models.networks.texts import TEXTS, MissingTextsError

Array = NDArray[Any]


class Narrator(Protocol):
    """Puts one agent's moment into words. Equal codes must give equal words in every process."""

    def message_prompt(self, code: Array) -> str:
        """What an agent reads before it writes; `code` [F] is its situation."""

    def action_prompt(self, code: Array, heard: Sequence[str]) -> str:
        """What it reads before it acts: its situation, and the messages of agents i + 1, i + 2, ... modulo N.

        `heard` is empty where nobody writes. The text must lead to an action's phrase, which follows it.
        """

    def actions(self, code: Array) -> Sequence[str]:
        """A phrases, one an action."""


def situations(obs: dict[str, Tensor], keys: Sequence[str]) -> tuple[Array, Array]:
    """Distinct codes, and which of them each agent is in.

    Args:
        obs: under each key a part of the codes [B, T, N, F'], or row numbers [B, T, N] with the distinct parts under
            `texts/KEY` [D, F'].
        keys: whose parts make up a code, one behind the other.

    Returns:
        [D, F] and [B, T, N] int64.

    Raises:
        MissingTextsError: row numbers without their codes.
    """
    codes = np.concatenate([_part(obs, key) for key in keys], axis=-1)
    distinct, rows = np.unique(codes.reshape(-1, codes.shape[-1]), axis=0, return_inverse=True)
    return distinct, rows.reshape(codes.shape[:-1])


def _part(obs: dict[str, Tensor], key: str) -> Array:
    seen: Array = obs[key].cpu().numpy()
    if f"{TEXTS}{key}" in obs:
        table: Array = obs[f"{TEXTS}{key}"].cpu().numpy()
        return table[seen]
    if seen.ndim < 4:
        raise MissingTextsError(f"observation {key!r} holds row numbers: pass their codes too, under {TEXTS + key!r}")
    return seen
