"""Reports to Tune, every ten seconds: of each, Tune keeps a reference and the row as long as the trial's process lives.

That is some 4 to 13 kB of the driver's memory a row, a gigabyte in a long run, for a live line that people look at. The
trial's own log has every row. This file must not know who listens.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

__all__ = ["PacedReport"]


class PacedReport:
    """Passes on at most one row in so many seconds, with all that came meanwhile; a context manager.

    Args:
        report: gets the rows.
        seconds: between two of them. A row that has something `said` goes at once, the last one at the end.
        clock: seconds.
    """

    def __init__(
        self,
        report: Callable[[dict[str, Any]], None],
        seconds: float = 10.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._report, self._seconds, self._clock = report, seconds, clock
        self._waiting: dict[str, Any] = {}
        self._sent_at = -seconds

    def __call__(self, row: dict[str, Any]) -> None:
        """Take a row."""
        self._waiting |= row
        now = self._clock()
        if "said" in row or now - self._sent_at >= self._seconds:
            self._sent_at = now
            self._send()

    def __enter__(self) -> PacedReport:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._send()

    def _send(self) -> None:
        waiting, self._waiting = self._waiting, {}
        if waiting:
            self._report(waiting)
