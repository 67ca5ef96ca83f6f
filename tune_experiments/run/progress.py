"""One live line per trial while a run trains; plain lines at intervals if the output is no terminal."""

import math
import time
from collections.abc import Mapping
from typing import Any, Self

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Column, Table
from rich.text import Text

from tune_experiments.results.trial_log import SPEED, percent, skipped_share

PAUSED = "paused"
"""Status of a trial that continues in the next slice."""
STOPPED = "stopped"
"""Status of a trial that its search stopped."""
SECONDS_BETWEEN_PLAIN_LINES = 10.0
COLUMNS = {"return": "episode/return", "success": "episode/success"}


class Progress:
    """The live display of a run, a context manager: trials with their budgets in env steps, in this order.

    A column is a heading -> key of the row, a number or a word.
    """

    def __init__(
        self, budgets: Mapping[str, int], columns: Mapping[str, str] = COLUMNS, console: Console | None = None
    ) -> None:
        self._columns, self._console = dict(columns), console or Console(emoji=False)
        self._budgets = budgets
        self._latest: dict[str, dict[str, Any]] = {name: {} for name in budgets}
        self._ended: dict[str, str] = {}
        self._printed_at = dict.fromkeys(budgets, -math.inf)
        self._live = Live(console=self._console, get_renderable=self._table, refresh_per_second=2)

    def update(self, trial: str, row: Mapping[str, Any]) -> None:
        """Take a row of the trial's log with `env_steps` and, if known, `SPEED` and the keys of the columns.

        A row may also correct `budget_env_steps`, and hold a `notice`, a sentence.
        """
        # A number that this row lacks (no episode ended) keeps its last value.
        self._latest[trial] |= {key: value for key, value in row.items() if value is not None}
        self._ended.pop(trial, None)
        if "notice" in row:
            self._print(f"{trial}: {row['notice']}")
        now = time.monotonic()
        if not self._console.is_terminal and now - self._printed_at[trial] >= SECONDS_BETWEEN_PLAIN_LINES:
            self._printed_at[trial] = now
            self._print_line(trial)

    def finish(self, trial: str, how: str) -> None:
        """Show how a trial ended: "done", "failed"."""
        self._ended[trial] = how
        if not self._console.is_terminal:
            self._print_line(trial)

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._live.stop()

    def _table(self) -> Table:
        numbers = [Column(heading, justify="right", min_width=6) for heading in self._columns]
        fixed = [Column(heading, justify="right", no_wrap=True) for heading in ("env steps", "speed")]
        columns = [Column("trial", no_wrap=True), Column(), *fixed, *numbers, Column("left", no_wrap=True)]
        table = Table(*columns, box=None, padding=(0, 1), collapse_padding=True, pad_edge=False)
        for trial in self._latest:
            done, budget = self._env_steps(trial)
            name, *cells = map(Text, self._cells(trial))
            table.add_row(name, ProgressBar(budget, done, width=16), *cells)
        return table

    def _print_line(self, trial: str) -> None:
        name, steps, speed, *numbers, status = self._cells(trial)
        named = [f"{heading} {number}" for heading, number in zip(self._columns, numbers, strict=True)]
        self._print("  ".join([name, steps, speed, *named, status]))

    def _print(self, line: str) -> None:
        # soft_wrap: no line breaks in log files
        self._console.print(line, soft_wrap=True, highlight=False, markup=False)

    def _env_steps(self, trial: str) -> tuple[int, int]:
        latest = self._latest[trial]
        return int(latest.get("env_steps", 0)), max(1, latest.get("budget_env_steps", self._budgets[trial]))

    def _cells(self, trial: str) -> list[str]:
        latest, (done, budget) = self._latest[trial], self._env_steps(trial)
        speed, share = latest.get(SPEED), skipped_share(latest)
        status = self._ended.get(trial) or (_time_left(max(0, budget - done), speed) if latest else "waiting")
        if share and not status.startswith("failed"):
            status = f"{status}, {percent(share)} of updates skipped"
        steps = f"{done:,}/{budget:,} ({min(1.0, done / budget):.0%})"
        numbers = (_number(latest.get(key)) for key in self._columns.values())
        return [trial, steps, "-/s" if speed is None else f"{speed:,.0f}/s", *numbers, status]


def _number(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "-" if value is None else f"{float(value):.3g}"


def _time_left(env_steps: int, speed: float | None) -> str:
    if not speed or speed <= 0:
        return "ETA -"
    seconds = round(env_steps / speed)
    hours, minutes = seconds // 3600, seconds % 3600 // 60
    return f"ETA {hours}:{minutes:02}:{seconds % 60:02}" if hours else f"ETA {minutes}:{seconds % 60:02}"
