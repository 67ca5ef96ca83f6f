"""What an endpoint may cost and has cost: calls and tokens counted, a hard budget, calls spread over time.

This file must not know what is asked.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Cost:
    """Sums since the meter was made."""

    calls: int = 0
    """Requests that left this machine, retries included."""
    failed_calls: int = 0
    """Those of them that brought no usable body."""
    prompt_tokens: int = 0
    completion_tokens: int = 0

    @property
    def tokens(self) -> int:
        """Tokens of both directions."""
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True, kw_only=True)
class Budget:
    """Limits of a whole run. A call is let out while both sums are below them, so calls in flight may end above."""

    most_calls: int = 10_000
    """Number of calls of a run, retries included, after which none is let out."""
    most_tokens: int = 20_000_000
    """Number of tokens of a run, in both directions together, after which no call is let out."""
    calls_per_minute: float = 600.0
    """Most calls in a minute, above 0; later calls wait."""


class OverBudgetError(Exception):
    """The next call would exceed the budget."""


class Meter:
    """Counts and admits calls; safe to use from several threads."""

    def __init__(
        self,
        budget: Budget,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Clock and sleep are arguments so that tests need not wait."""
        self._budget, self._clock, self._sleep = budget, clock, sleep
        self._lock = threading.Lock()
        self._cost = Cost()
        self._next_slot = -float("inf")

    @property
    def cost(self) -> Cost:
        """What has been spent so far."""
        with self._lock:
            return self._cost

    def admit(self) -> None:
        """Count one call and wait for its turn.

        Raises:
            OverBudgetError: the budget is used up.
        """
        with self._lock:
            self._check()
            self._cost = replace(self._cost, calls=self._cost.calls + 1)
            slot = max(self._clock(), self._next_slot)
            self._next_slot = slot + 60.0 / self._budget.calls_per_minute
            wait = slot - self._clock()
        if wait > 0:
            self._sleep(wait)

    def count_tokens(self, prompt: int, completion: int) -> None:
        """Add what a reply says it cost."""
        with self._lock:
            spent = self._cost
            self._cost = replace(
                spent,
                prompt_tokens=spent.prompt_tokens + prompt,
                completion_tokens=spent.completion_tokens + completion,
            )

    def count_failed_call(self) -> None:
        """A call brought nothing."""
        with self._lock:
            self._cost = replace(self._cost, failed_calls=self._cost.failed_calls + 1)

    def _check(self) -> None:
        if self._cost.calls >= self._budget.most_calls:
            raise OverBudgetError(f"the budget of {self._budget.most_calls} calls is used up")
        if self._cost.tokens >= self._budget.most_tokens:
            raise OverBudgetError(f"the budget of {self._budget.most_tokens} tokens is used up")
