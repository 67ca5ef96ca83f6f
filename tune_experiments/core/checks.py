"""Ranges of a configuration's numbers, checked in `__post_init__`.

A range is part of the field's type, as `games: PositiveInt = 256`; `nan` and `inf` are never in range.
"""

import functools
import typing
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from tune_experiments.core.config_json import DataclassInstance, describe_fault, is_configuration
from tune_experiments.core.config_path import flag_name, value_at
from tune_experiments.core.errors import UserError

_MAX_SHOWN = 2**63
"""Bound of the absolute value of integers: they must fit into int64 arrays."""
_OUTSIDE = {"greater_than", "greater_than_equal", "less_than", "less_than_equal", "finite_number"}
"""Pydantic's names for errors of range."""


@functools.cache
def _range_adapter(hint: Any) -> TypeAdapter[Any]:
    return TypeAdapter(hint, config=ConfigDict(strict=True, allow_inf_nan=False))


@functools.cache
def _ranged_fields(cls: type) -> dict[str, Any]:
    plain, ranged = typing.get_type_hints(cls), typing.get_type_hints(cls, include_extras=True)
    return {name: hint for name, hint in ranged.items() if hint != plain[name]}


def check_ranges(config: DataclassInstance, path: str = "", also_types: bool = False) -> None:
    """Check that values are within the annotated ranges of fields, also nested ones, whose names begin with `path`.

    UserError names the flag, and what it must be.
    """
    hints = typing.get_type_hints(type(config), include_extras=True) if also_types else _ranged_fields(type(config))
    for name in config.__dataclass_fields__:
        value = getattr(config, name)
        for one in value if isinstance(value, tuple) else (value,):
            is_huge = isinstance(one, int) and abs(one) >= _MAX_SHOWN
            _require(not is_huge, f"{path}{name}", f"below {_MAX_SHOWN}", "a larger number")
        if is_configuration(value):
            check_ranges(value, f"{path}{name}.", also_types)
        elif name in hints:
            try:
                _range_adapter(hints[name]).validate_python(value)
            except ValidationError as error:
                for fault in error.errors(include_url=False):
                    if also_types or fault["type"] in _OUTSIDE:
                        raise UserError(f"{flag_name(f'{path}{name}')}{describe_fault(fault)}") from None


def check_distinct(config: DataclassInstance, *paths: str) -> None:
    """Check that tuples are not empty and have no repeated entries."""
    for path in paths:
        values = value_at(config, path)
        _require(0 < len(values) == len(set(values)), path, "one or more different values", list(values))


def check_value_precision(config: DataclassInstance, *paths: str) -> None:
    """Check that networks of action values do not use bfloat16."""
    for path in paths:
        wanted = "float32, because action values and their targets are computed in no other data type"
        _require(value_at(config, path) == "float32", path, wanted, value_at(config, path))


def _require(holds: bool, path: str, wanted: str, value: Any) -> None:
    if not holds:
        raise UserError(f"{flag_name(path)} must be {wanted}, not {value}")
