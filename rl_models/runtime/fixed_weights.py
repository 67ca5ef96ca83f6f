"""Caches of results that depend on weights alone, or on weights and a key, while a policy acts.

A change of weights is found by comparing their values with a copy. Counters such as `Tensor._version` do not suffice:
fused optimisers change weights but not the counter. A caller that acts for many steps declares with
`fixed_weights` that no weights change; then the weights are compared once and not at every step.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Generic, TypeVar

import torch
from torch import Tensor

from rl_models.policy import FIXED_WEIGHTS
from rl_models.runtime.cuda_graph import is_capturing

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")


class WeightChangeDetector:
    """Finds out whether weights have changed. A copy of a detector, also in another process, starts without weights."""

    def __init__(self) -> None:
        self._seen: list[Tensor] | None = None
        self._scope: object | None = None

    def __reduce__(self) -> tuple[type[WeightChangeDetector], tuple[()]]:
        return WeightChangeDetector, ()

    def has_changed(self, weights: Iterable[Tensor]) -> bool:
        """Whether a value, shape, type or device differs from the last call; True at the first call.

        Weights [...] are of any shapes, always of the same module; within one `fixed_weights` they are read once.
        """
        scope = FIXED_WEIGHTS.get()
        if scope is not None and scope is self._scope:
            return False
        self._scope, now = scope, list(weights)
        if self._seen is not None and _are_same(now, self._seen):
            return False
        self._seen = [weight.detach().clone() for weight in now]
        return True


class CachedByWeights(Generic[_Value]):
    """Cached value of a function of weights alone; valid while gradients are disabled and weights unchanged."""

    def __init__(self) -> None:
        self._watch = WeightChangeDetector()
        self._cached: list[_Value] = []

    def __reduce__(self) -> tuple[type[CachedByWeights[_Value]], tuple[()]]:
        return CachedByWeights, ()

    def get(self, weights: Iterable[Tensor], compute: Callable[[], _Value]) -> _Value:
        """The value, which is computed again if gradients are enabled or weights have changed.

        Pass all weights [...] that the function uses. In a CUDA graph it is computed at every replay.
        """
        if torch.is_grad_enabled() or is_capturing():
            return compute()
        if self._watch.has_changed(weights):
            self._cached.clear()
        if not self._cached:
            self._cached.append(compute())
        return self._cached[0]


def _are_same(ones: list[Tensor], others: list[Tensor]) -> bool:
    """Whether all are equal, with one synchronisation."""
    if len(ones) != len(others) or any(map(_differ_in_kind, ones, others)):
        return False
    if not ones or ones[0].device.type == "cpu":
        return all(map(torch.equal, ones, others))
    return not torch.stack([(one != other).any() for one, other in zip(ones, others, strict=True)]).any().item()


def _differ_in_kind(one: Tensor, other: Tensor) -> bool:
    return (one.device, one.dtype, one.shape) != (other.device, other.dtype, other.shape)


class LRUCache(Generic[_Key, _Value]):
    """The last used values by key, valid until the weights change; `computed` counts all."""

    def __init__(self, most: int) -> None:
        """Set the capacity."""
        self._most = most
        self._values: dict[_Key, _Value] = {}
        self._watch = WeightChangeDetector()
        self.computed = 0

    def __reduce__(self) -> tuple[type[LRUCache[_Key, _Value]], tuple[int]]:
        """A copy, also in another process, starts empty."""
        return LRUCache, (self._most,)

    def get(
        self, keys: Sequence[_Key], weights: Iterable[Tensor], compute: Callable[[list[_Key]], Sequence[_Value]]
    ) -> list[_Value]:
        """The values of some keys; missing ones are computed together, each once.

        All are computed again after one of the weights [...], which may be empty, has changed.
        """
        if self._watch.has_changed(weights):
            self._values = {}
        new = [key for key in dict.fromkeys(keys) if key not in self._values]
        if new:
            self._values.update(zip(new, compute(new), strict=True))
            self.computed += len(new)
        for key in keys:
            self._values[key] = self._values.pop(key)  # the last used come last
        found = [self._values[key] for key in keys]
        if len(self._values) > self._most:
            for key in list(itertools.islice(self._values, len(self._values) - self._most)):
                del self._values[key]
        return found
