"""A cache that forgets its oldest entries, for values that are costly to compute and asked for again and again."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Generic, TypeVar

from torch import Tensor

from rl_models.networks.fixed_weights import WeightChangeDetector

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")


class LRUCache(Generic[_Key, _Value]):
    """Values by key, good for as long as the weights that they were computed with stay as they are.

    Attributes:
        computed: how many values were computed so far.
    """

    def __init__(self, most: int) -> None:
        """Keep at most so many."""
        self._most = most
        self._values: dict[_Key, _Value] = {}
        self._watch = WeightChangeDetector()
        self.computed = 0

    def of(
        self, keys: Sequence[_Key], weights: Iterable[Tensor], compute: Callable[[list[_Key]], Sequence[_Value]]
    ) -> list[_Value]:
        """The values of some keys; those that are not known are computed together, each once.

        Args:
            keys: whose values.
            weights: all that values depend on beside their keys; none are fine.
            compute: keys, each once -> their values.
        """
        if self._watch.has_changed(weights):
            self._values = {}
        new = [key for key in dict.fromkeys(keys) if key not in self._values]
        if new:
            self._values.update(zip(new, compute(new), strict=True))
            self.computed += len(new)
        found = [self._values[key] for key in keys]
        if len(self._values) > self._most:
            for key in list(itertools.islice(self._values, len(self._values) - self._most)):
                del self._values[key]
        return found
