"""Reports to Tune, rarer and rarer: of each, Tune keeps a reference and the row as long as the trial's process lives.

That is some 4 to 20 kB of the driver's memory a row, gigabytes in a long run, for a live line that people look at. So a
report follows the one before after ten seconds at first, and later after a hundredth of the time that the trial has
taken: some 540 in a day. The trial's own log has every row. This file must not know who listens.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

__all__ = ["PacedReport"]

_SHARE = 0.01
"""Of the time since the start, between two reports."""


class PacedReport:
    """Passes on a row now and then, with all that came meanwhile; a context manager.

    Args:
        report: gets the rows.
        seconds: between two of them at least. A row that has something `said` goes at once, the last one at the end.
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
        self._began_at, self._sent_at = clock(), -seconds

    def __call__(self, row: dict[str, Any]) -> None:
        """Take a row."""
        self._waiting |= row
        now = self._clock()
        pause = max(self._seconds, _SHARE * (now - self._began_at))
        if "said" in row or now - self._sent_at >= pause:
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
