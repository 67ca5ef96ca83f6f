"""Flags that a method does not read, as the configurations declare them.

A configuration with such fields has a method `unread_by(method)`; see `Unread` in `rl_models/configuration.py`. A run
is refused if none of its methods reads a given flag; if some do not, they are named.
"""

import dataclasses
from collections.abc import Sequence

from rl_models.configuration import Unread
from rl_models.rllib.workers import ALONE, Workers
from tune_experiments.core.config_json import DataclassInstance, is_configuration
from tune_experiments.core.config_path import flag_name, flag_words, leaves, value_at
from tune_experiments.core.errors import UserError


def unread_flags(config: DataclassInstance, method: str, path: str = "") -> Unread:
    """Dotted path of every field that a method does not read -> what to do instead."""
    found: dict[str, str] = {}
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if is_configuration(value):
            (inner,) = getattr(value, "methods", ())[:1] or (method,)  # a run within the run has methods of its own
            found |= unread_flags(value, inner, f"{path}{field.name}.")
    declared: Unread = config.unread_by(method) if hasattr(config, "unread_by") else {}
    for name, cure in declared.items():
        instead = cure.format(group=flag_name(path))
        found |= {f"{path}{leaf}": instead for leaf, _ in leaves(value_at(config, name), name)}
    return found


def reads(config: DataclassInstance, method: str, path: str) -> bool:
    """Whether a method reads a field."""
    return path not in unread_flags(config, method)


def check_flags(
    config: DataclassInstance,
    methods: Sequence[str],
    presets: Sequence[DataclassInstance],
    is_local: bool = False,
    refuses: bool = True,
) -> list[str]:
    """Check that some method reads each given flag.

    Args:
        config: Configuration of the run.
        methods: Its methods.
        presets: Configurations whose values nobody gave.
        is_local: Whether the run is in one process, with one learner and no aggregators.
        refuses: Whether the values are flags of a command line; those of a file or from Python are only named.

    Returns:
        Sentences on flags that some of the methods do not read, or a run in one process.

    Raises:
        UserError: A flag that none of them reads, if it `refuses`.
    """
    unread = {method: unread_flags(config, method) for method in methods}
    defaults = [dict(leaves(preset)) for preset in presets]
    notes: dict[str, list[str]] = {}
    for path, value in leaves(config):
        if any(path in default and default[path] == value for default in defaults):
            continue
        flag, (group, _, name) = " ".join(flag_words(path, value)), path.rpartition(".")
        if is_local and name in ALONE and isinstance(value_at(config, group or name), Workers):
            notes.setdefault("a run with --local", []).append(flag)
            continue
        without = [method for method in methods if path in unread[method]]
        names = ", ".join(without)
        if refuses and without and len(without) == len(methods):
            raise UserError(f"{flag} has no effect on {names}: {unread[without[0]][path]}")
        if without:
            notes.setdefault(names, []).append(flag)
    return [f"no effect on {names}: {', '.join(flags)}" for names, flags in notes.items()]
