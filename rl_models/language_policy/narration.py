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


def situations(obs: dict[str, Tensor], key: str) -> tuple[Array, Array]:
    """Distinct codes, and which of them each agent is in.

    Args:
        obs: under `key` codes [B, T, N, F], or row numbers [B, T, N] with the distinct codes under `texts/KEY` [D, F].
        key: of the codes.

    Returns:
        [D, F] and [B, T, N] int64.

    Raises:
        MissingTextsError: row numbers without their codes.
    """
    seen = obs[key].cpu().numpy()
    if f"{TEXTS}{key}" in obs:
        used, rows = np.unique(seen, return_inverse=True)
        return obs[f"{TEXTS}{key}"].cpu().numpy()[used], rows.reshape(seen.shape)
    if seen.ndim < 4:
        raise MissingTextsError(f"observation {key!r} holds row numbers: pass their codes too, under {TEXTS + key!r}")
    codes, rows = np.unique(seen.reshape(-1, seen.shape[-1]), axis=0, return_inverse=True)
    return codes, rows.reshape(seen.shape[:-1])
