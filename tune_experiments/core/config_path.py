"""Fields of a configuration by dotted path, `learner.gamma`: to read them, to replace them, and as flags.

This file must not know about any experiment.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
from collections.abc import Mapping
from typing import Any, TypeVar

from tune_experiments.core.config_json import DataclassInstance, config_from_json, config_to_json, is_configuration
from tune_experiments.core.errors import UserError

__all__ = ["flag_of", "flags_between", "replaced", "value_at", "with_overrides"]


Config = TypeVar("Config", bound=DataclassInstance)


def value_at(config: object, path: str) -> Any:
    """Value of the configuration at a dotted path.

    Raises:
        AttributeError: there is no such field.
    """
    for name in path.split("."):
        config = getattr(config, name)
    return config


def replaced(config: Config, path: str, value: Any) -> Config:
    """The configuration with another value there; it checks itself as it did when it was made."""
    name, _, rest = path.partition(".")
    inner = replaced(getattr(config, name), rest, value) if rest else value
    return dataclasses.replace(config, **{name: inner})


def with_overrides(config: Config, overrides: Mapping[str, Any]) -> Config:
    """The configuration with other values, each checked against its field's type.

    Args:
        config: a (nested) frozen dataclass.
        overrides: dotted path -> value.

    Raises:
        UserError: no such field (with the nearest one), or a value that it cannot have.
    """
    data = config_to_json(config)
    for path, value in overrides.items():
        if not _has(config, path):
            known = [leaf for leaf, _ in _leaves(config)]
            near = difflib.get_close_matches(path, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
            raise UserError(f"the configuration has no field {path}; {hint}")
        *groups, name = path.split(".")
        inner = functools.reduce(lambda part, group: part[group], groups, data)
        inner[name] = config_to_json(value) if is_configuration(value) else _plain(value)
    return config_from_json(type(config), data) if overrides else config


def _plain(value: Any) -> Any:
    return [_plain(one) for one in value] if isinstance(value, tuple | list) else value


def _has(config: object, path: str) -> bool:
    name, _, rest = path.partition(".")
    if not dataclasses.is_dataclass(config) or name not in {field.name for field in dataclasses.fields(config)}:
        return False
    return not rest or _has(getattr(config, name), rest)


def flag_of(path: str) -> str:
    """The field's flag as tyro writes it, which keeps an underscore at the end."""
    return f"--{path.rstrip('_').replace('_', '-')}{'_' * path.endswith('_')}"


def flags_between(old: DataclassInstance, new: DataclassInstance) -> list[str]:
    """The words that turn one configuration into another on the command line, e.g. a preset into a run's."""
    words: list[str] = []
    before = dict(_leaves(old))
    for path, value in _leaves(new):
        if value != before[path]:
            words += _words(path, value)
    return words


def _leaves(value: Any, path: str = "") -> list[tuple[str, Any]]:
    """Every path that is a flag, with its value."""
    if dataclasses.is_dataclass(value):
        parts = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    elif isinstance(value, Mapping) and value:
        parts = dict(value)
    else:
        return [(path, value)]
    return [leaf for name, inner in parts.items() for leaf in _leaves(inner, f"{path}.{name}".lstrip("."))]


def _words(path: str, value: Any) -> list[str]:
    if isinstance(value, bool):
        group, dot, name = path.rpartition(".")
        return [flag_of(path if value else f"{group}{dot}no_{name}")]
    if isinstance(value, tuple):
        return [flag_of(path), *map(str, value)]
    return [flag_of(path), str(value)]
