"""Limits of a configuration's numbers, for the `__post_init__` of an experiment's dataclass.

A range that always holds stands beside its field, as `games: PositiveInt = 256`, and `check_ranges` refuses what is
outside. A field is named by its dotted path, as on the command line, and the sentence names the flag. `nan` and `inf`
are never in range. This file must not know about any experiment.
"""

from __future__ import annotations

import dataclasses
import math
import typing
from typing import Any

from pydantic import ValidationError

from tune_experiments.core.config_json import DataclassInstance, describe_range, is_configuration, reader_of
from tune_experiments.core.config_path import flag_of, value_at
from tune_experiments.core.errors import UserError

__all__ = ["check_at_least", "check_precision_of_values", "check_ranges", "check_some"]

_MOST = 2**63
"""Whole numbers are below this in size, as arrays hold them."""
_OUTSIDE = {"greater_than", "greater_than_equal", "less_than", "less_than_equal", "finite_number"}
"""Pydantic's names for errors of range."""


def check_ranges(config: DataclassInstance, path: str = "") -> None:
    """Refuse values outside the ranges that their fields are annotated with, here and in the dataclasses below."""
    plain, ranged = typing.get_type_hints(type(config)), typing.get_type_hints(type(config), include_extras=True)
    for field in dataclasses.fields(config):
        value, hint = getattr(config, field.name), ranged[field.name]
        for one in value if isinstance(value, tuple) else (value,):
            is_huge = isinstance(one, int) and abs(one) >= _MOST
            _require(not is_huge, f"{path}{field.name}", f"below {_MOST}", f"a number of {len(str(one))} digits")
        if is_configuration(value):
            check_ranges(value, f"{path}{field.name}.")
        elif hint != plain[field.name]:
            try:
                reader_of(hint).validate_python(value)
            except ValidationError as error:
                # A value of another type is told where it is read: from the command line or from JSON.
                for one in error.errors(include_url=False):
                    _require(one["type"] not in _OUTSIDE, f"{path}{field.name}", describe_range(hint), one["input"])


def check_at_least(least: float, config: DataclassInstance, *paths: str) -> None:
    """Refuse fields (or entries of tuples) below `least`."""
    for path, value in _numbers(config, paths):
        _require(least <= value < math.inf, path, f"at least {least}", value)


def check_some(config: DataclassInstance, *paths: str) -> None:
    """Refuse empty tuples and repeated entries."""
    for path in paths:
        values = value_at(config, path)
        _require(0 < len(values) == len(set(values)), path, "one or more different values", list(values))


def check_precision_of_values(config: DataclassInstance, *paths: str) -> None:
    """Refuse bfloat16 where a network's last matrix product gives the action values, which Q-learning compares."""
    for path in paths:
        wanted = "float32, because action values and their targets are computed in no other data type"
        _require(value_at(config, path) == "float32", path, wanted, value_at(config, path))


def _numbers(config: DataclassInstance, paths: tuple[str, ...]) -> list[tuple[str, float]]:
    values = [(path, value) for path in paths if (value := value_at(config, path)) is not None]
    return [(path, one) for path, value in values for one in (value if isinstance(value, tuple) else (value,))]


def _require(holds: bool, path: str, wanted: str, value: Any) -> None:
    if not holds:
        raise UserError(f"{flag_of(path)} must be {wanted}, not {value}")
