"""Coefficients that change while training goes on, as functions of what was done and never of the clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Unit = Literal["env_steps", "episodes"]


@dataclass
class Progress:
    """How far training has come; part of every checkpoint.

    Attributes:
        env_steps: joint steps learned from.
        episodes: training episodes that ended in them.
        updates: optimiser steps.
    """

    env_steps: int = 0
    episodes: int = 0
    updates: int = 0


@dataclass(frozen=True)
class Schedule:
    """Piecewise linear between points, constant outside them.

    Attributes:
        points: (moment, value) in rising order of moments.
        unit: what moments count.
    """

    points: tuple[tuple[float, float], ...]
    unit: Unit = "env_steps"

    def __post_init__(self) -> None:
        """Refuse points out of order."""
        moments = [moment for moment, _ in self.points]
        if not moments or moments != sorted(set(moments)):
            raise ValueError(f"a schedule needs points with rising moments, got {self.points}")

    @classmethod
    def constant(cls, value: float) -> Schedule:
        """The same value for ever."""
        return cls(((0, value),))

    @classmethod
    def linear(cls, start: float, end: float, until: float, unit: Unit = "env_steps") -> Schedule:
        """From `start` at the beginning to `end` at `until`, then constant."""
        return cls(((0, start), (max(until, 1), end)), unit)

    def at(self, progress: Progress) -> float:
        """Value at this point of training."""
        now = getattr(progress, self.unit)
        before = self.points[0]
        for after in self.points:
            if now < after[0]:
                share = (now - before[0]) / (after[0] - before[0]) if after[0] > before[0] else 1.0
                return before[1] + share * (after[1] - before[1])
            before = after
        return before[1]
