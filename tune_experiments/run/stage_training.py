"""Training of one stage: steps of the algorithm, and between them the log, validation and checkpoints."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from rl_models.training.algorithm import (
    ENDED_EPISODES,
    OTHERS_CPU_SECONDS,
    RESTARTED,
    SKIPPED_UPDATES,
    Algorithm,
    Tensors,
)
from rl_models.training.checkpoint import CheckpointError, prune, save_checkpoint
from tune_experiments.core.drawing import short_reason
from tune_experiments.core.errors import UserError
from tune_experiments.results.trial_log import (
    CPU_SECONDS,
    CURE,
    METRICS_FILE,
    OPTIMISER_STEPS,
    SKIPPED_COUNT,
    SPEED,
    TrialLog,
    find_failure,
    read_metrics,
)
from tune_experiments.run.curriculum_state import Choice, CurriculumState

_TIMEOUT_SECONDS = 1800.0
Row = dict[str, float]
Report = Callable[[dict[str, Any]], None]
IsTimeUp = Callable[[], bool]


_SKIPPED_IN_A_ROW = 5
"""Number of skipped optimiser steps after which an error of an environment counts as one of the policy."""


class DivergedError(UserError):
    """Training has diverged: a loss or the policy is not finite, or most updates are skipped, so it learns nothing."""


def never() -> bool:
    """Always False: no time limit."""
    return False


class StageTraining:
    """Trains a trial to the end of its current stage."""

    def __init__(
        self,
        curriculum: CurriculumState,
        folder: Path,
        identity: dict[str, Any],
        log: TrialLog,
        report: Report,
        is_time_up: IsTimeUp = never,
    ) -> None:
        self._curriculum, self._plan = curriculum, curriculum.plan
        self._folder, self._identity = folder, identity
        self._log, self._report, self._is_time_up = log, report, is_time_up
        self._is_cut = False
        self._saved_at = curriculum.progress.env_steps

    def run(self, algorithm: Algorithm, until_env_steps: int | None = None) -> None:
        """Train to the end of the stage, to `until_env_steps` or until time is up, at least until the next row.

        The last checkpoint is complete when this returns. Raises DivergedError.
        """
        try:
            self._train(algorithm, until_env_steps)
        except (ValueError, LookupError, ArithmeticError) as error:  # as of an environment that gets NaN as an action
            if isinstance(error, CheckpointError) or not _is_beyond_numbers(algorithm):
                raise
            raise DivergedError(f"{short_reason(error)}, because the policy is no longer finite: {CURE}") from error

    def _train(self, algorithm: Algorithm, until_env_steps: int | None) -> None:
        curriculum, self._until = self._curriculum, until_env_steps
        clock, self._cpu = _Clock(curriculum.total().env_steps), _CpuClock(self._log.last)
        statistics: Row = {}
        while not curriculum.stage_is_over and not self._pauses and not self._is_cut:
            found = algorithm.train()
            self._cpu.add(found.pop(OTHERS_CPU_SECONDS, 0.0))
            statistics = _joined(statistics, found)
            before, curriculum.progress = curriculum.progress, algorithm.progress()
            if curriculum.progress.env_steps == before.env_steps:  # IMPALA only queued a batch
                clock.check_progress()
                continue
            statistics.pop(ENDED_EPISODES, None)
            curriculum.record(statistics)
            self._is_cut = self._is_time_up()
            held = self._held(algorithm)
            row = self._row(statistics, clock, algorithm, held)
            statistics = {}
            self._log.append(row)
            self._report(row | curriculum.progress_entries() | restart_notice(row))
            self._refuse_skipping()
            if held is not None:
                self._checkpoint(held, curriculum.better_value(row))

    def _refuse_skipping(self) -> None:
        """Fail a trial that skips most of its updates, except of a population, which judges it by its score."""
        curriculum, last = self._curriculum, self._log.last
        if self._until is None and find_failure([last], curriculum.progress.updates, curriculum.stage_is_over):
            rows = read_metrics(self._log.folder / METRICS_FILE)
            raise DivergedError(find_failure(rows, curriculum.progress.updates, curriculum.stage_is_over) or "")

    @property
    def _pauses(self) -> bool:
        return self._until is not None and self._curriculum.total().env_steps >= self._until

    def _held(self, algorithm: Algorithm) -> Tensors | None:
        """Tensors of a checkpoint if validation or a checkpoint is due, else None."""
        if not (self._validation_is_due or self._checkpoint_is_due):
            return None
        tensors: Tensors
        tensors, self._curriculum.progress = algorithm.checkpoint()
        return tensors

    def _row(
        self, statistics: Row, clock: _Clock, algorithm: Algorithm, held: Tensors | None
    ) -> dict[str, float | None]:
        total = self._curriculum.total()
        row: dict[str, float | None] = {
            "env_steps": total.env_steps,
            "progress/episodes": total.episodes,
            OPTIMISER_STEPS: total.updates,
            SKIPPED_COUNT: total.skipped_updates,
            SPEED: clock.speed(total.env_steps) if self._plan.learns else None,
            CPU_SECONDS: self._cpu.seconds(),
            **statistics,
        }
        if held is not None and self._validation_is_due:
            self._curriculum.validated_at = self._curriculum.progress.env_steps
            with self._cpu.paused():
                episodes = self._plan.validation(algorithm.policy(held["weights"]))
            found = {f"valid/{name}": float(values.mean()) for name, values in episodes.items() if name[0] != "_"}
            self._curriculum.record(found)
            row |= found
        return row | self._curriculum.log_entries()

    def _checkpoint(self, tensors: Tensors, best: float | None) -> None:
        """Save a checkpoint if it is due, or if validation has just found the `best` weights."""
        curriculum = self._curriculum
        if best is None and not self._checkpoint_is_due:
            return
        self._saved_at, number = curriculum.progress.env_steps, curriculum.total().env_steps
        if best is not None:
            curriculum.choice = Choice(best, number)
        save_checkpoint(self._folder, number, tensors, self._identity | curriculum.state())
        prune(self._folder, self._plan.kept_checkpoints, always=curriculum.needed)

    @property
    def _validation_is_due(self) -> bool:
        return self._is_due(self._curriculum.validated_at, self._plan.validate_every_env_steps)

    @property
    def _checkpoint_is_due(self) -> bool:
        return self._is_cut or self._is_due(self._saved_at, self._plan.checkpoint_every_env_steps)

    def _is_due(self, last_env_steps: int, every_env_steps: int) -> bool:
        """Whether something last done at `last_env_steps` is due again; at the end of training it always is."""
        curriculum = self._curriculum
        return (
            curriculum.stage_is_over
            or self._pauses
            or curriculum.progress.env_steps - last_env_steps >= every_env_steps
        )


def _is_beyond_numbers(algorithm: Algorithm) -> bool:
    """Whether the last updates were all skipped, or a weight is so large that its square is not finite."""
    try:
        tensors, _ = algorithm.checkpoint()
    except Exception:  # the algorithm ends because of another error
        return False
    skipped = torch.as_tensor(tensors.get(SKIPPED_UPDATES, {}).get("recent", ()))[-_SKIPPED_IN_A_ROW:]
    are_skipped = len(skipped) == _SKIPPED_IN_A_ROW and bool(skipped.all())
    return are_skipped or not all(
        bool(one.square().isfinite().all()) for one in map(torch.as_tensor, tensors["weights"].values())
    )


def restart_notice(row: dict[str, float | None]) -> dict[str, str]:
    """Notice on custom environments that could not be restored; empty if there are none."""
    restarted = row.get(RESTARTED)
    if not restarted:
        return {}
    why = "cannot be restored, because their seeds do not determine their randomness"
    return {"notice": f"{restarted:.0f} environments {why}: they started new episodes"}


def _joined(earlier: Row, later: Row) -> Row:
    """Metrics of two calls of `train` as one row: means over the episodes of both, and the later of other numbers."""
    counts = [row.get(ENDED_EPISODES, 0.0) for row in (earlier, later)]
    row = earlier | later
    if all(counts):
        row |= {
            name: (counts[0] * earlier.get(name, value) + counts[1] * value) / sum(counts)
            for name, value in later.items()
            if name.startswith("episode/")
        }
        row[ENDED_EPISODES] = sum(counts)
    return row


class _Clock:
    """Env steps a second since the last few rows."""

    def __init__(self, env_steps: int) -> None:
        self._marks = [(time.monotonic(), env_steps)]
        self._waits_since = math.inf

    def check_progress(self) -> None:
        """Fail after too long without an update: unlike a waiting trial, a failed one is restarted."""
        now = time.monotonic()
        self._waits_since = min(self._waits_since, now)  # not since the last row: a validation may take long
        if now - self._waits_since > _TIMEOUT_SECONDS:
            raise RuntimeError(f"no update for {_TIMEOUT_SECONDS / 60:.0f} minutes: env runners or learners have died")

    def speed(self, env_steps: int) -> float:
        self._marks, self._waits_since = [*self._marks[-20:], (time.monotonic(), env_steps)], math.inf
        (first_time, first_steps), (last_time, last_steps) = self._marks[0], self._marks[-1]
        return (last_steps - first_steps) / max(last_time - first_time, 1e-9)


class _CpuClock:
    """CPU-seconds that training has taken, from the first row of the trial on."""

    def __init__(self, last: Mapping[str, float]) -> None:
        self._before = last.get(CPU_SECONDS, 0.0) - time.process_time()

    def add(self, seconds: float) -> None:
        """Count CPU-seconds of other processes."""
        self._before += seconds

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leave out the CPU time of this thread; other threads are counted."""
        begins = time.thread_time()
        yield
        self.add(begins - time.thread_time())

    def seconds(self) -> float:
        """The sum until now."""
        return self._before + time.process_time()
