"""Configuration files: `--config FILE.yaml`, and the config.yaml in a run folder, which repeats the run."""

import contextlib
import dataclasses
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from tune_experiments.core.config_json import Config, DataclassInstance, config_from_json, config_to_json
from tune_experiments.core.config_path import flag_name, leaves, with_overrides
from tune_experiments.core.errors import UserError
from tune_experiments.core.files import write_atomically

CONFIG_YAML = "config.yaml"
CUSTOM = "custom"
"""Name of the preset of a configuration from Python."""
Options = TypeVar("Options", bound=DataclassInstance)
_EXPERIMENT = "experiment"
_NOT_WRITTEN = ("out", "config")
"""Options that depend on the machine."""
_SECRET = re.compile(
    r"(^|[_/])((api|access|secret|private)_?keys?|(?<!eos_)(?<!bos_)(?<!pad_)token|secrets?|passwords?|credentials?"
    r"|authorization)(/|$)",
    re.IGNORECASE,
)
"""Name of a secret, also in a path `name/key/key` to a text in JSON."""
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)[eE][-+]?[0-9]+")
"""A number that YAML 1.1 may take for a text: `1e-4`, `1.5e3`."""


@dataclass(frozen=True)
class ConfigFile:
    """Contents of a configuration file: flags without dashes, nested or dotted, and its experiment, empty for any."""

    path: Path
    values: Mapping[str, Any] = field(default_factory=dict)
    experiment: str = ""

    def apply(self, options: Options, config: Config) -> tuple[Options, Config]:
        """Options and configuration with the values of the file; UserError for an unknown key or a wrong value."""
        names = [option.name for option in dataclasses.fields(options) if option.name != "config"]
        given = {name.replace("-", "_"): value for name, value in self.values.items()}
        chosen = {name: value for name, value in given.items() if name in names}
        rest = {name: value for name, value in given.items() if name not in names}
        try:
            merged = config_to_json(options) | chosen
            return config_from_json(type(options), merged, name_path=flag_name), with_overrides(config, rest)
        except UserError as error:
            raise UserError(f"{self.path}: {error}") from error


def read_config_file(path: Path) -> ConfigFile:
    """Read a configuration file; UserError if it is missing, not a YAML mapping, or another file of a run folder."""
    import yaml

    runs = (one / CONFIG_YAML for one in (path, *path.parents) if (one / "trials").is_dir())
    if path.suffix not in (".yaml", ".yml") and (own := next(filter(Path.is_file, runs), None)):
        raise UserError(f"--config {path} is in a run folder and is not its file of flags: name {own}")

    class Loader(yaml.SafeLoader):
        """Reads `1e-4` as a number, as YAML 1.2 does, and refuses a key given twice, in either spelling."""

        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
            keys = [str(key.value).replace("-", "_") for key, _ in node.value]
            if twice := next(
                (key for (key, _), name in zip(node.value, keys, strict=True) if keys.count(name) > 1), None
            ):
                raise yaml.MarkedYAMLError(problem=f"{twice.value} is set twice", problem_mark=twice.start_mark)
            return super().construct_mapping(node, deep)

    Loader.add_implicit_resolver("tag:yaml.org,2002:float", _FLOAT, list("-+.0123456789"))
    try:
        values = yaml.load(path.read_bytes(), Loader)
    except OSError as error:
        raise UserError(f"--config {path} cannot be read ({error.strerror}): name a YAML file") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f" line {mark.line + 1}" if mark is not None else ""
        raise UserError(f"{path}{place} cannot be read ({getattr(error, 'problem', error)}): correct it") from error
    except RecursionError:
        raise UserError(f"{path} is nested too deeply: correct it") from None
    if not isinstance(values, dict) or not all(isinstance(key, str) for key in values):
        raise UserError(f"{path} holds no `key: value` lines: write flags without their dashes, such as seeds: [0, 1]")
    paths = list(_paths(values))
    if twice := next((one for number, one in enumerate(paths) if one in paths[:number]), None):
        raise UserError(f"{path} sets {twice} twice, nested and with a dot: remove one of them")
    experiment = values.pop(_EXPERIMENT, "")
    if not isinstance(experiment, str):
        raise UserError(f"{path}: experiment must be a name, not {experiment!r}")
    return ConfigFile(path, values, experiment)


def _paths(values: Mapping[Any, Any], group: str = "") -> Iterator[str]:
    for name, value in values.items():
        path = f"{group}{name}".replace("-", "_")
        if isinstance(value, Mapping):
            yield from _paths(value, f"{path}.")
        else:
            yield path


def write_config_file(path: Path, experiment: str, config: DataclassInstance, options: DataclassInstance) -> None:
    """Write the file that repeats this run with `concord run EXPERIMENT --config FILE`."""
    import yaml

    defaults = {option.name: option.default for option in dataclasses.fields(options)}
    chosen = {
        name: value
        for name, value in config_to_json(options).items()
        if name not in _NOT_WRITTEN and (name == "seeds" or getattr(options, name) not in (defaults[name], CUSTOM))
    }
    text = yaml.safe_dump(
        {_EXPERIMENT: experiment} | chosen | config_to_json(config),
        sort_keys=False,
        default_flow_style=None,
        allow_unicode=True,
        width=120,
    )
    write_atomically(path, f"# concord run {experiment} --config {path.name}\n{text}")


def check_for_secrets(config: DataclassInstance) -> None:
    """Raise UserError where the configuration, which is written into files, holds a key or token."""
    for path, value in leaves(config):
        named = _named_texts(path.rpartition(".")[2], value)
        if any(text and _SECRET.search(name.replace("-", "_")) for name, text in named):
            raise UserError(
                f"{flag_name(path)} holds what looks like a secret, and a run writes its configuration into files: "
                "pass it in an environment variable"
            )


def _named_texts(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Every text of a value with its path `name/key/key`; a text that is JSON also has those in it."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _named_texts(f"{name}/{key}", inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _named_texts(name, inner)
    elif isinstance(value, str):
        yield name, value
        with contextlib.suppress(ValueError, RecursionError):
            yield from _named_texts(name, json.loads(value))
