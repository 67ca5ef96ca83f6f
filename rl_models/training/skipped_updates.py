"""Counts of the optimiser steps that were skipped because a gradient was not finite.

They stay on the device until somebody reads them, so no minibatch waits. All learners skip the same steps: each decides
by the norm of the gradients that all of them have summed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

import torch
from torch import Tensor

SKIPPED = "learner/skipped_updates"
"""Statistic: share of the last `WINDOW` optimiser steps that were skipped; steps still to come count as made."""
WINDOW = 20
_RECENT = "recent"


class SkippedUpdates:
    """Which of a learner's optimiser steps were skipped."""

    def __init__(self, device: torch.device) -> None:
        """Begin with none.

        Args:
            device: of the gradients.
        """
        self._device = device
        self._total = torch.zeros((), dtype=torch.int64, device=device)
        self._recent: deque[Tensor] = deque(maxlen=WINDOW)

    def add(self, is_finite: Tensor) -> None:
        """Count a step: [] bool, whether its gradients were finite."""
        skipped = ~is_finite
        self._recent.append(skipped)
        self._total = self._total + skipped

    def share(self) -> Tensor:
        """The statistic `SKIPPED`, [] float32 on the device."""
        if not self._recent:
            return torch.zeros((), device=self._device)
        return torch.stack(list(self._recent)).sum() / WINDOW

    def count(self) -> int:
        """Number of skipped steps since the start or `load`; the host waits for it."""
        return int(self._total)

    def tensors(self) -> dict[str, Tensor]:
        """The last steps for a checkpoint: `recent` [K] bool, K up to `WINDOW`; {} if none of them was skipped."""
        recent = torch.stack(list(self._recent)).cpu() if self._recent else torch.zeros(0, dtype=torch.bool)
        return {_RECENT: recent} if recent.any() else {}

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Take the last steps from a checkpoint, and count from 0 again.

        Args:
            tensors: result of `tensors`.
        """
        self._total = torch.zeros_like(self._total)
        self._recent.clear()
        if tensors:
            self._recent.extend(torch.as_tensor(tensors[_RECENT]).to(self._device).unbind())
