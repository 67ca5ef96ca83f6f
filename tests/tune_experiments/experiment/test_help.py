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

from tests.tune_experiments.experiments import TRAINED
from tune_experiments.__main__ import COMMANDS
from tune_experiments.experiment.command_line import RunOptions
from tune_experiments.experiment.finding import find_experiment, known_experiments
from tune_experiments.overcooked_crossplay import CrossPlay
from tune_experiments.overcooked_returns import Returns
from tune_experiments.sama_retest import Retest

FLAGS_OF_COMMANDS = [flags for flags, _ in COMMANDS.values()]
RANGES = ("above 0", "at least 0", "at least 1", "from 0 to 1")
MAX_NAMED_CHOICES = 5


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


def _parts(hint: Any) -> Iterator[Any]:
    """A type and all that it is made of; what is inside `Annotated` has a range that is checked."""
    yield hint
    if typing.get_origin(hint) not in (Literal, typing.Annotated):
        for inner in typing.get_args(hint):
            yield from _parts(inner)


def _fields(config_class: Any, has_ranges: bool) -> Iterator[tuple[str, str, list[Any]]]:
    """Fields of a configuration, its nested ones included: name with help, help, and the parts of its type."""
    hints = typing.get_type_hints(config_class, include_extras=has_ranges)
    for field in dataclasses.fields(config_class):
        text, parts = help_of(config_class, field.name), [*_parts(hints[field.name])]
        yield f"{config_class.__module__}.{config_class.__name__}.{field.name}: {text!r}", text, parts
        for inner in filter(dataclasses.is_dataclass, parts):
            yield from _fields(inner, has_ranges)


def _faults(config_class: Any) -> Iterator[str]:
    """What is wrong with the help of a configuration."""
    for where, text, parts in _fields(config_class, has_ranges=False):
        if not text.endswith("."):
            yield f"{where} is no sentence"
        choices = [typing.get_args(part) for part in parts if typing.get_origin(part) is Literal]
        named = [one for several in choices if len(several) <= MAX_NAMED_CHOICES for one in several]
        if missing := [choice for choice in named if str(choice) not in text]:
            yield f"{where} does not name {missing}"


CONFIGURATIONS = pytest.mark.parametrize("name", TRAINED)


@CONFIGURATIONS
def test_a_number_whose_help_names_a_range_is_checked(name: str) -> None:
    fields = _fields(find_experiment(name).config_class, has_ranges=True)
    plain = {where for where, text, parts in fields if {int, float} & {*parts} and any(one in text for one in RANGES)}
    assert plain == set()


@CONFIGURATIONS
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
    assert all(0 < pages[f"tune_experiments.{name}"][0] <= 60 for name in TRAINED)
