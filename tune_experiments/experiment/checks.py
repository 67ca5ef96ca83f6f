"""Limits of a configuration's numbers, for the `__post_init__` of an experiment's dataclass.

A field is named by its dotted path, as on the command line, and the sentence names the flag. `nan` and `inf` are never
in range. This file must not know about any experiment.
"""

from __future__ import annotations

import math
from typing import Any

from tune_experiments.experiment.config_path import flag_of, value_at
from tune_experiments.experiment.errors import UserError

__all__ = ["check_above", "check_at_least", "check_between", "check_some", "check_workers"]


def check_at_least(least: float, config: Any, *paths: str) -> None:
    """Refuse fields (or entries of tuples) below `least`."""
    for path, value in _numbers(config, paths):
        _require(least <= value < math.inf, path, f"at least {least}", value)


def check_above(limit: float, config: Any, *paths: str) -> None:
    """Refuse fields (or entries of tuples) that are not larger than `limit`."""
    for path, value in _numbers(config, paths):
        _require(limit < value < math.inf, path, f"larger than {limit}", value)


def check_between(least: float, most: float, config: Any, *paths: str) -> None:
    """Refuse fields (or entries of tuples) outside `least .. most`."""
    for path, value in _numbers(config, paths):
        _require(least <= value <= most, path, f"between {least} and {most}", value)


def check_some(config: Any, *paths: str) -> None:
    """Refuse empty tuples and repeated entries."""
    for path in paths:
        values = value_at(config, path)
        _require(0 < len(values) == len(set(values)), path, "one or more different values", list(values))


def check_workers(config: Any) -> None:
    """Refuse `config.workers` that could not sample or learn."""
    check_at_least(1, config, "workers.worlds_per_runner", "workers.fragment_length")
    check_at_least(0, config, "workers.runners", "workers.learners", "workers.aggregators", "workers.gpus_per_learner")


def _numbers(config: Any, paths: tuple[str, ...]) -> list[tuple[str, float]]:
    values = [(path, value_at(config, path)) for path in paths]
    return [(path, one) for path, value in values for one in (value if isinstance(value, tuple) else (value,))]


def _require(holds: bool, path: str, wanted: str, value: Any) -> None:
    if not holds:
        raise UserError(f"{flag_of(path)} must be {wanted}, not {value}")
