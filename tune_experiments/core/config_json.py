"""Configurations as JSON: nested frozen dataclasses are written, read and checked by pydantic.

What is read is written again and compared, so missing fields and values of another type are found. Nothing is pickled,
so a configuration from an untrusted folder can be read.
"""

import dataclasses
import functools
import json
import reprlib
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Protocol, TypeAlias, TypeGuard, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from tune_experiments.core.errors import UserError


class DataclassInstance(Protocol):
    """An instance of any dataclass, as a configuration is."""

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]


Config = TypeVar("Config", bound=DataclassInstance)


def is_configuration(value: object) -> TypeGuard[DataclassInstance]:
    """Whether a value is an instance of a dataclass."""
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


IMPORTED = "imported"
ModuleName: TypeAlias = Annotated[str, IMPORTED]
"""`package.module` or `package.module:NAME`: imported when the configuration is used."""
_SHORT = reprlib.Repr()
"""Short repr of a value from an untrusted file, however long or deeply nested."""
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 200


@functools.cache
def _adapter(cls: type) -> TypeAdapter[Any]:
    """Pydantic's adapter of a list of such dataclasses, because pydantic takes no options for a dataclass itself."""
    return TypeAdapter(list[cls], config=ConfigDict(extra="forbid", ser_json_inf_nan="strings"))  # type: ignore[valid-type]


def config_to_json(config: DataclassInstance) -> dict[str, Any]:
    """The JSON of a (nested) dataclass; `config_from_json` of it is equal to `config`."""
    (data,) = json.loads(_adapter(type(config)).dump_json([config], warnings="none"))
    return dict(data)


def config_from_json(
    cls: type[Config],
    data: Any,
    where: str = "config",
    has_all: bool = True,
    name_path: Callable[[str], str] | None = None,
) -> Config:
    """Build a dataclass from JSON; UserError names a missing, unknown or ill-typed field by its dotted path.

    Errors call the data `where`, or a field by `name_path`. Unless `has_all`, a field with a default may be missing.
    """
    name_path = name_path or (lambda path: f"{where}.{path}".removesuffix("."))
    try:
        (config,) = _adapter(cls).validate_python([data])
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        path = ".".join(map(str, fault["loc"][1:]))
        raise UserError(f"{name_path(path)}{describe_fault(fault)}") from None
    except RecursionError:
        raise UserError(f"{where} is too deep for a {cls.__name__}; correct it") from None
    for path, given, read in differences(data, config_to_json(config)):
        if given is ABSENT and has_all:
            raise UserError(f"{name_path(path)} is missing; write {where} with this version of Concord")
        if given is not ABSENT and not _is_alike(given, read):
            raise UserError(f"{name_path(path)} must have another type, such as {read!r}, not {_SHORT.repr(given)}")
    return config


def describe_fault(fault: Mapping[str, Any]) -> str:
    """Pydantic's error on a value, without the value's name."""
    if fault["type"] == "missing":
        return " is missing: add it"
    message = f": {fault['msg']}".replace(": Input should be", " must be").replace("a valid tuple", "a list")
    return f"{message}, not {_SHORT.repr(fault['input'])}"


def _is_alike(given: Any, read: Any) -> bool:
    """Whether a JSON value was read as its own type; 1 may be a float."""
    if isinstance(given, list) and isinstance(read, list):
        return all(map(_is_alike, given, read))
    return given is None or (type(given), type(read)) in ((type(read), type(read)), (int, float))


def first_differences(old: Any, new: Any, limit: int = 5) -> list[str]:
    """Up to `limit` lines `dotted.path: old -> new` for two JSON values."""
    found = [f"{path}: {before!r} -> {after!r}" for path, before, after in differences(old, new)]
    return found[:limit] + ([f"and {len(found) - limit} more"] if len(found) > limit else [])


def differences(old: Any, new: Any, path: str = "") -> Sequence[tuple[str, Any, Any]]:
    """Dotted path, old and new value of every leaf in which two JSON values differ; a missing one is `ABSENT`."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        keys = [*old, *(key for key in new if key not in old)]
        parts = (differences(old.get(key, ABSENT), new.get(key, ABSENT), f"{path}.{key}".lstrip(".")) for key in keys)
        return [difference for part in parts for difference in part]
    return [] if repr(old) == repr(new) else [(path, old, new)]  # in lists, too, 1, 1.0 and true are three values


class _Absent:
    def __repr__(self) -> str:
        return "(absent)"


ABSENT = _Absent()
