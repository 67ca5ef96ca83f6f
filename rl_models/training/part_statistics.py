"""Statistics of a minibatch from those of its parts: they do not depend on how the minibatch is cut.

A mean of the minibatch is the mean of the parts' means, weighted as the loss weighs them: by the steps, the decisions
or the values that a part holds. All sums stay on the device, so that nobody waits for it.
"""

from __future__ import annotations

import torch
from torch import Tensor

from rl_models.algorithms.objective import APPROXIMATE_KL, CLIP_FRACTION, KL_ENTRIES, RATIO_ERROR
from rl_models.batch import Share
from rl_models.losses.extra_loss import Statistics

_OF_ENTRIES = (APPROXIMATE_KL, CLIP_FRACTION)
"""Means over `KL_ENTRIES` entries."""
_OF_DECISIONS = ("loss/policy", "policy/entropy")
_OF_VALUES = ("loss/value",)
_SMALL = 1e-12


class PartStatistics:
    """Gathers the statistics of a minibatch, part by part.

    Constants of schedules are those of the last part, and the largest ratio error is that of all parts. All other
    numbers are means. Those that no tuple of this file names are weighted by the steps of the parts, as extra losses
    are.
    """

    def __init__(self) -> None:
        """Begin a minibatch."""
        self._parts: list[tuple[Statistics, Share]] = []

    def add(self, statistics: Statistics, share: Share) -> None:
        """Add a part.

        Args:
            statistics: statistics of the part, from an objective's loss.
            share: how much of the minibatch it holds.
        """
        self._parts.append((statistics, share))

    def joined(self) -> Statistics:
        """Numbers to log of the parts together, without `KL_ENTRIES`; those of a single part are its own."""
        names = dict.fromkeys(name for statistics, _ in self._parts for name in statistics if name != KL_ENTRIES)
        return {name: self._joined(name) for name in names}

    def _joined(self, name: str) -> Tensor | float:
        found = [(statistics[name], _weight(name, *part)) for part in self._parts if name in (statistics := part[0])]
        if len(found) == 1 or name.startswith("schedule/"):
            return found[-1][0]
        if name == RATIO_ERROR:
            return torch.stack([torch.as_tensor(value) for value, _ in found]).max()
        return sum(value * weight for value, weight in found) / (sum(weight for _, weight in found) + _SMALL)


def _weight(name: str, statistics: Statistics, share: Share) -> Tensor | float:
    if name in _OF_ENTRIES:
        return statistics.get(KL_ENTRIES, share.decisions)
    if name in _OF_DECISIONS:
        return share.decisions
    return share.values if name in _OF_VALUES else share.steps
