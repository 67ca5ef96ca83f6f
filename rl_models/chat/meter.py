"""Meter of an endpoint's cost: it counts calls and tokens, enforces a budget, and limits the rate of calls."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from pydantic import PositiveFloat, PositiveInt


@dataclass(frozen=True, kw_only=True)
class Prices:
    """Prices of a million tokens of each direction."""

    prompt: float = 0.0
    """Price of a million tokens that are sent, in any currency; 0 means unknown."""
    completion: float = 0.0
    """Price of a million tokens that are received, in the same currency; 0 means unknown."""


@dataclass(frozen=True)
class Usage:
    """Sums of a run. A meter counts each attempt of a request; a record counts a request once with all its attempts.

    Attributes:
        requests: number of requests.
        failures: number of requests without a usable reply.
        prompt_tokens: number of tokens sent, as the endpoint counts them.
        completion_tokens: number of tokens received.
    """

    requests: int = 0
    failures: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    @property
    def tokens(self) -> int:
        """Number of tokens sent and received."""
        return self.prompt_tokens + self.completion_tokens

    def numbers(self, prices: Prices) -> dict[str, float]:
        """Metrics for logs and results, name -> number; the cost, in the prices' currency, only if they are known."""
        counts = {f"chat_{name}": float(value) for name, value in vars(self).items()}
        cost = (self.prompt_tokens * prices.prompt + self.completion_tokens * prices.completion) / 1e6
        return counts | ({"chat_cost": cost} if prices != Prices() else {})


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
        spent: Usage | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Set the budget; `spent` is the usage of the run's earlier sessions, clock and sleep are in seconds."""
        self._budget, self._clock, self._sleep = budget, clock, sleep
        self._lock = threading.Lock()
        self._usage = spent or Usage()
        self._next_slot = -float("inf")

    @property
    def usage(self) -> Usage:
        """The usage of the run so far."""
        with self._lock:
            return self._usage

    def admit(self) -> None:
        """Count one call, and wait until the rate limit allows it; raises OverBudgetError."""
        with self._lock:
            self._check()
            self._usage = replace(self._usage, requests=self._usage.requests + 1)
            slot = max(self._clock(), self._next_slot)
            self._next_slot = slot + 60.0 / self._budget.calls_per_minute
            wait = slot - self._clock()
        if wait > 0:
            self._sleep(wait)

    def count_tokens(self, prompt: int, completion: int) -> None:
        """Add the tokens of a reply."""
        with self._lock:
            spent = self._usage
            self._usage = replace(
                spent,
                prompt_tokens=spent.prompt_tokens + prompt,
                completion_tokens=spent.completion_tokens + completion,
            )

    def count_failed_call(self) -> None:
        """Count a call without a usable body."""
        with self._lock:
            self._usage = replace(self._usage, failures=self._usage.failures + 1)

    def _check(self) -> None:
        if self._usage.requests >= self._budget.max_calls:
            raise OverBudgetError(f"{REFUSED}{self._budget.max_calls} calls is used up")
        if self._usage.tokens >= self._budget.max_tokens:
            raise OverBudgetError(f"{REFUSED}{self._budget.max_tokens} tokens is used up")
