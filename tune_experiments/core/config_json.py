"""Configurations as JSON: nested frozen dataclasses out, the same ones back, every value checked against its type.

Pydantic reads the values, strictly. The dataclasses around them are read here: all their fields have defaults, and yet
a field that is missing in a file is an error, unless it came later than the file: then it has its default, or what its
metadata say that files from before mean (`absent_means`). Never pickle: a configuration can be read from a stranger's
folder. This file must not know about any experiment.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import reprlib
import types
import typing
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Protocol, TypeAlias, TypeGuard, TypeVar, Union

from pydantic import ConfigDict, TypeAdapter, ValidationError

from tune_experiments.core.errors import UserError

__all__ = [
    "ABSENT",
    "IMPORTED",
    "ModuleName",
    "absent_values",
    "config_from_json",
    "config_to_json",
    "describe_range",
    "describe_type",
    "differences",
    "first_differences",
    "reader_of",
]


class DataclassInstance(Protocol):
    """An instance of any dataclass, as a configuration is."""

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]


Config = TypeVar("Config", bound=DataclassInstance)


def is_configuration(value: object) -> TypeGuard[DataclassInstance]:
    """Whether a value is an instance of a dataclass, as a part of a configuration may be."""
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


IMPORTED = "imported"
"""Marks the type of a text that names a module."""
ModuleName: TypeAlias = Annotated[str, IMPORTED]
"""`package.module` or `package.module:NAME`: building what the configuration describes imports it."""
_BOUNDS = {"ge": "at least", "gt": "larger than", "le": "at most", "lt": "less than"}
_SHORT = reprlib.Repr()
"""Writes what a stranger's file holds, however long and deep."""
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 200


def config_to_json(config: DataclassInstance) -> dict[str, Any]:
    """The JSON of a (nested) dataclass; `config_from_json` of it is equal to `config`."""
    return {
        field.name: _to_json(getattr(config, field.name))
        for field in dataclasses.fields(config)
        if not (_came_later(field) and getattr(config, field.name) == _absent_means(field))
    }


def config_from_json(cls: type[Config], data: Any, where: str = "config") -> Config:
    """Build `cls` from JSON.

    Args:
        cls: A dataclass.
        data: What `json.loads` gave.
        where: What the errors call it, e.g. the path of the file.

    Raises:
        UserError: a missing, unknown or ill-typed field, by its dotted path.
    """
    if not isinstance(data, Mapping):
        raise UserError(f"{where} must be an object with the fields of {cls.__name__}, not {_SHORT.repr(data)}")
    data = _as_declared_now(cls, data)
    hints = typing.get_type_hints(cls, include_extras=True)
    names = [field.name for field in dataclasses.fields(cls) if field.init]
    later = {field.name: _absent_means(field) for field in dataclasses.fields(cls) if _came_later(field)}
    known_later = {name: value for name, value in later.items() if value is not dataclasses.MISSING}
    unknown, missing = sorted(set(data) - set(names)), sorted(set(names) - set(data) - set(later))
    if unknown or missing:
        faults = [f"{what} {', '.join(some)}" for what, some in (("unknown", unknown), ("missing", missing)) if some]
        raise UserError(
            f"{where} does not fit {cls.__name__} ({'; '.join(faults)}); write it with this version of Concord"
        )
    read = {name: _from_json(hints[name], data[name], f"{where}.{name}") for name in names if name in data}
    return cls(**known_later | read)


def _as_declared_now(cls: type[DataclassInstance], data: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a stored configuration under the names, and with the values' names, that they have now.

    A field says what it was: `metadata={"renamed_from": OLD, "renamed_values": {OLD: NEW}}`.
    """
    fields = renamed_fields(cls)
    absent = [field for name, field in fields.items() if "renamed_from" in field.metadata and name not in data]
    present = {field.metadata["renamed_from"]: field.name for field in absent}
    found = {present.get(name, name): value for name, value in data.items()}
    for field in fields.values():
        value, renamed = found.get(field.name), field.metadata.get("renamed_values", {})
        if isinstance(value, str) and value in renamed:
            found[field.name] = renamed[value]
    return found


def renamed_fields(cls: type) -> dict[str, dataclasses.Field[Any]]:
    """Name -> field that says what it was, also where a subclass of the field's class gives it another default."""
    bases = [base for base in reversed(cls.__mro__) if dataclasses.is_dataclass(base)]
    fields = [field for base in bases for field in dataclasses.fields(base)]
    return {field.name: field for field in fields if {"renamed_from", "renamed_values"} & field.metadata.keys()}


def _came_later(field: dataclasses.Field[Any]) -> bool:
    """Whether runs from before this field are to be read, and continued."""
    return bool(field.metadata.get("came_later")) or "absent_means" in field.metadata


def _absent_means(field: dataclasses.Field[Any]) -> Any:
    """The value of a field that came later, in runs from before it: its default, unless that has changed since."""
    return field.metadata.get("absent_means", field.default)


def absent_filled(config: DataclassInstance) -> dict[str, Any]:
    """The JSON of a configuration with all of its fields, those that came later included."""
    fields = {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}
    return {
        name: absent_filled(value) if is_configuration(value) else _to_json(value) for name, value in fields.items()
    }


def absent_values(config: DataclassInstance, path: str = "") -> dict[str, Any]:
    """Dotted path of each field that came later -> JSON of what it means where a file does not name it."""
    found: dict[str, Any] = {}
    for field in dataclasses.fields(config):
        value, place = getattr(config, field.name), f"{path}{field.name}"
        if _came_later(field) and _absent_means(field) is not dataclasses.MISSING:
            found[place] = _to_json(_absent_means(field))
        if is_configuration(value):
            found |= absent_values(value, f"{place}.")
    return found


def first_differences(old: Any, new: Any, limit: int = 5) -> list[str]:
    """Up to `limit` lines `dotted.path: old -> new` for two JSON values."""
    found = [f"{path}: {before!r} -> {after!r}" for path, before, after in differences(old, new)]
    return found[:limit] + ([f"and {len(found) - limit} more"] if len(found) > limit else [])


def describe_type(hint: Any) -> str:
    """A type in words for an error: `one of smoke, laptop`, `a whole number`, `a number or None`."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return ", ".join(filter(None, (describe_type(arguments[0]), describe_range(hint))))
    if origin is Literal:
        return f"one of {', '.join(str(value) for value in arguments)}"
    if origin in (Union, types.UnionType):
        return " or ".join(describe_type(argument) for argument in arguments)
    if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
        return f"any number of values, each {describe_type(arguments[0])}"
    if origin is tuple:
        return f"{len(arguments)} values ({', '.join(describe_type(argument) for argument in arguments)})"
    if origin is dict:
        return f"names with values, each {describe_type(arguments[1])}"
    words = {
        int: "a whole number",
        float: "a number",
        str: "text",
        bool: "true or false",
        type(None): "None",
        Path: "a path",
    }
    return words.get(hint, getattr(hint, "__name__", str(hint)))


def describe_range(hint: Any) -> str:
    """The range that a type is annotated with, e.g. `between 0 and 1`; empty if there is none."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is not typing.Annotated:
        return " or ".join(dict.fromkeys(filter(None, map(describe_range, arguments))))
    limits = [limit for one in arguments[1:] for limit in getattr(one, "metadata", [one])]
    bounds = {name: getattr(limit, name) for limit in limits for name in _BOUNDS if hasattr(limit, name)}
    if arguments[0] is int and "gt" in bounds:
        bounds = {"ge": bounds.pop("gt") + 1} | bounds
    if {"ge", "le"} <= bounds.keys():
        return f"between {bounds['ge']} and {bounds['le']}"
    return " and ".join(f"{_BOUNDS[name]} {bound}" for name, bound in bounds.items())


def _to_json(value: Any) -> Any:
    if is_configuration(value):
        return config_to_json(value)
    if isinstance(value, Mapping):
        return {key: _to_json(inner) for key, inner in value.items()}
    if isinstance(value, tuple | list):
        return [_to_json(inner) for inner in value]
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # JSON has no name for it
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"a configuration cannot hold {value!r}")


def _from_json(hint: Any, value: Any, where: str) -> Any:
    """`value` as `hint`, exactly: 1 is a float where one is due, and True is no int."""
    if dataclasses.is_dataclass(hint):
        return config_from_json(typing.cast(type, hint), value, where)
    value = _as_chosen(hint, value)
    refused: list[Any] = []
    # Strictly, no number is written as a word. If not, our words for what is not finite are; they must come back alike.
    for is_strict in (True, False):
        try:
            text = json.dumps(value)
            found = reader_of(hint, is_strict).validate_json(text)
            if is_strict or json.dumps(_to_json(found)) == text:
                return found
        except ValidationError as error:
            refused += error.errors(include_url=False)
        except RecursionError:
            break
    raise UserError(_sentence(hint, value, refused[0]["loc"] if refused else (), where))


def _as_chosen(hint: Any, value: Any) -> Any:
    """A name, or the names of a list, as the type spells it: `-` and `_` are one."""
    if isinstance(value, list):
        (inner, *_) = typing.get_args(hint) or (Any,)
        return [_as_chosen(inner, one) for one in value] if typing.get_origin(hint) is tuple else value
    if typing.get_origin(hint) is Literal and isinstance(value, str):
        return spelled(value, [name for name in typing.get_args(hint) if isinstance(name, str)])
    return value


def spelled(name: str, known: Collection[str]) -> str:
    """The known name that differs from this one by `-` and `_` alone; else the name as it is."""
    if name in known:
        return name
    return next((one for one in known if one.replace("-", "_") == name.replace("-", "_")), name)


@functools.cache
def reader_of(hint: Any, is_strict: bool = True) -> TypeAdapter[Any]:
    """Pydantic's adapter that reads and checks a value of this type; a strict one accepts finite numbers only."""
    return TypeAdapter(hint, config=ConfigDict(strict=is_strict, allow_inf_nan=not is_strict))


def _sentence(hint: Any, value: Any, place: Sequence[int | str], where: str) -> str:
    """Sentence on the right type where a value is wrong: the value itself, or an entry of a tuple or a dict."""
    for step in place:
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if origin is tuple and isinstance(step, int) and step < len(value):
            where, hint = f"{where}[{step}]", arguments[0 if arguments[-1] is Ellipsis else step]
        elif origin is dict:
            where, hint = f"{where}.{step}", arguments[1]
        else:
            break
        value = value[step]
    return f"{where} must be {describe_type(hint)}, not {_SHORT.repr(value)}"


def differences(old: Any, new: Any, path: str = "") -> list[tuple[str, Any, Any]]:
    """Dotted path, old and new value of every leaf in which two JSON values differ; what is not there is `ABSENT`."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        keys = [*old, *(key for key in new if key not in old)]
        parts = (differences(old.get(key, ABSENT), new.get(key, ABSENT), f"{path}.{key}".lstrip(".")) for key in keys)
        return [difference for part in parts for difference in part]
    if type(old) is type(new) and old == new:
        return []
    return [(path, old, new)]


class _Absent:
    def __repr__(self) -> str:
        return "(absent)"


ABSENT = _Absent()
