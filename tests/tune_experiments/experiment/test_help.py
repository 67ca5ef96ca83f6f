"""What `--help` says about every flag of every experiment is a full sentence."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from tyro._docstrings import get_field_docstring

from tune_experiments.__main__ import COMMANDS
from tune_experiments.experiment.command_line import RunOptions, parse
from tune_experiments.experiment.finding import find_experiment, known_experiments
from tune_experiments.overcooked_crossplay import CrossPlay
from tune_experiments.overcooked_returns import Returns
from tune_experiments.sama_retest import Retest

FLAGS_OF_COMMANDS = [flags for flags, _ in COMMANDS.values()]
FEWEST_WORDS = 5
FRAGMENTS = ("Of ", "In ", "At ", "For ", "On ", "After ", "The same ", "Played ")
RANGES = ("above 0", "at least 0", "at least 1", "from 0 to 1")
MOST_NAMED_CHOICES = 5
UNTRAINED = {"overcooked_crossplay", "overcooked_returns", "sama_retest"}
"""These scripts train nothing, so they have no configuration."""


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
        text = get_field_docstring(config_class, field.name, ()) or ""
        where = f"{config_class.__module__}.{config_class.__name__}.{field.name}: {text!r}"
        if len(text.split()) < FEWEST_WORDS or not text.endswith(".") or text.startswith(FRAGMENTS):
            yield f"{where} is no full sentence"
        for inner in _inner_types(hints[field.name]):
            if typing.get_origin(inner) is Literal and len(typing.get_args(inner)) <= MOST_NAMED_CHOICES:
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
        text = get_field_docstring(config_class, field.name, ()) or ""
        parts = [*_types_without_range(hints[field.name])]
        if any(words in text for words in RANGES) and {int, float} & {*parts}:
            yield f"{config_class.__module__}.{config_class.__name__}.{field.name}: {text!r}"
        for inner in filter(dataclasses.is_dataclass, parts):
            yield from _unchecked_ranges(inner)


@pytest.mark.parametrize("name", sorted({*known_experiments()} - UNTRAINED))
def test_a_number_whose_help_names_a_range_is_checked(name: str) -> None:
    assert sorted(set(_unchecked_ranges(find_experiment(name).config_class))) == []


@pytest.mark.parametrize("name", sorted({*known_experiments()} - UNTRAINED))
def test_every_flag_of_an_experiment_has_a_full_sentence(name: str) -> None:
    assert sorted(set(_faults(find_experiment(name).config_class))) == []


@pytest.mark.parametrize("options", [RunOptions, CrossPlay, Returns, Retest, *FLAGS_OF_COMMANDS])
def test_every_flag_of_a_command_has_a_full_sentence(options: type) -> None:
    assert list(_faults(options)) == []


@dataclass(frozen=True)
class _Wordy:
    number: int = 0
    """A help of more than one line, the second of which
    begins where code is indented."""


def test_a_help_over_several_lines_is_one_paragraph(capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    with pytest.raises(SystemExit):
        parse({"laptop": _Wordy()}, ["--help"], "a wordy experiment")
    assert "A help of more than one line, the second of which begins where code is indented." in capsys.readouterr().out


@dataclass(frozen=True)
class _Fragments:
    undocumented: int = 0
    short: int = 0
    """Number of runs."""
    begins_with_a_preposition: int = 0
    """For all methods that are trained."""
    unnamed_choice: tuple[Literal["drawn", "argmax"], ...] = ()
    """How a team chooses its masks, drawn for example."""
    whole: Literal["drawn", "argmax"] | None = None
    """How a team chooses its masks: drawn, argmax."""


def test_fragments_are_found() -> None:
    found = [fault.split(":")[0].rsplit(".", 1)[-1] for fault in _faults(_Fragments)]
    assert found == ["undocumented", "short", "begins_with_a_preposition", "unnamed_choice"]
