"""Fields of a configuration by dotted path, `learner.gamma`: to read them, to replace them, and as flags.

This file must not know about any experiment.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

__all__ = ["flag_of", "flags_between", "replaced", "value_at"]


def value_at(config: Any, path: str) -> Any:
    """What the configuration holds there.

    Raises:
        AttributeError: there is no such field.
    """
    for name in path.split("."):
        config = getattr(config, name)
    return config


def replaced(config: Any, path: str, value: Any) -> Any:
    """The configuration with another value there; it checks itself as it did when it was made."""
    name, _, rest = path.partition(".")
    inner = replaced(getattr(config, name), rest, value) if rest else value
    return dataclasses.replace(config, **{name: inner})


def flag_of(path: str) -> str:
    """The field's flag as tyro writes it, which keeps an underscore at the end."""
    return f"--{path.rstrip('_').replace('_', '-')}{'_' * path.endswith('_')}"


def flags_between(old: Any, new: Any) -> list[str]:
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
