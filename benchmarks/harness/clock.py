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
