"""What depends on weights alone, computed once while a policy acts.

Whether weights are still the same is told by their values, compared with a copy. Counters such as `Tensor._version`
do not tell: fused optimisers change weights and leave the counter where it is. Whoever acts for many steps says with
`fixed_weights` that no weights change meanwhile; then they are compared once and not at every step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Generic, TypeVar

import torch
from torch import Tensor

_Value = TypeVar("_Value")

_SCOPE: ContextVar[object | None] = ContextVar("fixed_weights", default=None)


@contextmanager
def fixed_weights() -> Iterator[None]:
    """Within it no weights change, in this thread; a context, or a decorator of a function that acts."""
    before = _SCOPE.set(object())
    try:
        yield
    finally:
        _SCOPE.reset(before)


class WeightsWatch:
    """Tells whether some weights have changed. Copies of it, also in other processes, have seen none."""

    def __init__(self) -> None:
        self._seen: list[Tensor] | None = None
        self._scope: object | None = None

    def __reduce__(self) -> tuple[type[WeightsWatch], tuple[()]]:
        return WeightsWatch, ()

    def has_changed(self, weights: Iterable[Tensor]) -> bool:
        """Whether any value, shape, type or device is another than at the last call; true at the first one.

        Args:
            weights: always of the same things; not looked at again within one `fixed_weights`.
        """
        scope = _SCOPE.get()
        if scope is not None and scope is self._scope:
            return False
        self._scope, now = scope, list(weights)
        if self._seen is not None and len(now) == len(self._seen) and all(map(_is_same, now, self._seen)):
            return False
        self._seen = [weight.detach().clone() for weight in now]
        return True


class OncePerWeights(Generic[_Value]):
    """The value of a function of weights alone, kept while nobody wants gradients and the weights stay."""

    def __init__(self) -> None:
        self._watch = WeightsWatch()
        self._kept: list[_Value] = []

    def __reduce__(self) -> tuple[type[OncePerWeights[_Value]], tuple[()]]:
        return OncePerWeights, ()

    def get(self, weights: Iterable[Tensor], compute: Callable[[], _Value]) -> _Value:
        """The value, computed anew where gradients are wanted or weights have changed.

        Args:
            weights: all that the function depends on.
            compute: the function.
        """
        if torch.is_grad_enabled():
            return compute()
        if self._watch.has_changed(weights):
            self._kept.clear()
        if not self._kept:
            self._kept.append(compute())
        return self._kept[0]


def _is_same(one: Tensor, other: Tensor) -> bool:
    if one.device != other.device or one.dtype != other.dtype:
        return False
    return torch.equal(one, other)
