"""Fragment: T steps of B worlds, which env runners send to learners: NumPy arrays, or tensors if the worlds give them.

A fragment is no dict, list or tuple: RLlib passes the result of `sample()` through dm_tree, which would flatten those.
`len` counts worlds, because RLlib shards fragments over learners by slicing `fragment[:k]` along `len`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class Fragment:
    """T consecutive steps of B worlds.

    The observation `decides` says which agents only carry on with a decision. The world's info `duration` is not here:
    returns discount each env step by gamma and count the steps of a decision together (`values_of_decisions`), so a
    decision of d steps is discounted by gamma ** d.

    Attributes:
        obs: name -> [B, T + 1, N, ...]; the last one follows the last step. A network's own noise is an observation
            too, so that all epochs use the same noise.
        is_first: [B, T + 1] bool, an episode begins with this observation.
        steps: name -> [B, T, ...]: `reward` [B, T, N] float32, `terminated` and `truncated` [B, T] bool,
            `log_prob` and `component` [B, T], `agent_log_prob` and `values` [B, T, N] float32,
            `final_values` [B, T, N] float32 (values of the final observation where the episode was truncated) and
            `actions` [B, T, N] int, or `actions/NAME` for each factor; numbers are `actions/continuous` and, before
            tanh, `actions/before_tanh`, [B, T, N, D] float32.
        ends: name -> [B, ...]: `last_values` [B, N] float32 and `state/NAME`, the recurrent state before the first
            step.
        texts: observation key -> [D, L] int, the token rows that the numbers under this key point at.
        versions: [B] int64, number of updates of the policy that acted.
    """

    __slots__ = ("ends", "is_first", "obs", "steps", "texts", "versions")

    def __init__(
        self,
        obs: dict[str, Array],
        is_first: Array,
        steps: dict[str, Array],
        ends: dict[str, Array],
        texts: dict[str, Array] | None = None,
        versions: Array | None = None,
    ) -> None:
        self.obs = obs
        self.is_first = is_first
        self.steps = steps
        self.ends = ends
        self.texts = texts or {}
        self.versions = versions if versions is not None else np.zeros(len(is_first), np.int64)

    def __len__(self) -> int:
        """B, the number of worlds."""
        return len(self.is_first)

    def __getitem__(self, worlds: slice) -> Fragment:
        """All steps of some of the worlds."""
        return Fragment(
            {key: value[worlds] for key, value in self.obs.items()},
            self.is_first[worlds],
            {key: value[worlds] for key, value in self.steps.items()},
            {key: value[worlds] for key, value in self.ends.items()},
            self.texts,
            self.versions[worlds],
        )

    def slice(self, worlds: slice, len_lookback_buffer: int | None = None) -> Fragment:
        """RLlib's name for `fragment[worlds]`. There is no look-back buffer, because `ends` holds the state."""
        return self[worlds]

    def env_steps(self) -> int:
        """Number of joint steps, B * T."""
        return len(self) * (self.is_first.shape[1] - 1)

    def agent_steps(self) -> int:
        """Number of agent steps, B * T * N."""
        return self.env_steps() * self.steps["reward"].shape[-1]

    @staticmethod
    def join(fragments: Iterable[Fragment]) -> Fragment:
        """One fragment of all worlds. T must be equal; the rows of the token tables get new numbers."""
        fragments = list(fragments)
        if len(fragments) == 1:
            return fragments[0]
        texts, observations = _join_texts(fragments)
        return Fragment(
            _concatenate(observations),
            np.concatenate([fragment.is_first for fragment in fragments]),
            _concatenate([fragment.steps for fragment in fragments]),
            _concatenate([fragment.ends for fragment in fragments]),
            texts,
            np.concatenate([fragment.versions for fragment in fragments]),
        )


def _concatenate(parts: list[dict[str, Array]]) -> dict[str, Array]:
    return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}


def _join_texts(fragments: list[Fragment]) -> tuple[dict[str, Array], list[dict[str, Array]]]:
    """One table of distinct texts for each key, and each fragment's observations with row numbers of that table."""
    observations = [dict(fragment.obs) for fragment in fragments]
    tables = {}
    for key in fragments[0].texts:
        parts = [fragment.texts[key] for fragment in fragments]
        width = max(part.shape[1] for part in parts)
        padded = [np.pad(part, ((0, 0), (0, width - part.shape[1])), constant_values=-1) for part in parts]
        stacked = np.concatenate(padded)
        tables[key], new_row = np.unique(stacked, axis=0, return_inverse=True)
        first_row = 0
        for fragment, obs in zip(fragments, observations, strict=True):
            obs[key] = new_row.ravel()[first_row + obs[key]].astype(obs[key].dtype)
            first_row += len(fragment.texts[key])
    return tables, observations
