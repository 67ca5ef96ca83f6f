"""Configurations that were stored under a field's or a value's earlier name load to the same configuration."""

import ast
import copy
import dataclasses
import inspect
import re
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rl_models
import tune_experiments
from tune_experiments.core.config_json import config_from_json, config_to_json, is_configuration, renamed_fields
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.finding import find_experiment, known_experiments

NAMES, VALUES = "renamed_from", "renamed_values"
FIRST, SECOND = 0.125, 0.25


def configurations() -> Iterator[Any]:
    """The presets of all experiments."""
    for name in known_experiments():
        try:
            experiment = find_experiment(name)
        except UserError:  # a script that trains nothing, such as a comparison of runs
            continue
        yield from experiment.presets.values()


def renamed(config: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], dataclasses.Field[Any], Any]]:
    """Where in a configuration a renamed field is, the field and its value."""
    earlier = renamed_fields(type(config))
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if field.name in earlier:
            yield (*path, field.name), earlier[field.name], value
        if is_configuration(value):
            yield from renamed(value, (*path, field.name))


def declared() -> set[tuple[str, str]]:
    """The renamed fields in the source of all packages: the class that declares them, and their name."""
    return {
        (cls.name, line.target.id)
        for package in (rl_models, tune_experiments)
        for path in Path(package.__file__).parent.rglob("*.py")
        for cls in ast.walk(ast.parse(path.read_text()))
        if isinstance(cls, ast.ClassDef)
        for line in cls.body
        if isinstance(line, ast.AnnAssign) and re.search(rf"'({NAMES}|{VALUES})'", ast.unparse(line))
    }


def declaring(cls: type, name: str) -> str:
    """The class in which a field of that name stands first."""
    return next(one.__qualname__ for one in reversed(cls.__mro__) if name in inspect.get_annotations(one))


def another(cls: type, name: str, value: Any) -> Any:
    """A value that the field may have and that is not this one."""
    if isinstance(value, str):
        return next(choice for choice in typing.get_args(typing.get_type_hints(cls)[name]) if choice != value)
    if isinstance(value, bool):
        return not value
    if isinstance(value, float):
        return FIRST if value != FIRST else SECOND
    return value + 1


FOUND = list(
    {(type(config), one[0]): (config, *one) for config in configurations() for one in renamed(config)}.values()
)


def names(places: Any) -> list[str]:
    return [f"{type(config).__name__}.{'.'.join(path)}" for config, path, *_ in places]


def part(data: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    for name in path[:-1]:
        data = data[name]
    return data


OF_NAMES = [one for one in FOUND if NAMES in one[2].metadata]
OF_VALUES = [one for one in FOUND if VALUES in one[2].metadata]


@pytest.mark.parametrize(("config", "path", "field", "value"), OF_NAMES, ids=names(OF_NAMES))
def test_a_field_under_its_earlier_name_loads_with_its_value(config, path, field, value):
    new = config_to_json(config)
    part(new, path)[field.name] = another(type(holder(config, path)), field.name, value)
    old = copy.deepcopy(new)
    part(old, path)[field.metadata[NAMES]] = part(old, path).pop(field.name)
    loaded = config_from_json(type(config), old)
    assert loaded == config_from_json(type(config), new) != config


@pytest.mark.parametrize(("config", "path", "field", "value"), OF_VALUES, ids=names(OF_VALUES))
def test_an_earlier_name_of_a_value_loads_as_the_present_one(config, path, field, value):
    for before, now in field.metadata[VALUES].items():
        old, new = config_to_json(config), config_to_json(config)
        part(old, path)[field.name], part(new, path)[field.name] = before, now
        assert config_from_json(type(config), old) == config_from_json(type(config), new)


def test_every_renamed_field_of_the_packages_belongs_to_an_experiment():
    met = {(declaring(type(holder(config, path)), path[-1]), path[-1]) for config, path, *_ in FOUND}
    assert met == declared()


def holder(config: Any, path: tuple[str, ...]) -> Any:
    for name in path[:-1]:
        config = getattr(config, name)
    return config
