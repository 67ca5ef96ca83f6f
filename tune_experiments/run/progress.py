"""One live line per trial while a run trains; plain lines now and then where nobody watches a terminal.

Updates are plain dicts, the rows of a trial's log. This file must not know who sends them.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from rich.console import Console, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from tune_experiments.run.trial_log import SPEED

__all__ = ["Progress"]

SECONDS_BETWEEN_PLAIN_LINES = 10.0
# The speed shown is that of so many updates, so that it follows a run that slows down.
SPEED_WINDOW = 20
COLUMNS = {"return": "episode/return", "success": "episode/success"}


class Progress:
    """The live display of a run; a context manager.

    Args:
        budgets: trial -> env steps that it will train for, in the order of the lines.
        columns: Heading -> key of the row, a number or a word.
        console: Where to draw; standard output by default.
    """

    def __init__(
        self,
        budgets: Mapping[str, int],
        columns: Mapping[str, str] = COLUMNS,
        console: Console | None = None,
    ) -> None:
        self._columns = dict(columns)
        self._lines = {name: _Line(name, max(1, budget)) for name, budget in budgets.items()}
        self._console = console or Console()
        self._live = Live(get_renderable=self._table, console=self._console, refresh_per_second=2, transient=False)

    def update(self, trial: str, row: Mapping[str, Any]) -> None:
        """Take a row with `env_steps` and, when known, `SPEED` and the columns' keys.

        A row may correct `budget_env_steps`, and have something `said` in a sentence.
        """
        line = self._lines[trial]
        line.take(row, time.monotonic())
        if "said" in row:
            self._console.print(f"{trial}: {row['said']}", soft_wrap=True, highlight=False, markup=False)
        now = time.monotonic()
        if not self._console.is_terminal and now - line.printed_at >= SECONDS_BETWEEN_PLAIN_LINES:
            line.printed_at = now
            self._print(line)

    def finish(self, trial: str, how: str) -> None:
        """Say how a trial ended, e.g. "done" or "failed: ..."."""
        line = self._lines[trial]
        line.ended = how
        if not self._console.is_terminal:
            self._print(line)

    def __enter__(self) -> Progress:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._console.is_terminal:
            self._live.stop()

    def _print(self, line: _Line) -> None:
        numbers = "  ".join(f"{heading} {line.number(key)}" for heading, key in self._columns.items())
        text = f"{line.name}  {line.steps()}  {line.speed_text()}  {numbers}  {line.end()}"
        # soft_wrap: a log file is no terminal of 80 columns.
        self._console.print(text, soft_wrap=True, highlight=False, markup=False)

    def _table(self) -> RenderableType:
        table = Table(box=None, pad_edge=False)
        table.add_column("trial", no_wrap=True)
        table.add_column("")
        for heading in ("env steps", "speed", *self._columns):
            table.add_column(heading, justify="right", no_wrap=True)
        table.add_column("left")
        for line in self._lines.values():
            bar = ProgressBar(total=line.budget, completed=min(line.env_steps, line.budget), width=16)
            numbers = [line.number(key) for key in self._columns.values()]
            table.add_row(line.name, bar, line.steps(), line.speed_text(), *numbers, line.end())
        return table


class _Line:
    """What is known of one trial."""

    def __init__(self, name: str, budget: int) -> None:
        self.name, self.budget = name, budget
        self.env_steps = 0
        self.ended = ""
        self.printed_at = -math.inf
        self._latest: dict[str, Any] = {}
        self._window: deque[tuple[float, int]] = deque(maxlen=SPEED_WINDOW)

    def take(self, row: Mapping[str, Any], now: float) -> None:
        # A number that this row lacks (no episode ended) keeps its last value.
        self._latest.update({key: value for key, value in row.items() if value is not None})
        self.env_steps = int(self._latest.get("env_steps", 0))
        self.budget = int(self._latest.get("budget_env_steps", self.budget))
        self._window.append((now, self.env_steps))

    def speed(self) -> float | None:
        """Env steps per second: the trial's own figure, else from the times at which updates came."""
        if SPEED in self._latest:
            return float(self._latest[SPEED])
        if len(self._window) < 2 or self._window[-1][0] <= self._window[0][0]:
            return None
        (first_time, first_steps), (last_time, last_steps) = self._window[0], self._window[-1]
        return (last_steps - first_steps) / (last_time - first_time)

    def steps(self) -> str:
        return f"{self.env_steps:,}/{self.budget:,} ({min(1.0, self.env_steps / self.budget):.0%})"

    def speed_text(self) -> str:
        speed = self.speed()
        return "-/s" if speed is None else f"{speed:,.0f}/s"

    def number(self, key: str) -> str:
        value = self._latest.get(key)
        if isinstance(value, str):
            return value
        return "-" if value is None else f"{float(value):.3g}"

    def end(self) -> str:
        """How it ended, or the time that is left."""
        if self.ended:
            return self.ended
        speed = self.speed()
        if not self._latest:
            return "waiting"
        if not speed or speed <= 0:
            return "ETA -"
        seconds = round(max(0, self.budget - self.env_steps) / speed)
        hours, minutes = seconds // 3600, seconds % 3600 // 60
        return f"ETA {hours}:{minutes:02}:{seconds % 60:02}" if hours else f"ETA {minutes}:{seconds % 60:02}"
