"""Read, replace, print and compare fields of a configuration by dotted path, such as `learner.gamma`."""

import dataclasses
import functools
import json
import math
import operator
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from rl_envs.core.errors import did_you_mean
from rl_models.configuration import CONTINUED
from tune_experiments.core.config_json import (
    ABSENT,
    Config,
    DataclassInstance,
    config_from_json,
    config_to_json,
    differences,
    is_configuration,
)
from tune_experiments.core.errors import UserError


def value_at(config: object, path: str) -> Any:
    """Value of the configuration at a dotted path."""
    for name in path.split("."):
        config = getattr(config, name)
    return config


def with_overrides(config: Config, overrides: Mapping[str, Any]) -> Config:
    """Copy of a configuration with other values by dotted path, each checked against its field's type.

    A group of fields may be given as a mapping of some of them, or by its name if it has one; JSON text as a mapping.
    Raises UserError for an unknown field (with the nearest one), or a value that it cannot have.
    """
    data = config_to_json(config)
    for path, value in _one_by_one(config, overrides):
        *groups, name = path.split(".")
        functools.reduce(operator.getitem, groups, data)[name] = _plain(path, value)
    return config_from_json(type(config), data, name_path=flag_name) if overrides else config


def _one_by_one(config: object, overrides: Mapping[str, Any], group: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in overrides.items():
        path = checked_path(config, f"{group}{name}")
        now = value_at(config, path)
        if isinstance(value, Mapping) and is_configuration(now):
            yield from _one_by_one(config, value, f"{path}.")
        elif isinstance(value, str) and is_configuration(now) and hasattr(now, "name"):  # as `--network emma`
            yield f"{path}.name", value
        elif isinstance(value, Mapping) and isinstance(now, str) and now.startswith("{"):
            yield path, json.dumps(value)
        else:
            yield path, normalise_methods(value) if path == "methods" else value


def normalise_methods(names: Any) -> Any:
    """Names of methods with underscores, from names that may have dashes, such as `sync-4`."""
    if not isinstance(names, list | tuple):
        return names
    return [name.replace("-", "_") if isinstance(name, str) else name for name in names]


def match_name(name: str, known: Collection[str]) -> str:
    """The known name that equals this one up to `-` and `_`, else the name itself."""
    return next((one for one in known if one.replace("-", "_") == name.replace("-", "_")), name)


def with_flags(sentence: str, config: object) -> str:
    """A sentence with flags in place of the names of configuration fields; names of one word are not changed."""
    named = {path.rpartition(".")[2]: flag_name(path) for path, _ in leaves(config)}
    flags = {name: flag for name, flag in named.items() if "_" in name}
    return re.sub(r"(?<![\w.'\"/-])[a-z]+(?:_[a-z]+)+(?![\w.'\"/])", lambda word: flags.get(word[0], word[0]), sentence)


def checked_path(config: object, name: str) -> str:
    """Dotted path of a field, which may be given as a flag; UserError suggests the nearest field for an unknown one."""
    path = name.removeprefix("--").replace("-", "_")
    known = [leaf for leaf, _ in leaves(config)]
    if path not in known and not any(leaf.startswith(f"{path}.") for leaf in known):
        ends = [leaf for leaf in known if leaf.endswith(f".{path}")]
        hint = f"did you mean {' or '.join(ends)}?" if ends else did_you_mean(path, known, "--help-all lists all")
        raise UserError(f"the configuration has no field {name}; {hint}")
    return path


def _plain(path: str, value: Any) -> Any:
    if is_configuration(value):
        return config_to_json(value)
    if isinstance(value, tuple | list):
        return [_plain(path, one) for one in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(path, one) for key, one in value.items()}
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else json.dumps(value)
    if isinstance(value, Path):
        return str(value)
    if value is None or isinstance(value, bool | int | str):
        return value
    raise UserError(
        f"{flag_name(path)} must be a text, a number or a list, not a {type(value).__name__}: "
        "give the name of a function or a class, 'package.module:NAME'"
    )


def flag_name(path: str) -> str:
    """Flag of a field as tyro writes it, with an underscore only at the end."""
    return f"--{path.rstrip('_').replace('_', '-')}{'_' * path.endswith('_')}"


def flags_between(old: DataclassInstance, new: DataclassInstance, but: Collection[str] = ()) -> list[str]:
    """Command-line arguments that turn one configuration into another, but for some paths."""
    before = dict(leaves(old))
    changed = [(path, value) for path, value in leaves(new) if value != before[path] and path not in but]
    return [word for path, value in changed for word in flag_words(path, value)]


def changed_flags(reference: DataclassInstance, config: DataclassInstance) -> list[tuple[str, str]]:
    """Flags that differ from a reference: flag with the value, and the reference's value."""
    before = dict(leaves(reference))
    found = []
    for path, value in leaves(config):
        if value != before[path]:
            flag, *values = flag_words(path, before[path])
            reference_value = " ".join(values) or (flag if isinstance(before[path], bool) else "none")
            found.append((" ".join(flag_words(path, value)), reference_value))
    return found


def leaves(value: Any, path: str = "") -> list[tuple[str, Any]]:
    """All flags of a configuration: dotted path and value."""
    if dataclasses.is_dataclass(value):
        parts = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    elif isinstance(value, Mapping) and value:
        parts = dict(value)
    else:
        return [(path, value)]
    return [leaf for name, inner in parts.items() for leaf in leaves(inner, f"{path}.{name}".lstrip("."))]


def flag_words(path: str, value: Any) -> list[str]:
    """Command-line arguments that set a field."""
    if isinstance(value, bool):
        group, dot, name = path.rpartition(".")
        return [flag_name(path if value else f"{group}{dot}no_{name}")]
    if isinstance(value, tuple | list):
        return [flag_name(path), *map(str, value)]
    return [flag_name(path), str(value)]


# ---- fields that may change when a run is continued, as `rl_models/configuration.py` declares them -------------------

Rules: TypeAlias = Mapping[str, str]
"""Dotted path of a field -> what it may do when a run continues: changes, grows, gains, turns on; others must stay."""


@dataclasses.dataclass(frozen=True)
class Difference:
    """A value that changed between two sessions of a run, and the rule of its field."""

    path: str
    old: Any
    new: Any
    rule: str = "stays"

    @property
    def is_allowed(self) -> bool:
        """Whether the run may be continued with the new value."""
        if ABSENT in (self.old, self.new):
            return self.rule == "changes"
        if self.rule in ("grows", "turns on"):
            return bool(self.new >= self.old)
        return self.rule == "changes" or (self.rule == "gains" and set(self.new) >= set(self.old))

    @property
    def words(self) -> str:
        """Flag with the old and the new value."""
        flag, *values = flag_words(self.path, self.new)
        new = " ".join(values) if values or not isinstance(self.new, bool) else flag
        return f"{self.old_flag} -> {new}"

    @property
    def refusal(self) -> str:
        """The same with the rule, if it has limits."""
        may = {"grows": "grow", "gains": "gain entries", "turns on": "be turned on"}
        return f"{self.words}, which may only {may[self.rule]}" if self.rule in may else self.words

    @property
    def old_flag(self) -> str:
        """Command-line arguments that set the old value."""
        return " ".join(flag_words(self.path, self.old))


def continuation_rules(config: DataclassInstance, path: str = "", inherited: str | None = None) -> dict[str, str]:
    """Rules of a configuration's fields; a class may state them again, and a group of fields states them for all."""
    found: dict[str, str] = {}
    for field in dataclasses.fields(config):
        value, place = getattr(config, field.name), f"{path}{field.name}"
        declared = (base.__dict__.get("__dataclass_fields__", {}).get(field.name) for base in type(config).__mro__)
        stated = (one.metadata[CONTINUED] for one in declared if one is not None and CONTINUED in one.metadata)
        rule = next(stated, inherited)
        if is_configuration(value):
            found |= continuation_rules(value, f"{place}.", rule)
        elif rule not in (None, "stays"):
            found[place] = str(rule)
    return found


def find_differences(old: Any, new: Any, rules: Rules) -> list[Difference]:
    """All leaves in which two configurations differ, as JSON values."""
    return [Difference(path, was, now, rules.get(path, "stays")) for path, was, now in differences(old, new)]


def grown_values(config: DataclassInstance) -> dict[str, Any]:
    """Values of all fields that may grow, by dotted path; results with other values are not mixed."""
    return {path: value_at(config, path) for path, rule in continuation_rules(config).items() if rule == "grows"}


def grown_in(stored: Any, config: DataclassInstance) -> dict[str, Any]:
    """Fields that may grow and have another value in a stored configuration, JSON: dotted path -> the stored value."""
    own = json.loads(json.dumps(config_to_json(config)))
    found = find_differences(own, stored, continuation_rules(config))
    return {one.path: one.new for one in found if one.rule == "grows" and one.new is not ABSENT}
