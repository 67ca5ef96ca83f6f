"""CPU time of this process, which other programs on the machine disturb less than wall time.

Benchmarks report medians of several repeats. Variants that are compared take turns, so noise affects all of them.
"""

from collections.abc import Callable, Sequence
from statistics import median
from time import process_time
from typing import Any, TypeVar

_Result = TypeVar("_Result")


def timed(work: Callable[..., _Result], *arguments: Any) -> tuple[_Result, float]:
    """Result of `work(*arguments)`, and the CPU seconds that it took in all threads of this process."""
    start = process_time()
    result = work(*arguments)
    return result, process_time() - start


def median_ratio(above: Sequence[float], below: Sequence[float]) -> float:
    """Median of the ratios of each turn, which varies less than the ratio of the medians."""
    return median([one / other for one, other in zip(above, below, strict=True)])


class Stopwatches:
    """CPU `seconds` so far in some methods of an object by name, without those of other watched methods they call."""

    def __init__(self, target: Any, methods: Sequence[str]) -> None:
        """Put a stopwatch on each method of this one object."""
        self.seconds = dict.fromkeys(methods, 0.0)
        self._inner: list[float] = []
        for name in methods:
            setattr(target, name, self._watched(name, getattr(target, name)))

    def _watched(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*arguments: Any, **named: Any) -> Any:
            self._inner.append(0.0)
            start = process_time()
            try:
                return method(*arguments, **named)
            finally:
                spent = process_time() - start
                self.seconds[name] += spent - self._inner.pop()
                if self._inner:
                    self._inner[-1] += spent

        return watched
