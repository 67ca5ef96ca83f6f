"""One live line per trial while a run trains; plain lines at intervals if the output is no terminal."""

import functools
import math
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, Self

import rich.progress
from rich.console import Console
from rich.progress import BarColumn, ProgressColumn, Task
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
        self._columns = dict(columns)
        self._console = console or Console(emoji=False)
        self._live = _Live(
            _TextColumn("trial", lambda task: task.description, "left"),
            BarColumn(bar_width=16),
            _TextColumn("env steps", _steps),
            _TextColumn("speed", _speed_text),
            *(_TextColumn(heading, functools.partial(_number, key), wraps=True) for heading, key in columns.items()),
            _TextColumn("left", _end, "left"),
            console=self._console,
            refresh_per_second=2,
            speed_estimate_period=600,
            get_time=time.monotonic,
            disable=not self._console.is_terminal,
        )
        for name, budget in budgets.items():
            self._live.add_task(name, total=max(1, budget), latest={}, ended="", printed_at=-math.inf)
        self._tasks = {task.description: task for task in self._live.tasks}

    def update(self, trial: str, row: Mapping[str, Any]) -> None:
        """Take a row of the trial's log with `env_steps` and, if known, `SPEED` and the keys of the columns.

        A row may also correct `budget_env_steps`, and hold a `notice`, a sentence.
        """
        task = self._tasks[trial]
        # A number that this row lacks (no episode ended) keeps its last value.
        latest = task.fields["latest"] | {key: value for key, value in row.items() if value is not None}
        numbers = {"completed": int(latest.get("env_steps", 0)), "total": latest.get("budget_env_steps")}
        self._live.update(task.id, **numbers, latest=latest, ended="")
        if "notice" in row:
            self._print(f"{trial}: {row['notice']}")
        now = time.monotonic()
        if not self._console.is_terminal and now - task.fields["printed_at"] >= SECONDS_BETWEEN_PLAIN_LINES:
            self._live.update(task.id, printed_at=now)
            self._print(self._line(task))

    def finish(self, trial: str, how: str) -> None:
        """Show how a trial ended: "done", "failed"."""
        task = self._tasks[trial]
        self._live.update(task.id, ended=how)
        if not self._console.is_terminal:
            self._print(self._line(task))

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._live.stop()

    def _line(self, task: Task) -> str:
        numbers = (f"{heading} {_number(key, task)}" for heading, key in self._columns.items())
        return "  ".join([task.description, _steps(task), _speed_text(task), *numbers, _end(task)])

    def _print(self, line: str) -> None:
        # soft_wrap: no line breaks in log files
        self._console.print(line, soft_wrap=True, highlight=False, markup=False)


class _Live(rich.progress.Progress):
    """A table with headings."""

    def make_tasks_table(self, tasks: Iterable[Task]) -> Table:
        table = super().make_tasks_table(tasks)
        table.show_header = True
        return table


class _TextColumn(ProgressColumn):
    """A text column; a wrapping one shrinks on a narrow terminal."""

    def __init__(
        self,
        heading: str,
        words: Callable[[Task], str],
        justify: Literal["left", "right"] = "right",
        wraps: bool = False,
    ) -> None:
        super().__init__(Column(heading, justify=justify, no_wrap=not wraps, min_width=6 if wraps else None))
        self._words = words

    def render(self, task: Task) -> Text:
        return Text(self._words(task))


def _steps(task: Task) -> str:
    return f"{task.completed:,}/{task.total:,} ({min(1.0, task.percentage / 100):.0%})"


def _speed(task: Task) -> float | None:
    """Env steps per second: the trial's own figure, else while it trains from the times at which updates came."""
    return task.fields["latest"].get(SPEED, None if task.finished else task.speed)


def _speed_text(task: Task) -> str:
    speed = _speed(task)
    return "-/s" if speed is None else f"{speed:,.0f}/s"


def _number(key: str, task: Task) -> str:
    value = task.fields["latest"].get(key)
    if isinstance(value, str):
        return value
    return "-" if value is None else f"{float(value):.3g}"


def _end(task: Task) -> str:
    status, share = _time_or_end(task), skipped_share(task.fields["latest"])
    return f"{status}, {percent(share)} of updates skipped" if share and not status.startswith("failed") else status


def _time_or_end(task: Task) -> str:
    if task.fields["ended"]:
        return str(task.fields["ended"])
    if not task.fields["latest"]:
        return "waiting"
    speed = _speed(task)
    if not speed or speed <= 0:
        return "ETA -"
    seconds = round(max(0, task.remaining or 0) / speed)
    hours, minutes = seconds // 3600, seconds % 3600 // 60
    return f"ETA {hours}:{minutes:02}:{seconds % 60:02}" if hours else f"ETA {minutes}:{seconds % 60:02}"
