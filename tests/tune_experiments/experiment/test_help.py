"""`--help` describes every flag of every experiment, with choices and with ranges that are checked."""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import itertools
import json
import subprocess
import sys
import textwrap
import typing
from collections.abc import Iterator
from typing import Any, Literal

import pytest

from tune_experiments.__main__ import COMMANDS
from tune_experiments.experiment.command_line import RunOptions
from tune_experiments.experiment.finding import find_experiment, known_experiments
from tune_experiments.overcooked_crossplay import CrossPlay
from tune_experiments.overcooked_returns import Returns
from tune_experiments.sama_retest import Retest

FLAGS_OF_COMMANDS = [flags for flags, _ in COMMANDS.values()]
RANGES = ("above 0", "at least 0", "at least 1", "from 0 to 1")
MAX_NAMED_CHOICES = 5
UNTRAINED = {"overcooked_crossplay", "overcooked_returns", "sama_retest"}
"""These scripts train nothing, so they have no configuration."""


@functools.cache
def helps_of(cls: type) -> dict[str, str]:
    """Field -> the string below it, of the fields that a class itself declares."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    pairs = itertools.pairwise([*getattr(tree, "body", []), ast.Pass()])
    texts = {ast.unparse(line.target): after for line, after in pairs if isinstance(line, ast.AnnAssign)}
    return {
        name: " ".join(str(after.value.value).split())
        for name, after in texts.items()
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
    }


def help_of(config_class: type, name: str) -> str:
    """What `--help-all` says of a field."""
    return next((helps_of(cls)[name] for cls in config_class.__mro__[:-1] if name in helps_of(cls)), "")


def _inner_types(hint: Any) -> Iterator[Any]:
    """A type and all that it is made of."""
    yield hint
    if typing.get_origin(hint) is not Literal:
        for inner in typing.get_args(hint):
            yield from _inner_types(inner)


def _faults(config_class: Any) -> Iterator[str]:
    """What is wrong with the help of a configuration, its nested ones included."""
    hints = typing.get_type_hints(config_class)
    for field in dataclasses.fields(config_class):
        text = help_of(config_class, field.name)
        where = f"{config_class.__module__}.{config_class.__name__}.{field.name}: {text!r}"
        if not text.endswith("."):
            yield f"{where} is no sentence"
        for inner in _inner_types(hints[field.name]):
            if typing.get_origin(inner) is Literal and len(typing.get_args(inner)) <= MAX_NAMED_CHOICES:
                missing = [choice for choice in typing.get_args(inner) if str(choice) not in text]
                if missing:
                    yield f"{where} does not name {missing}"
            if dataclasses.is_dataclass(inner):
                yield from _faults(inner)


def _types_without_range(hint: Any) -> Iterator[Any]:
    """The types that a type is made of, but for those that have a range."""
    yield hint
    if typing.get_origin(hint) not in (Literal, typing.Annotated):
        for inner in typing.get_args(hint):
            yield from _types_without_range(inner)


def _unchecked_ranges(config_class: Any) -> Iterator[str]:
    """Fields of a configuration, its nested ones included, whose help names a range that their type does not have."""
    hints = typing.get_type_hints(config_class, include_extras=True)
    for field in dataclasses.fields(config_class):
        text = help_of(config_class, field.name)
        parts = [*_types_without_range(hints[field.name])]
        if any(words in text for words in RANGES) and {int, float} & {*parts}:
            yield f"{config_class.__module__}.{config_class.__name__}.{field.name}: {text!r}"
        for inner in filter(dataclasses.is_dataclass, parts):
            yield from _unchecked_ranges(inner)


@pytest.mark.parametrize("name", sorted({*known_experiments()} - UNTRAINED))
def test_a_number_whose_help_names_a_range_is_checked(name: str) -> None:
    assert sorted(set(_unchecked_ranges(find_experiment(name).config_class))) == []


@pytest.mark.parametrize("name", sorted({*known_experiments()} - UNTRAINED))
def test_every_flag_of_an_experiment_has_help_that_names_its_choices(name: str) -> None:
    assert sorted(set(_faults(find_experiment(name).config_class))) == []


@pytest.mark.parametrize("options", [RunOptions, CrossPlay, Returns, Retest, *FLAGS_OF_COMMANDS])
def test_every_flag_of_a_command_has_help_that_names_its_choices(options: type) -> None:
    assert list(_faults(options)) == []


HEAVY = ("ray", "torch", "scipy", "numba", "matplotlib", "gymnasium", "pettingzoo", "transformers", "pyarrow")
ASKS_FOR_HELP = """
import contextlib, importlib, io, json, sys

for name in sys.argv[2:]:
    script = importlib.import_module(name)
    main = script.main if not hasattr(script, "EXPERIMENT") else lambda words: script.main(script.EXPERIMENT, words)
    page = io.StringIO()
    with contextlib.redirect_stdout(page), contextlib.suppress(SystemExit):
        main(["--help"])
    heavy = [one for one in sys.argv[1].split() if one in sys.modules]
    print(json.dumps([name, len(page.getvalue().splitlines()), heavy]))
"""


@pytest.mark.long
@pytest.mark.processes
def test_help_of_every_script_is_short_and_loads_nothing_heavy() -> None:
    scripts = [*(f"tune_experiments.{name}" for name in known_experiments()), "tune_experiments.__main__"]
    words = [sys.executable, "-c", ASKS_FOR_HELP, " ".join(HEAVY), *scripts]
    told = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    pages = {name: (lines, heavy) for name, lines, heavy in map(json.loads, told)}
    assert [*pages] == scripts
    assert {name: heavy for name, (_, heavy) in pages.items() if heavy} == {}
    untrained = {f"tune_experiments.{name}" for name in UNTRAINED} | {"tune_experiments.__main__"}
    assert all(0 < lines <= 60 for name, (lines, _) in pages.items() if name not in untrained)
