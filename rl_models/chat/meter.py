"""Meter of an endpoint's cost: it counts calls and tokens, enforces a budget, and limits the rate of calls."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from pydantic import PositiveFloat, PositiveInt


@dataclass(frozen=True)
class Cost:
    """Sums of a run. In earlier sessions, a request counts once with all its attempts."""

    calls: int = 0
    """Number of requests sent, with repeated attempts."""
    failed_calls: int = 0
    """Number of these requests without a usable body."""
    prompt_tokens: int = 0
    completion_tokens: int = 0

    @property
    def tokens(self) -> int:
        """Number of tokens sent and received."""
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True, kw_only=True)
class Budget:
    """Limits of one meter. A call is sent while both sums are below them, so pending calls may exceed them.

    Verco has a meter for each trial, which counts all its sessions. SAMA has one for all trials of a session, because
    other runs write the same record.
    """

    max_calls: PositiveInt = 10_000
    """Largest number of calls with repeated attempts, at least 1: of each trial in Verco, of a session in SAMA."""
    max_tokens: PositiveInt = 20_000_000
    """Largest number of tokens, sent and received together, at least 1: of each trial in Verco, of a session in
    SAMA."""
    calls_per_minute: PositiveFloat = 600.0
    """Largest number of calls in a minute, above 0; later calls wait. Each trial in Verco has a limit of its own."""


REFUSED = "the budget of "
"""How the reasons of calls begin that were not sent."""


class OverBudgetError(Exception):
    """The next call would exceed the budget."""


class Meter:
    """Counts and admits calls. It can be used from several threads."""

    def __init__(
        self,
        budget: Budget,
        spent: Cost | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Set the budget; `spent` are costs of the run's earlier sessions, clock and sleep are in seconds."""
        self._budget, self._clock, self._sleep = budget, clock, sleep
        self._lock = threading.Lock()
        self._cost = spent or Cost()
        self._next_slot = -float("inf")

    @property
    def cost(self) -> Cost:
        """The cost of the run so far."""
        with self._lock:
            return self._cost

    def admit(self) -> None:
        """Count one call, and wait until the rate limit allows it; raises OverBudgetError."""
        with self._lock:
            self._check()
            self._cost = replace(self._cost, calls=self._cost.calls + 1)
            slot = max(self._clock(), self._next_slot)
            self._next_slot = slot + 60.0 / self._budget.calls_per_minute
            wait = slot - self._clock()
        if wait > 0:
            self._sleep(wait)

    def count_tokens(self, prompt: int, completion: int) -> None:
        """Add the tokens of a reply."""
        with self._lock:
            spent = self._cost
            self._cost = replace(
                spent,
                prompt_tokens=spent.prompt_tokens + prompt,
                completion_tokens=spent.completion_tokens + completion,
            )

    def count_failed_call(self) -> None:
        """Count a call without a usable body."""
        with self._lock:
            self._cost = replace(self._cost, failed_calls=self._cost.failed_calls + 1)

    def _check(self) -> None:
        if self._cost.calls >= self._budget.max_calls:
            raise OverBudgetError(f"{REFUSED}{self._budget.max_calls} calls is used up")
        if self._cost.tokens >= self._budget.max_tokens:
            raise OverBudgetError(f"{REFUSED}{self._budget.max_tokens} tokens is used up")
