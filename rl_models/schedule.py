"""Schedules: coefficients that change during training, as functions of the training done and never of the clock."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal

Unit = Literal["env_steps", "episodes"]


@dataclass
class Progress:
    """Training done so far; part of every checkpoint.

    Attributes:
        env_steps: number of joint steps that the learner has used.
        episodes: number of training episodes that ended in these steps.
        updates: number of optimiser steps.
    """

    env_steps: int = 0
    episodes: int = 0
    updates: int = 0


@dataclass(frozen=True)
class Schedule:
    """A value that is linear between points and constant before the first and after the last.

    Attributes:
        points: (moment, value), with rising moments.
        unit: unit of the moments.
    """

    points: tuple[tuple[float, float], ...]
    unit: Unit = "env_steps"

    def __post_init__(self) -> None:
        """Check the order of the points.

        Raises:
            ValueError: there are no points, or their moments do not rise.
        """
        moments = [moment for moment, _ in self.points]
        if not moments or moments != sorted(set(moments)):
            raise ValueError(f"a schedule needs points with rising moments, got {self.points}")

    @classmethod
    def constant(cls, value: float) -> Schedule:
        """A schedule that always has the same value."""
        return cls(((0, value),))

    @classmethod
    def linear(cls, start: float, end: float, until: float, unit: Unit = "env_steps") -> Schedule:
        """A schedule that goes from `start` at moment 0 to `end` at moment `until`, and stays there."""
        return cls(((0, start), (max(until, 1), end)), unit)

    def at(self, progress: Progress) -> float:
        """The value after this much training."""
        read = _READ.get()
        if read is not None:
            read.append(self)
        now = getattr(progress, self.unit)
        before = self.points[0]
        for after in self.points:
            if now < after[0]:
                share = (now - before[0]) / (after[0] - before[0]) if after[0] > before[0] else 1.0
                return before[1] + share * (after[1] - before[1])
            before = after
        return before[1]


_READ: ContextVar[list[Schedule] | None] = ContextVar("schedules_read", default=None)


@contextmanager
def schedules_read() -> Iterator[list[Schedule]]:
    """Within it, the schedules that were read so far."""
    found: list[Schedule] = []
    token = _READ.set(found)
    try:
        yield found
    finally:
        _READ.reset(token)
