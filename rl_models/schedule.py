"""Schedules: coefficients that change during training, as functions of training progress."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from torch import Tensor

Decision: TypeAlias = Literal["value", "is_zero"]
"""Property of a schedule's value on which a decision depends: the value itself, or whether it is 0."""
Unit = Literal["env_steps", "episodes", "optimiser_steps"]
"""Unit of the times of a schedule."""
_COUNTS: dict[Unit, str] = {"env_steps": "env_steps", "episodes": "episodes", "optimiser_steps": "updates"}
"""Unit -> the count of `Progress` in it."""


@dataclass
class Progress:
    """Training done so far; part of every checkpoint.

    Attributes:
        env_steps: number of joint steps that the learner has used.
        episodes: number of training episodes that ended in these steps.
        updates: number of optimiser steps, skipped ones included.
        skipped_updates: number of those that were skipped, because a gradient was not finite.
    """

    env_steps: int = 0
    episodes: int = 0
    updates: int = 0
    skipped_updates: int = 0

    def observed(self) -> Progress:
        """The same numbers; an observer (`observed_by`) is notified when they are read directly, not by a schedule."""
        return _ObservedProgress(**vars(self))


@dataclass(frozen=True)
class Schedule:
    """A value that is linear between points and constant before the first and after the last.

    Attributes:
        points: (time, value) in `unit`, with increasing times.
        unit: unit of the times.
    """

    points: tuple[tuple[float, float], ...]
    unit: Unit = "env_steps"

    def __post_init__(self) -> None:
        """Check the points; raises ValueError where there are none, or their times do not increase."""
        object.__setattr__(self, "points", tuple((moment, value) for moment, value in self.points))
        moments = [moment for moment, _ in self.points]
        if not moments or moments != sorted(set(moments)):
            raise ValueError(f"a schedule needs points with increasing times, got {self.points}")

    @classmethod
    def constant(cls, value: float) -> Schedule:
        """A schedule that always has the same value."""
        return cls(((0, value),))

    @classmethod
    def linear(cls, start: float, end: float, until: float, unit: Unit = "env_steps") -> Schedule:
        """A linear schedule from `start` at time 0 to `end` at time `until`, constant after it."""
        return cls(((0, start), (max(until, 1), end)), unit)

    def at(self, progress: Progress) -> float:
        """The value after this much training."""
        if observer := _OBSERVER.get():
            observer.decides("value", self)
        return self._at(progress)

    def is_zero(self, progress: Progress) -> bool:
        """Whether the value after this much training is 0."""
        if observer := _OBSERVER.get():
            observer.decides("is_zero", self)
        return self._at(progress) == 0

    def coefficient(self, progress: Progress) -> float | Tensor:
        """The value after this much training, to multiply by.

        It is a scalar on the device while a CUDA graph is captured (`cuda_graph.py`), which is updated at every replay.
        """
        observer = _OBSERVER.get()
        return self._at(progress) if observer is None else observer.coefficient(self, self._at(progress))

    def _at(self, progress: Progress) -> float:
        now = vars(progress)[_COUNTS[self.unit]]  # read by a schedule
        before = self.points[0]
        for after in self.points:
            if now < after[0]:
                share = (now - before[0]) / (after[0] - before[0]) if after[0] > before[0] else 1.0
                return before[1] + share * (after[1] - before[1])
            before = after
        return before[1]


class ScheduleObserver(Protocol):
    """Interface of an object that is notified when schedules are read."""

    def decides(self, kind: Decision, schedule: Schedule) -> None:
        """A decision depends on the value of this schedule."""

    def reads_counts(self) -> None:
        """Counts of training are read directly, not by a schedule."""

    def coefficient(self, schedule: Schedule, value: float) -> float | Tensor:
        """A result is multiplied by this schedule's value."""


_OBSERVER: ContextVar[ScheduleObserver | None] = ContextVar("schedule_observer", default=None)


@contextmanager
def observed_by(observer: ScheduleObserver) -> Iterator[None]:
    """Context in which an observer is notified of every schedule that is read."""
    token = _OBSERVER.set(observer)
    try:
        yield
    finally:
        _OBSERVER.reset(token)


class _ObservedProgress(Progress):
    """Progress that notifies an observer of each number that is read."""

    def __getattribute__(self, name: str) -> Any:
        if name in ("env_steps", "episodes", "updates") and (observer := _OBSERVER.get()):
            observer.reads_counts()
        return super().__getattribute__(name)
