"""Last observations of truncated episodes: kept while a fragment is played, and evaluated by the critic at its end.

Their values bootstrap returns. Those of a whole fragment are computed together, in few calls of the network.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from rl_models.fragment import Array
from rl_models.runtime.cuda_graph import Inputs
from rl_models.runtime.texts import ENCODED, TEXTS


@dataclass(frozen=True)
class _StepObservations:
    """Final observations of the episodes that were truncated at one step.

    Attributes:
        step: of the fragment.
        rows: [K] int64, their worlds.
        inputs: observations and the state before these, name -> [K, ...], on the device.
    """

    step: int
    rows: Array
    inputs: Inputs


class FinalObservations:
    """Final observations of one fragment."""

    def __init__(self) -> None:
        """Begin without any."""
        self._kept: list[_StepObservations] = []

    def keep(self, step: int, rows: Array, inputs: Inputs) -> None:
        """Keep those of one step.

        Args:
            step: of the fragment.
            rows: [K] int64, their worlds.
            inputs: observations and the state before these, name -> [K, ...], on the device.
        """
        self._kept.append(_StepObservations(step, rows, _with_own_encodings(inputs)))

    def write_values(self, out: Array, values_of: Callable[[Inputs], Array]) -> None:
        """Write all values, with at most as many observations in a call as there are worlds.

        Args:
            out: [B, T, N] float32, where they are written.
            values_of: inputs of K worlds -> [K, N] float32.
        """
        kept, self._kept = self._kept, []
        while kept:
            ends = np.cumsum([len(one.rows) for one in kept])
            some = max(1, int(np.searchsorted(ends, len(out), "right")))
            now, kept = kept[:some], kept[some:]
            parts = np.split(values_of(_joined([one.inputs for one in now])), ends[: some - 1])
            for one, values in zip(now, parts, strict=True):
                out[one.rows, one.step] = values


def _with_own_encodings(inputs: Inputs) -> Inputs:
    """The same inputs with one row of encodings for each agent, since those in the caches are replaced later."""
    own = dict(inputs)
    for name, value in inputs.items():
        if name.startswith(ENCODED):
            key = _text_key(name)
            rows = inputs[key]
            own[name] = value.index_select(0, rows.flatten())
            own[key] = torch.arange(rows.numel(), device=rows.device).view_as(rows)
    return own


def _joined(parts: list[Inputs]) -> Inputs:
    """Inputs of several steps as one batch. Tables of texts only grow meanwhile, so the last ones hold all."""
    last = parts[-1]
    joined = {
        name: last[name] if name.startswith(TEXTS) else torch.cat([part[name] for part in parts]) for name in last
    }
    for key in {_text_key(name) for name in last if name.startswith(ENCODED)}:
        joined[key] = torch.arange(joined[key].numel(), device=joined[key].device).view_as(joined[key])
    return joined


def _text_key(name: str) -> str:
    """The observation key of `encoded/KEY/NAME`."""
    return name.removeprefix(ENCODED).rpartition("/")[0]
