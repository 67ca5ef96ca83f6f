"""An experiment's command line: its frozen dataclass is the list of flags, and tyro reads them.

`--help` prints a page of our own with the most used flags, `--help-all` is tyro's with all flags. tyro reports its own
errors and exits with code 2.
"""

import argparse
import dataclasses
import sys
import textwrap
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro
from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt

from rl_envs.core.errors import did_you_mean
from rl_models.configuration import DeviceChoice
from tune_experiments.core.checks import check_distinct, check_ranges
from tune_experiments.core.config_json import Config
from tune_experiments.core.config_path import flag_name, match_name, normalise_methods, value_at
from tune_experiments.core.errors import UserError
from tune_experiments.core.storage_uri import parse_uri
from tune_experiments.experiment.config_file import ConfigFile, read_config_file

DEFAULT_PRESET = "laptop"
_Seed = Annotated[int, Field(ge=0, lt=2**31)]
"""A seed as NumPy, torch and RLlib all take it."""
_FIRST_PAGE = {
    "env": "environment: a name of `concord envs`, a PettingZoo module, gymnasium:ID, or package.module:function",
    "env_arguments": "keyword arguments of the environment, as JSON",
    "methods": "methods to train",
    "network.name": "network, also set by `--network NAME`",
    "seeds": "one trial for each method and seed",
    "budget_env_steps": "env steps of training, of each method and seed",
    "config": "YAML file with values of flags, such as config.yaml of a run; command-line flags override it",
    "out": "output folder, or URI of an object store; the same command continues the run in it",
    "workers.runners": "env runner processes of a trial; 0: the trial's own process samples",
    "workers.worlds_per_runner": "environments per runner, stepped at once",
    "device": "auto (a GPU if available), cpu, or cuda (an error without a GPU)",
    "max_concurrent_trials": "maximum number of concurrent trials; None: as many as the CPUs and GPUs allow",
    "slice_seconds": "stop at checkpoints after this many seconds; the same command continues; None: no limit",
}
"""Dotted path -> its text in `--help`."""
_PAGE_WIDTH = 100


@dataclass(frozen=True)
class RunOptions:
    """Options of every experiment, in addition to its configuration."""

    preset: Annotated[str, tyro.conf.arg(metavar="NAME")]
    """Preset that all other flags start from: smoke (under two minutes), laptop (minutes), paper (the paper's
    numbers), authors or reference (constants of the authors' code); the choices of this script are listed above."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None
    """Folder for all that the run writes (None: runs/EXPERIMENT_PRESET); the same command with it continues the run."""
    config: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """YAML file with values of flags, such as config.yaml of a run; command-line flags override it. As on a command
    line, an environment that it names is imported."""
    seeds: tuple[_Seed, ...] = (0,)
    """Seeds of the trials, at least 0: one trial for each method and seed."""
    device: DeviceChoice = "auto"
    """Device of all networks: auto (a GPU if available), cpu, or cuda (an error without a GPU)."""
    max_concurrent_trials: Annotated[PositiveInt | None, tyro.conf.arg(metavar="N")] = None
    """Largest number of trials that train at the same time, at least 1 (None: as many as the CPUs and GPUs of the
    cluster can hold)."""
    slice_seconds: Annotated[PositiveFloat | None, tyro.conf.arg(metavar="S")] = None
    """Number of seconds, above 0, after which the run stops at checkpoints with exit code 0; the same command continues
    it, and the result is equal to that of a run without slices. A running update, validation or test is finished first
    (None: no limit)."""
    local: bool = False
    """Train one trial after another in this process, without Ray; it steps the environments of all runners."""
    search: Annotated[PositiveInt | None, tyro.conf.arg(metavar="N")] = None
    """Number N of settings of the search space, at least 1, to try with each method, ranked by validation
    (None: no search)."""
    search_by: Literal["random", "grid", "optuna", "asha", "pbt"] = "random"
    """How settings are chosen: random (N settings, each trained fully), grid (all combinations), optuna (N settings by
    TPE), asha (trials outside the best third stop at 1/9 or 1/3 of the budget), pbt (the worst trials continue from the
    weights of the best)."""
    search_over: Annotated[tuple[str, ...], tyro.conf.arg(metavar="PATH=KIND:VALUES")] = ()
    """Fields that vary, in place of the experiment's own space: learning_rate=loguniform:1e-4:1e-1 or
    PATH=grid:a,b,c."""
    search_objective: Annotated[str | None, tyro.conf.arg(metavar="KEY")] = None
    """Key of the trials' log that the search maximises, such as valid/success (None: the experiment's own key)."""
    search_seed: NonNegativeInt = 0
    """Seed of the settings that a search draws, at least 0."""

    @property
    def is_search(self) -> bool:
        """Whether this is a search."""
        return self.search is not None or self.search_by == "grid"


def parse(
    experiment_presets: Mapping[str, Config],
    arguments: Sequence[str],
    description: str,
    seeds: tuple[int, ...] = (0,),
    prog: str = "",
    experiment: str = "",
) -> tuple[Config, RunOptions]:
    """Read a command line; `--help` prints the most used flags, `--help-all` all, and both end the process.

    A preset is a frozen (nested) dataclass; `laptop` is the default, else the first. The help begins with
    `description`, and names the program `prog`, by default the script. Raises UserError for an invalid value, or a
    configuration file of another experiment.
    """
    file = given_config_file(arguments, experiment)
    preset = _preset(experiment_presets, arguments, file)
    options, config = RunOptions(preset, seeds=seeds), experiment_presets[preset]
    default = _Arguments(*(file.apply(options, config) if file else (options, config)))  # type: ignore[type-var]
    if {"-h", "--help"} & {*arguments}:
        print(_first_page(default, list(experiment_presets), description, prog or Path(sys.argv[0]).name))
        raise SystemExit(0)
    parsed = _read(default, arguments, f"{description}\n\nPresets: {', '.join(experiment_presets)}.", prog)
    check_options(parsed.options)
    return parsed.config, parsed.options


def check_options(options: RunOptions) -> None:
    """Check the ranges and combinations of options; UserError names the flag, and what it must be."""
    check_ranges(options, also_types=True)
    check_distinct(options, "seeds")
    if options.out is not None:
        parse_uri(options.out)
        if "\0" in str(options.out):
            raise UserError(f"--out must be the name of a folder, and {str(options.out)!r} cannot be one")
    if options.local and (options.max_concurrent_trials or 1) > 1:
        raise UserError(
            f"--local trains one trial at a time: leave out --max-concurrent-trials {options.max_concurrent_trials}"
        )
    if options.is_search and (options.local or options.slice_seconds is not None):
        flag = "--local" if options.local else "--slice-seconds"
        raise UserError(f"{flag} is for runs without --search, in which Ray Tune decides what is trained: leave it out")
    if options.search_by == "grid" and options.search_seed:
        raise UserError("--search-seed is for settings that are drawn, and --search-by grid tries all: leave it out")
    for name in ("search_seed", "search_over", "search_by", "search_objective"):
        if not options.is_search and getattr(options, name) != RunOptions.__dataclass_fields__[name].default:
            raise UserError(f"{flag_name(name)} belongs to a search: set --search to the number of settings to try")


@dataclass(frozen=True)
class _Arguments:
    """Options and configuration; their flags have no prefix."""

    options: Annotated[RunOptions, tyro.conf.arg(name="")]
    config: Any


def _read(default: _Arguments, arguments: Sequence[str], description: str, prog: str) -> _Arguments:
    # tyro needs the configuration's type, which is only known here.
    flat: Any = Annotated[type(default.config), tyro.conf.arg(name="")]  # type: ignore[misc, valid-type]
    schema = dataclasses.make_dataclass("Arguments", [("config", flat)], bases=(_Arguments,), frozen=True)
    start = schema(options=default.options, config=default.config)
    words = ["--help"] if "--help-all" in arguments else _normalise_names(arguments, default)
    _check_names(words, default.config)
    read = tyro.cli(schema, prog=prog or None, args=words, default=start, description=description)
    return typing.cast(_Arguments, read)


def _normalise_names(arguments: Sequence[str], default: _Arguments) -> list[str]:
    """The command line with the declared names of preset and methods, which may be given with `-` or `_`.

    `--network emma` stands for `--network.name emma`, as for every group of fields with a name.
    """
    words: list[str] = []
    flag = ""
    for word in arguments:
        if word.startswith("--"):
            flag, equals, value = word.partition("=")
            group = getattr(default.config, flag[2:].replace("-", "_"), None)
            if dataclasses.is_dataclass(group) and hasattr(group, "name"):
                word = f"{flag}.name{equals}{value}"
        elif flag == "--preset":
            word, flag = default.options.preset, ""
        elif flag == "--methods":
            (word,) = normalise_methods([word])
        words.append(word)
    return words


def _check_names(words: Sequence[str], config: Any) -> None:
    """Check the names of methods and networks; an error suggests the nearest name."""
    flag = ""
    for word in words:
        if word.startswith("--"):
            flag, _, word = word.partition("=")
        path = {"--methods": "methods", "--network.name": "network.name"}.get(flag)
        known = _choices(config, path) if word and path else []
        if known and word not in known:
            hint = f"{did_you_mean(word, known, '')} ".lstrip()
            cure = "`concord methods` lists them" if hasattr(config, "env") else f"choose from {', '.join(known)}"
            raise UserError(f"{flag}: {word!r} does not exist; {hint}{cure}")


def _early_value(arguments: Sequence[str], flag: str) -> str | None:
    """Value of a flag on which the defaults of others depend."""
    first = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    first.add_argument(flag, dest="value")
    try:
        found: str | None = first.parse_known_args(list(arguments))[0].value
    except argparse.ArgumentError:
        return ""
    return found


def given_config_file(arguments: Sequence[str], experiment: str = "") -> ConfigFile | None:
    """The file of `--config`, if it is given; UserError if it cannot be read or belongs to another experiment."""
    path = _early_value(arguments, "--config")
    if path is None:
        return None
    if not path:
        raise UserError("--config needs the name of a YAML file")
    file = read_config_file(Path(path))
    if experiment and file.experiment not in ("", experiment):
        raise UserError(f"{path} belongs to the experiment {file.experiment}, not {experiment}: name another --config")
    return file


def _preset(presets: Mapping[str, Any], arguments: Sequence[str], file: ConfigFile | None) -> str:
    named = file.values.get("preset") if file else None
    given = _early_value(arguments, "--preset")
    if file and named is not None and given is not None:
        raise UserError(
            f"{file.path} sets the preset {named}, so --preset {given} has no effect: leave one of them out"
        )
    default = DEFAULT_PRESET if DEFAULT_PRESET in presets else next(iter(presets))
    preset = match_name(str(given if given is not None else named if named is not None else default), presets)
    if preset not in presets:
        where = f"{file.path}: preset" if file and given is None else "--preset"
        raise UserError(f"{where} must be one of {', '.join(presets)}, not {preset!r}")
    return preset


def _first_page(default: _Arguments, presets: Sequence[str], description: str, prog: str) -> str:
    """The page of `--help`: presets, and the most used flags with their values in the chosen preset."""
    lines = [f"usage: {prog} [--preset NAME] [--FLAG VALUE ...]", "", description, ""]
    lines += [f"  --preset {default.options.preset}", f"      values to start from: {', '.join(presets)}"]
    for path, meaning in _FIRST_PAGE.items():
        for half in (default.options, default.config):
            try:
                value, names = value_at(half, path), _choices(half, path)
            except AttributeError:
                continue
            shown = " ".join(map(str, value)) if isinstance(value, tuple) else value
            listed = f": {', '.join(names)}" if names and path == "methods" else ""
            lines += [f"  {flag_name(path)} {shown}", f"      {meaning}{listed}"]
    lines += ["", "--help-all lists every flag; omitted flags have the values of the preset, shown here."]
    wrapped = (textwrap.wrap(line, _PAGE_WIDTH, subsequent_indent="      ") or [""] for line in lines)
    return "\n".join(one for group in wrapped for one in group)


def _choices(half: Any, path: str) -> list[str]:
    group, _, name = path.rpartition(".")
    hint = typing.get_type_hints(type(getattr(half, group, None) if group else half)).get(name)
    choices = [inner for inner in (hint, *typing.get_args(hint)) if typing.get_origin(inner) is Literal]
    return [str(one) for inner in choices for one in typing.get_args(inner)]
