"""An experiment's command line: its frozen dataclass is the list of flags, tyro reads them, errors are one sentence.

    python tune_experiments/NAME.py [--preset smoke|laptop|paper] [--out DIR] [--seeds 0 1 2] [--search 12]
        [--any.field value ...]

This file must not know any experiment: presets come in as a mapping from name to configuration.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import difflib
import io
import math
import re
import shlex
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import tyro
from pydantic import ValidationError
from tyro import _docstrings

from rl_models.configuration import DeviceChoice
from tune_experiments.core.config_json import (
    config_from_json,
    config_to_json,
    describe_type,
    reader_of,
    renamed_fields,
    spelled,
)
from tune_experiments.core.config_path import flag_of
from tune_experiments.core.errors import UserError, one_line
from tune_experiments.core.storage_uri import uri_of

__all__ = ["RunOptions", "check_options", "config_from_json", "config_to_json", "one_sentence", "parse"]

Config = TypeVar("Config")
DEFAULT_PRESET = "laptop"
_SEEDS = 2**31
"""Seeds are below this number, as NumPy, torch and RLlib all take them."""
_NO_WHOLE_NUMBER = re.compile(r"Error parsing (--\S+): invalid literal for int\(\) with base 10: ('.*')")
_read_docstrings = _docstrings.parse_docstring_from_object


def _in_paragraphs(cls: object) -> dict[str, str]:
    return {name: " ".join(text.split()) for name, text in _read_docstrings(cls).items()}


# tyro keeps the line breaks of a help that is written over several lines, because the second line is indented. Its
# tests of its own caches want one answer throughout, so this holds for the whole process.
setattr(_docstrings, "parse_docstring_from_object", _in_paragraphs)  # noqa: B010 (mypy refuses an assignment)


@dataclass(frozen=True)
class RunOptions:
    """Arguments of every experiment beside its configuration."""

    preset: Annotated[str, tyro.conf.arg(metavar="NAME")]
    """Preset that all other flags start from: smoke (under two minutes), laptop (minutes), paper (the paper's
    numbers), authors or reference (constants of the authors' code); the choices of this script are listed above."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None
    """Folder for all that the run writes (None: runs/EXPERIMENT_PRESET); the same command with it continues the run."""
    seeds: tuple[int, ...] = (0,)
    """Seeds of the trials, at least 0: one trial for each method and seed."""
    device: DeviceChoice = "auto"
    """Device of all networks: auto, a GPU if there is one; cpu, no GPU; or cuda, a GPU, and an error without one."""
    max_concurrent_trials: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Largest number of trials that train at the same time, at least 1 (None: as many as the CPUs and GPUs of the
    cluster can hold)."""
    slice_seconds: Annotated[float | None, tyro.conf.arg(metavar="S")] = None
    """Number of seconds, above 0, after which the run stops at checkpoints with exit code 0; the same command continues
    it, and what is trained in slices is equal to what is trained at once. The update, validation or test that is
    running then is finished first (None: no limit)."""
    local: bool = False
    """Train one trial after another in this process, without Ray; it plays the environments of all runners itself."""
    search: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Number N of settings of the search space, at least 1, that are tried with each method and ranked by validation
    (None: no search)."""
    search_by: Literal["random", "grid", "optuna", "asha", "pbt"] = "random"
    """How settings are chosen: random, N drawn settings, each trained to its end; grid, all combinations; optuna, N
    settings that follow from the scores of earlier ones (TPE); asha, trials below the best third of those before them
    stop at a ninth and a third of the budget; pbt, bad trials continue from the weights of good ones."""
    search_over: Annotated[tuple[str, ...], tyro.conf.arg(metavar="PATH=KIND:VALUES")] = ()
    """Fields that vary, in place of the experiment's own space: learning_rate=loguniform:1e-4:1e-1 or
    PATH=grid:a,b,c."""
    search_objective: Annotated[str | None, tyro.conf.arg(metavar="KEY")] = None
    """Key of the trials' log that the search maximises, such as valid/success (None: the experiment's own key)."""
    search_seed: int = 0
    """Seed of the settings that a search draws, at least 0."""

    @property
    def searches(self) -> bool:
        """Whether settings are tried, in place of one run."""
        return self.search is not None or self.search_by == "grid"


def parse(
    experiment_presets: Mapping[str, Config],
    arguments: Sequence[str],
    description: str,
    seeds: tuple[int, ...] = (0,),
) -> tuple[Config, RunOptions]:
    """Read a command line; `--help` prints every flag with its default and exits with code 0.

    Args:
        experiment_presets: name -> configuration, a frozen (nested) dataclass; `laptop` is the default, else the first.
            One that checks itself in `__post_init__` raises UserError there.
        arguments: The command line without the program's name.
        description: What `--help` says first.
        seeds: The default of `--seeds`.

    Raises:
        UserError: an unknown flag (with the nearest one), a wrong type, a missing value, a stray word.
    """
    preset = _preset(experiment_presets, arguments)
    default = _Arguments(RunOptions(preset, None, seeds), experiment_presets[preset])
    arguments = _as_spelled(default, arguments, list(experiment_presets))
    captured = io.StringIO()
    try:
        with contextlib.redirect_stderr(captured):
            parsed = _read(default, arguments, f"{description}\n\nPresets: {', '.join(experiment_presets)}.")
    except SystemExit as exit_request:
        if exit_request.code == 0:  # --help
            raise
        raise _explanation(default, arguments) or UserError(one_line(captured.getvalue())) from None
    check_options(parsed.options)
    return parsed.config, parsed.options


@contextlib.contextmanager
def one_sentence(words: Sequence[str], advice: str) -> Iterator[None]:
    """Within it tyro reads a small command line, and whatever it refuses is one sentence; `--help` ends as ever.

    Args:
        words: the command line.
        advice: what to write instead.

    Raises:
        UserError: tyro has refused the words.
    """
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            yield
    except SystemExit as exit_request:
        if exit_request.code == 0:  # --help
            raise
        raise UserError(f"cannot read {shlex.join(words)!r}{_reason(said.getvalue())}; {advice}") from None


def _reason(said: str) -> str:
    """Why tyro refuses a command line: the first paragraph of its message, which has a title and rules or a box."""
    paragraphs = re.split(r"╭.*\n|[-─]{20,}", said.replace("│", " "))
    reason = one_line(paragraphs[1]).partition(" Arguments are applied")[0] if len(paragraphs) > 1 else ""
    reason = re.sub(r" \(applied to [^)]*\)", "", reason).rstrip(".")
    reason = _NO_WHOLE_NUMBER.sub(r"\1 must be a whole number, not \2", reason)
    return f": {reason[0].lower()}{reason[1:]}" if reason else ""


def check_options(options: RunOptions) -> None:
    """Refuse options that no run can have.

    Raises:
        UserError: which, and what it must be.
    """
    if options.out is not None:
        uri_of(options.out)
    seeds = options.seeds
    are_numbers = all(isinstance(seed, Integral) and not isinstance(seed, bool) for seed in seeds)
    if not seeds or not are_numbers or len(set(seeds)) < len(seeds) or not 0 <= min(seeds) <= max(seeds) < _SEEDS:
        raise UserError(
            f"--seeds needs one or more different whole numbers, 0 or larger and below {_SEEDS}, not {list(seeds)}"
        )
    for name, hint in typing.get_type_hints(RunOptions, include_extras=True).items():
        value = getattr(options, name)
        try:
            name == "seeds" or reader_of(hint).validate_python(value)
        except ValidationError:
            raise UserError(f"{flag_of(name)} must be {describe_type(hint)}, not {value!r}") from None
    if options.out is not None and "\0" in str(options.out):
        raise UserError(f"--out must be the name of a folder, and {str(options.out)!r} cannot be one")
    if options.max_concurrent_trials is not None and options.max_concurrent_trials < 1:
        raise UserError(f"--max-concurrent-trials must be at least 1, not {options.max_concurrent_trials}")
    if options.search is not None and options.search < 1:
        raise UserError(f"--search must be at least 1, not {options.search}")
    if options.search_seed < 0:
        raise UserError(f"--search-seed must be at least 0, not {options.search_seed}")
    _check_form(options)
    if options.searches:
        return
    for name in ("search_seed", "search_over", "search_by", "search_objective"):
        if getattr(options, name) != RunOptions.__dataclass_fields__[name].default:
            flag = f"--{name.replace('_', '-')}"
            raise UserError(f"{flag} belongs to a search; say with --search how many settings to try")


def _check_form(options: RunOptions) -> None:
    """Refuse a slice or a form without Ray that cannot be.

    Raises:
        UserError: which flag, and what to write instead.
    """
    if options.slice_seconds is not None and not 0 < options.slice_seconds < math.inf:
        raise UserError(f"--slice-seconds must be a number of seconds above 0, not {options.slice_seconds}")
    if options.local and (options.max_concurrent_trials or 1) > 1:
        raise UserError(
            f"--local trains one trial at a time: leave out --max-concurrent-trials {options.max_concurrent_trials}"
        )
    if options.searches and (options.local or options.slice_seconds is not None):
        flag = "--local" if options.local else "--slice-seconds"
        raise UserError(f"{flag} is for runs without --search: Ray Tune decides what a search trains next")


@dataclass(frozen=True)
class _Arguments:
    """Both halves; their flags carry no prefix."""

    options: Annotated[RunOptions, tyro.conf.arg(name="")]
    config: Any


def _read(default: _Arguments, arguments: Sequence[str], description: str = "") -> _Arguments:
    # tyro wants the configuration's own type, which is known only now.
    flat: Any = Annotated[type(default.config), tyro.conf.arg(name="")]  # type: ignore[misc, valid-type]
    schema = dataclasses.make_dataclass("Arguments", [("config", flat)], bases=(_Arguments,), frozen=True)
    start = schema(options=default.options, config=default.config)
    return typing.cast(_Arguments, tyro.cli(schema, args=list(arguments), default=start, description=description))


def _preset(presets: Mapping[str, Any], arguments: Sequence[str]) -> str:
    """Presets are read first, because the defaults of all other flags depend on them."""
    first = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    first.add_argument("--preset", default=DEFAULT_PRESET if DEFAULT_PRESET in presets else next(iter(presets)))
    try:
        preset: str = first.parse_known_args(list(arguments))[0].preset
    except argparse.ArgumentError:
        raise UserError(f"--preset needs a value: one of {', '.join(presets)}") from None
    preset = spelled(preset, presets)
    if preset not in presets:
        raise UserError(f"--preset must be one of {', '.join(presets)}, not {preset!r}")
    return preset


def _as_spelled(default: _Arguments, arguments: Sequence[str], presets: Sequence[str]) -> list[str]:
    """The command line with names as they are declared where a flag has a choice of names: `-` and `_` are one."""
    flags = _flags(default.options, "--") | _flags(default.config, "--")
    choices = {flag: _names_in(hint) for flag, hint in flags.items()} | {"--preset": list(presets)}
    words: list[str] = []
    flag = ""
    for word in arguments:
        name, equals, value = word.partition("=")
        if word.startswith("--"):
            flag = name.replace("_", "-")
            words.append(f"{name}={spelled(value, choices.get(flag, ()))}" if equals else word)
        else:
            words.append(spelled(word, choices.get(flag, ())))
    return words


def _names_in(hint: Any) -> list[str]:
    """Names that a type has to choose from."""
    if typing.get_origin(hint) is Literal:
        return [name for name in typing.get_args(hint) if isinstance(name, str)]
    return [name for inner in typing.get_args(hint) for name in _names_in(inner)]


# ---- explaining what tyro refused ------------------------------------------------------------------------------------


def _explanation(default: _Arguments, arguments: Sequence[str]) -> UserError | None:
    """The first thing that is wrong, found by giving tyro one flag at a time."""
    flags = {"--help": bool} | _flags(default.options, "--") | _flags(default.config, "--")
    for flag, values in _groups(arguments):
        name = flag.replace("_", "-")
        if not flag:
            return UserError(f"{values[0]!r} belongs to no flag; write --flag value (--help lists the flags)")
        if name not in flags:
            now = _earlier_flags(default.config, "--").get(name)
            return UserError(f"unknown flag {flag}; {f'it is {now} now' if now else _suggestion(name, list(flags))}")
        with contextlib.redirect_stderr(io.StringIO()):
            try:
                _read(default, [flag, *values])
            except SystemExit as exit_request:
                if exit_request.code != 0:
                    return UserError(_expectation(flag, flags[name], values))
    return None


def _expectation(flag: str, hint: Any, values: list[str]) -> str:
    if hint is bool:
        return f"{flag} takes no value, not {' '.join(values)!r}; the flag with and without 'no-' are its two values"
    if typing.get_origin(hint) is tuple and typing.get_origin(typing.get_args(hint)[0]) is Literal:
        choices = [str(choice) for choice in typing.get_args(typing.get_args(hint)[0])]
        if wrong := [value for value in values if value not in choices]:
            return f"{wrong[0]!r} is not one of {flag}: choose from {', '.join(choices)}"
    got = f"not {' '.join(values)!r}" if values else "and nothing follows it"
    return f"{flag} must be {describe_type(hint)}, {got}"


def _suggestion(name: str, flags: list[str]) -> str:
    """The nearest flag, by the whole path or by its last word."""
    words = {flag.rsplit(".", 1)[-1].lstrip("-"): flag for flag in flags}
    near = difflib.get_close_matches(name, flags, n=1)
    by_word = difflib.get_close_matches(name.rsplit(".", 1)[-1].lstrip("-"), words, n=1)
    if near or by_word:
        return f"did you mean {near[0] if near else words[by_word[0]]}?"
    return "--help lists the flags"


def _flags(value: Any, prefix: str) -> dict[str, Any]:
    """Flag -> type of every field, as tyro names them."""
    found: dict[str, Any] = {}
    hints = typing.get_type_hints(type(value), include_extras=False)
    for field in dataclasses.fields(value):
        inner, name = getattr(value, field.name), field.name.replace("_", "-")
        if dataclasses.is_dataclass(inner):
            found |= _flags(inner, f"{prefix}{name}.")
        elif isinstance(inner, Mapping) and inner:
            hint = typing.get_args(hints[field.name])[1]
            found |= {f"{prefix}{name}.{str(key).replace('_', '-')}": hint for key in inner}
        else:
            found[f"{prefix}{name}"] = hints[field.name]
            if hints[field.name] is bool:
                found[f"{prefix}no-{name}"] = bool
    return found


def _earlier_flags(value: Any, prefix: str) -> dict[str, str]:
    """Earlier name of a flag -> its name now."""
    found: dict[str, str] = {}
    earlier = {name: field.metadata.get("renamed_from") for name, field in renamed_fields(type(value)).items()}
    for field in dataclasses.fields(value):
        inner, name = getattr(value, field.name), f"{prefix}{field.name.replace('_', '-')}"
        if dataclasses.is_dataclass(inner):
            found |= _earlier_flags(inner, f"{name}.")
        if earlier.get(field.name):
            before = str(earlier[field.name]).replace("_", "-")
            found |= {f"{prefix}{before}": name, f"{prefix}no-{before}": name}
    return found


def _groups(arguments: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Split a command line into flags, each with the words that follow it."""
    groups: list[tuple[str, list[str]]] = []
    for word in arguments:
        if word.startswith("--"):
            flag, equals, value = word.partition("=")
            groups.append((flag, [value] if equals else []))
        elif not groups:
            groups.append(("", [word]))
        else:
            groups[-1][1].append(word)
    return groups
