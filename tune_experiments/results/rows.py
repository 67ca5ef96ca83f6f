"""`results.jsonl`: one line per result of a run. Tables are made from these lines alone."""

import dataclasses
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tune_experiments.core.config_json import config_from_json
from tune_experiments.core.errors import UserError
from tune_experiments.core.files import write_atomically
from tune_experiments.results.intervals import NONE, Interval

RESULTS_FILE = "results.jsonl"
AFTER = "after "
"""In a condition, before the stage after which the test was made."""


@dataclass(frozen=True)
class Result:
    """One number. Fields with a default are missing in files that are older than the field.

    Attributes:
        experiment: Name of the script.
        table: Title of its table, e.g. "unseen rooms".
        method: Name of the method, e.g. "sync", or of a baseline such as "random".
        world: Name of the test environment.
        split: "train", "valid", "test", a part of the test that an experiment names, or "exact" for a computed number.
        seed: Seed of the training run; None for a baseline.
        metric: Snake case of the paper's words, e.g. "success".
        value, ci_low, ci_high: The number, and the ends of its 95 % interval, None without one.
        n_episodes: Number of episodes; None where none was played.
        env_steps: Env steps of training.
        interval: Name of the interval's rule, as in `intervals.py`.
        condition: Difference from the plain test in this world, such as "in silence" or "after STAGE".
        bounds: Smallest and largest value that the metric can have, None for no limit.
        cpu_seconds: CPU-seconds of this training without validation; None where nothing was trained.
        skipped_updates: Share of its updates that were skipped, because a gradient was not finite; None for none.
    """

    experiment: str
    table: str
    method: str
    world: str
    split: str
    seed: int | None
    metric: str
    value: float
    ci_low: float | None = None
    ci_high: float | None = None
    n_episodes: int | None = None
    env_steps: int | None = None
    interval: str | None = None
    cpu_seconds: float | None = field(default=None, compare=False)
    condition: str = ""
    bounds: tuple[float | None, float | None] = (None, None)
    skipped_updates: float | None = None

    @property
    def number(self) -> Interval:
        """The number with its own interval."""
        return Interval(self.value, self.ci_low, self.ci_high, self.interval or NONE)

    @property
    def place(self) -> str:
        """Test environment and condition."""
        return f"{self.world} {self.condition}".strip()

    @property
    def condition_and_stage(self) -> tuple[str, str]:
        """Condition of the test, and the stage after which it was made; each is empty if there is none."""
        own, after, stage = f" {self.condition}".rpartition(f" {AFTER}")
        return (own.strip(), stage) if after else (self.condition, "")

    @property
    def trial(self) -> tuple[str, str, str, str, str, int | None]:
        """Key of the evaluated trial: all that identifies the line, except its metric; a title may be edited."""
        return self.experiment, self.method, self.world, self.condition, self.split, self.seed


def read(path: Path) -> list[Result]:
    """All lines, in order; UserError names a missing file, or the line that is no result."""
    if not path.is_file():
        raise UserError(f"{path} does not exist; run the experiment first")
    # Split at newlines alone: a text may hold the other characters that splitlines takes for line ends.
    lines = path.read_bytes().split(b"\n")
    return [_parse(path, number, line) for number, line in enumerate(lines, start=1) if line.strip()]


def read_results(run: Path) -> list[Result]:
    """Rows of a run's results.jsonl; none before the first trial has finished."""
    return _read_existing(run / RESULTS_FILE)


def _read_existing(path: Path) -> list[Result]:
    return read(path) if path.exists() else []


def replace_rows(path: Path, results: Sequence[Result]) -> None:
    """Replace all rows of the same trials."""
    trials = {result.trial for result in results}
    write(path, [*(old for old in _read_existing(path) if old.trial not in trials), *results])


def remove_rows(path: Path, results: Sequence[Result]) -> None:
    """Take out every line of the trials of these lines; raises as `read` does."""
    trials = {result.trial for result in results}
    write(path, [old for old in _read_existing(path) if old.trial not in trials])


def write(path: Path, results: Sequence[Result]) -> None:
    """Write a file of these lines alone."""
    for result in results:
        if (fault := _not_finite(result)) is not None:
            raise ValueError(fault)
    write_atomically(path, "".join(json.dumps(_plain(result)) + "\n" for result in results))


def _not_finite(result: Result) -> str | None:
    for name in ("value", "ci_low", "ci_high"):
        number = getattr(result, name)
        if number is not None and not math.isfinite(number):
            return f"{name} of {result.metric} of {result.method} is {number}; results are finite numbers"
    return None


def _plain(result: Result) -> dict[str, Any]:
    """Plain Python numbers, for metrics arrive as NumPy scalars too."""
    row = dataclasses.asdict(result)
    if row["skipped_updates"] is None:
        del row["skipped_updates"]
    return {key: value.item() if hasattr(value, "item") else value for key, value in row.items()}


def _parse(path: Path, number: int, line: bytes) -> Result:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} line {number} is not JSON ({error}); {_repair_advice(path)}") from error
    result = config_from_json(Result, data, f"{path} line {number}", has_all=False)
    if (fault := _not_finite(result)) is not None:
        raise UserError(f"{path} line {number}: {fault}; {_repair_advice(path)}")
    return result


def _repair_advice(path: Path) -> str:
    return f"delete that line, and the experiment's command with --out {path.parent} writes the row again"
