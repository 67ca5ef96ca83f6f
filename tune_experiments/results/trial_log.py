"""Log of one trial in training: `metrics.jsonl`, and TensorBoard events that are derived from it.

    folder/metrics.jsonl           one line per training iteration: env_steps, wall_time and flat scalar names
    folder/texts/<tag>.md          texts
    folder/events.out.tfevents.*   all of the above for TensorBoard, x axis = env steps

`rewind` cuts the log to the env steps of a checkpoint and writes the events again, so no point is doubled or missing.
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tune_experiments.core.errors import UserError
from tune_experiments.core.files import write_atomically

if TYPE_CHECKING:
    from tune_experiments.results.tensorboard_events import EventFile


METRICS_FILE = "metrics.jsonl"
SPEED = "speed/env_steps_per_second"
"""Key of a row: env steps per second, of all runners together."""
OPTIMISER_STEPS = "learner/optimiser_steps"
"""Key of a row: number of optimiser steps until then, in all stages, each counted once for all learners."""
CPU_SECONDS = "speed/cpu_seconds"
"""Key of a row: CPU-seconds that training to its env steps took in all processes, validation left out."""
HANGS = "hangs"
"""Key of a trial's last report before its process ended: the call of its environment that hung, and its stack."""
REFUSED = "refused"
"""Key of a trial's last report: the sentence of the `UserError` that ended it."""
DIVERGED, DIVERGED_FILE = "diverged", "diverged.txt"
"""How a trial of a search ends whose training has diverged, and the file that says why; empty if it goes on."""
FINISHED, DONE = "finished", "done"
"""Key of a trial's last report if it has finished: `DONE`, or `DIVERGED`. In a store its folder cannot be asked."""
WAITS = "waits"
"""Key of a trial's report: its notice says what the trial waits for, such as free disk space."""
# Everything else in a row is a curve.
_AXES = ("env_steps", "wall_time")


def find_logs(trials: Mapping[str, Mapping[int, Path]]) -> dict[str, list[Path]]:
    """Method -> the metrics.jsonl of each of its seeds, of those that have one yet."""
    found = {
        method: [path for folder in seeds.values() if (path := folder / METRICS_FILE).exists()]
        for method, seeds in trials.items()
    }
    return {method: paths for method, paths in found.items() if paths}


def read_metrics(path: Path) -> list[dict[str, float]]:
    """The complete rows of a metrics.jsonl, in order; a truncated last line (after a crash) is left out.

    Raises UserError for a missing file, or a damaged line that is not the last.
    """
    return [row for _, row in _lines_and_rows(path)]


class TrialLog:
    """The log of the trial that owns `folder` (created when missing); one process writes it at a time.

    To continue an existing log, call `rewind` with the env steps of the checkpoint that training starts from.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._metrics = self.folder / METRICS_FILE
        self._metrics.touch()  # a trial without a row is not missing
        self._events: EventFile | None = None
        self._last: Mapping[str, float] = {}

    @property
    def last(self) -> Mapping[str, float]:
        """The newest row that the file holds; empty before the first."""
        self._open_events()
        return self._last

    def append(self, row: Mapping[str, Any]) -> None:
        """Add one iteration: `env_steps`, which rise, and scalars by names like `episode/success`; None is left out."""
        events = self._open_events()
        row = {"wall_time": time.time()} | {key: _number(key, value) for key, value in row.items() if value is not None}
        if self._last and row["env_steps"] <= self._last["env_steps"]:
            raise ValueError(
                f"env_steps {row['env_steps']} follow {self._last['env_steps']} in {self._metrics}: rewind first"
            )
        self._last = row
        # JSON has no non-finite numbers, and a diverged loss must not make the file unreadable to others.
        line = json.dumps({key: value if math.isfinite(value) else str(value) for key, value in row.items()})
        with self._metrics.open("ab") as file:
            file.write(line.encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        _add_curves(events, row)
        events.flush()

    def add_text(self, tag: str, markdown: str) -> None:
        """Add a text such as the configuration; a text of the same tag is replaced."""
        events = self._open_events()
        path = self.folder / "texts" / f"{tag}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, markdown)
        events.add_text(tag, markdown, time.time())
        events.flush()

    def rewind(self, to_env_steps: int) -> None:
        """Remove all rows after `to_env_steps` and write the TensorBoard events again from what remains."""
        self.close()
        kept = [pair for pair in _lines_and_rows(self._metrics) if pair[1]["env_steps"] <= to_env_steps]
        write_atomically(self._metrics, b"".join(line + b"\n" for line, _ in kept))
        self._last = kept[-1][1] if kept else {}
        self._events = self._derive_events([row for _, row in kept])

    def close(self) -> None:
        """Close the event file; a later call opens a new one."""
        if self._events is not None:
            self._events.close()
            self._events = None

    def __enter__(self) -> TrialLog:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.close()

    def _open_events(self) -> EventFile:
        """The event file; on first use it is written again from the log, which repairs it after a crash."""
        if self._events is None:
            self.rewind(sys.maxsize)
        assert self._events is not None
        return self._events

    def _derive_events(self, rows: list[dict[str, float]]) -> EventFile:
        """Write all rows and texts into a new event file, then remove the old ones."""
        # reading a log does not need TensorBoard
        from tune_experiments.results.tensorboard_events import PATTERN, UNFINISHED_PATTERN, EventFile

        old = sorted(self.folder.glob(PATTERN))
        for path in self.folder.glob(UNFINISHED_PATTERN):
            path.unlink()
        events = EventFile(self.folder)
        for row in rows:
            _add_curves(events, row)
        for path in sorted((self.folder / "texts").rglob("*.md")):
            tag = path.relative_to(self.folder / "texts").with_suffix("").as_posix()
            events.add_text(tag, path.read_text(errors="replace"), path.stat().st_mtime)
        events.publish()
        for path in old[:-1]:
            path.unlink()
        for path in old[-1:]:
            # Emptied, not removed: TensorBoard does not go on after a file that vanishes.
            os.truncate(path, 0)
        return events


def _lines_and_rows(path: Path) -> list[tuple[bytes, dict[str, float]]]:
    if not path.is_file():
        raise UserError(f"{path} does not exist; give the metrics.jsonl of a trial")
    # A whole file ends with a newline, so the piece after the last newline is empty or torn.
    lines = path.read_bytes().split(b"\n")[:-1]
    pairs = []
    for number, line in enumerate(lines, start=1):
        try:
            row = {key: float(value) if isinstance(value, str) else value for key, value in json.loads(line).items()}
            row["env_steps"] = int(row["env_steps"])
            if not all(isinstance(value, int | float) for value in row.values()):
                raise ValueError("a value is not a number")
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
            raise UserError(f"{path} line {number} is not a row of metrics ({error!r}); delete that line") from error
        pairs.append((line, row))
    return pairs


def _add_curves(events: EventFile, row: Mapping[str, float]) -> None:
    curves = {key: value for key, value in row.items() if key not in _AXES}
    events.add_scalars(curves, int(row["env_steps"]), row.get("wall_time", 0.0))


def _number(key: str, value: Any) -> float:
    """A plain number from a Python, NumPy or torch scalar; whole numbers stay whole."""
    value = value.item() if hasattr(value, "item") else value
    if not isinstance(value, int | float):
        raise ValueError(f"metric {key!r} must be a number, not {value!r}")
    return value + 0


# ---- skipped updates: those with a gradient that is not finite ------------------------------------------------------

SKIPPED_COUNT = "progress/skipped_updates"
"""Key of a row: how many optimiser steps were skipped so far."""
CURE = (
    "lower the learning rate (the flag that ends in learning-rate), or look for NaN, infinity and huge numbers in "
    "observations, rewards and losses"
)


def skipped_share(row: Mapping[str, float]) -> float:
    """Share of a trial's updates up to this row of its log that were skipped, in [0, 1]."""
    skipped: float = row.get(SKIPPED_COUNT) or 0
    return skipped / max(1, row.get(OPTIMISER_STEPS) or 0)


def percent(share: float) -> str:
    """A share above 0 in words: `under 1%`, `40%`."""
    return "under 1%" if 0 < share < 0.01 else f"{share:.0%}"


def describe_skipped_updates(rows: Sequence[Mapping[str, float]]) -> str:
    """Line for `doctor`: share of skipped updates in a trial's log, and number among the last ones."""
    from rl_models.training.loop import SKIPPED, WINDOW

    newest = rows[-1] if rows else {}
    share = skipped_share(newest)
    recent = round(newest.get(SKIPPED, 0.0) * WINDOW)
    line = f"skipped updates: {percent(share)} of {newest.get(OPTIMISER_STEPS, 0):,.0f}, {recent} of the last {WINDOW}"
    return f"{line} (a gradient was not finite): {CURE}" if share else line


def find_failure(rows: Sequence[Mapping[str, float]], stage_updates: int, is_last: bool) -> str | None:
    """Reason why a trial cannot continue: more than half of its last updates were skipped; None if it can."""
    from rl_models.training.loop import SKIPPED, WINDOW

    newest = rows[-1]
    for name, value in newest.items():
        if name.endswith("/loss") and not math.isfinite(value):  # of a supervised stage, which skips nothing
            return f"{name} is {value} at env step {newest['env_steps']:,}: {CURE}"
    skipped = round(newest.get(SKIPPED, 0.0) * WINDOW)
    window = min(WINDOW, stage_updates) if is_last else WINDOW
    if skipped <= window / 2:
        return None
    in_all = f"{newest[SKIPPED_COUNT]:,.0f} of {newest[OPTIMISER_STEPS]:,.0f} in all"
    return (
        f"{skipped} of the last {min(WINDOW, stage_updates)} updates were skipped, because a gradient was not finite, "
        f"since env step {_began_at(rows):,} ({in_all}): {CURE}"
    )


def _began_at(rows: Sequence[Mapping[str, float]]) -> int:
    """Env steps of the newest row after which every row has skipped updates; 0 if there is none."""
    counts, row = [row.get(SKIPPED_COUNT, 0) for row in rows], len(rows) - 1
    while row and counts[row] == counts[row - 1]:
        row -= 1
    while row and counts[row] > counts[row - 1]:
        row -= 1
    return 0 if row == 0 and counts[0] else int(rows[row]["env_steps"])


# ---- score of a trial in a search: the mean of its objective over late validations, less noisy than one of them -----

SCORE = "search/score"
"""Key of a report to Ray Tune: the number that its schedulers compare."""
_LATE_SHARE = 0.25
"""Share of training at its end; only validations in it count."""
_WORST = -1e30
"""Score of a trial that diverged; Tune's schedulers skip NaN, and Optuna drops it."""


def has_diverged(trial: Path) -> bool:
    """Whether a trial of a search has finished because its training diverged."""
    path = trial / DIVERGED_FILE
    return path.exists() and path.stat().st_size > 0


def score(trial: Path, objective: str, since: float | None = None) -> float:
    """Mean of the objective over the last quarter of a trial's training; not finite if it diverged.

    With `since` only validations after the first row at this number of env steps count; if there are none, the last
    one.
    """
    if has_diverged(trial):
        return math.nan
    log = read_metrics(trial / METRICS_FILE)
    rows = [row for row in log if objective in row]
    if not rows:
        known = sorted({key for row in log for key in row if key.startswith("valid/")})
        raise UserError(
            f"{trial} has logged no {objective!r} to rank by (but {', '.join(known) or 'nothing of the kind'}); repeat "
            f"the command with --search-objective KEY"
        )
    if since is None:
        late = [row for row in rows if row["env_steps"] >= (1 - _LATE_SHARE) * rows[-1]["env_steps"]]
    else:
        begin = next((row["env_steps"] for row in log if row["env_steps"] >= since), since) if since else 0
        late = [row for row in rows if row["env_steps"] > begin] or rows[-1:]
    return float(np.mean([row[objective] for row in late]))


def finite(value: float) -> float:
    """The number, or one below all others where it is not finite."""
    return value if math.isfinite(value) else _WORST
