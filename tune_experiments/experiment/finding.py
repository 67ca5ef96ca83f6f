"""Experiments by name.

Importing a module runs its code. Names that the user gives are imported; names in a file only if the caller allows
their module (`allow`).
"""

import dataclasses
import importlib
import importlib.util
import json
import types
import typing
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from rl_envs.registry import ENTRY_POINT, GYMNASIUM, find_entry_point
from tune_experiments.core.config_json import IMPORTED, config_from_json, config_to_json
from tune_experiments.core.config_path import Rules, continuation_rules, find_differences
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.base_experiment import PACKAGE, BaseExperiment, Config

_OWN_PACKAGES = ("rl_envs", "rl_models", PACKAGE)
UNNAMED = "unnamed:"
"""Prefix of the name of an environment that exists only in the training process."""
_TRUSTED: ContextVar[tuple[str, Any, str, Rules] | None] = ContextVar("trusted", default=None)
"""Name, configuration as JSON, module and rules of continued runs of the experiment that `trusting` trusts."""


def known_experiments() -> list[str]:
    """Names of this package's scripts."""
    folder = Path(__file__).parent.parent
    return sorted(path.stem for path in folder.glob("*.py") if not path.stem.startswith("_"))


def find_experiment(name: str) -> BaseExperiment:
    """The experiment of `tune_experiments/NAME.py`, or of `package.module:NAME`; importing its module.

    Raises UserError where there is no such experiment.
    """
    known = known_experiments()
    if isinstance(name, str) and (found := ENTRY_POINT.fullmatch(name)) is not None:
        return _import_experiment(*found.groups())
    if name not in known:
        raise UserError(f"no experiment is called {name!r}; choose from {', '.join(known)}, or package.module:NAME")
    experiment: BaseExperiment | None = getattr(importlib.import_module(f"{PACKAGE}.{name}"), "EXPERIMENT", None)
    if experiment is None:
        raise UserError(f"{name} trains nothing: run it as python -m {PACKAGE}.{name}")
    return experiment


def _import_experiment(module: str, name: str) -> BaseExperiment:
    try:
        found = getattr(importlib.import_module(module), name, None)
    except ModuleNotFoundError as error:
        raise UserError(
            f"{module}:{name} cannot be imported ({error}): install its package, run in its folder, or add that "
            "folder to PYTHONPATH"
        ) from error
    if not isinstance(found, BaseExperiment):
        raise UserError(f"{module}:{name} is not an Experiment object: correct the name")
    return found


def find_stored(name: Any, data: Any, allow: Sequence[str], where: Path) -> tuple[BaseExperiment, Any]:
    """Experiment and configuration from a file, for a run that is not continued.

    UserError for an external module that is not in `allow`, which is not imported. `as_loaded` adapts the
    configuration, except in `trusting`.
    """
    found = ENTRY_POINT.fullmatch(name) if isinstance(name, str) else None
    if found is not None:
        _check_trust(found[1], allow, where)
    experiment = find_experiment(name)
    cls = experiment.config_class
    own = {text for preset in experiment.presets.values() for text, _ in module_names(config_to_json(preset), [cls])}
    for text, is_built in module_names(data, [cls]):
        if text not in own and (module := _get_module(text)) is not None:
            _check_trust(module, allow, where, is_built)
    config = read_configuration(experiment, data)
    trusted = _TRUSTED.get()
    is_trusted = trusted is not None and (name, data) == trusted[:2]
    return experiment, config if is_trusted else experiment.as_loaded(config)


@contextmanager
def trusting(experiment: BaseExperiment[Config], config: Config) -> Iterator[None]:
    """Context in which files of exactly this experiment and configuration, which are imported, are trusted."""
    stored = json.loads(json.dumps(config_to_json(config)))
    token = _TRUSTED.set((experiment.entry_point, stored, experiment.module, continuation_rules(config)))
    try:
        yield
    finally:
        _TRUSTED.reset(token)


def trusted_modules(name: Any, data: Any) -> set[str]:
    """Modules that a file may name because `trusting` trusts its experiment and configuration.

    The configuration may differ as that of a continued run may, as in an older checkpoint of the run.
    """
    trusted = _TRUSTED.get()
    if trusted is None or name != trusted[0]:
        return set()
    if not all(one.is_allowed for one in find_differences(data, trusted[1], trusted[3])):
        return set()
    named = module_names(trusted[1], [find_experiment(name).config_class])
    return {trusted[2], *filter(None, (_get_module(text) for text, _ in named))}


def imported_modules(experiment: BaseExperiment[Config], config: Config) -> list[str]:
    """Modules that a run imports by name: the experiment's, and those of its configuration."""
    named = module_names(config_to_json(config), [experiment.config_class])
    return list(dict.fromkeys([experiment.module, *filter(None, (_get_module(text) for text, _ in named))]))


def _get_module(text: str) -> str | None:
    """Module that a name imports, of an environment or another object; None for a name of this package.

    `gymnasium:ID` imports gymnasium, and `gymnasium:package.module:ID` that module. Environments of `rl_envs` import
    nothing else. Objects of the training process only (`unnamed:`) are never imported.
    """
    if (entry_point := find_entry_point(text)) is not None:
        module = entry_point.partition(":")[0]
        return None if module.split(".")[0] in _OWN_PACKAGES else module
    if text.startswith(UNNAMED):
        return None
    if text.startswith(GYMNASIUM):
        return text.removeprefix(GYMNASIUM).rpartition(":")[0] or "gymnasium"
    return text.partition(":")[0]


def _check_trust(module: str, allow: Sequence[str], where: Path, is_built: bool = False) -> None:
    """Check that a module is in `allow`, or is part of Concord and none of its functions would be called."""
    is_ours = module.split(".")[0] in _OWN_PACKAGES
    if module in allow or (is_ours and not is_built):
        return
    what = "is called to build an environment" if is_ours else "is not part of Concord"
    raise UserError(
        f"{where} names the module {module}, which {what}, and opening it would run its code: "
        f"if you trust it, add --allow {module}, or allow=[{module!r}] in Python"
    )


def module_names(data: Any, hints: Sequence[Any]) -> Iterator[tuple[str, bool]]:
    """Names of modules in a JSON value, each with whether the named object is called to build something."""
    kinds = [kind for hint in hints for kind in _member_types(hint)]
    if isinstance(data, str):
        if any(IMPORTED in getattr(kind, "__metadata__", ()) for kind in kinds):
            yield data, True
        elif (found := ENTRY_POINT.fullmatch(data)) is not None and _is_installed(found[1]):
            yield data, False
    elif isinstance(data, list):
        inner = [argument for kind in kinds for argument in typing.get_args(kind)]
        for value in data:
            yield from module_names(value, inner)
    elif isinstance(data, dict):
        fields = [typing.get_type_hints(kind, include_extras=True) for kind in kinds if dataclasses.is_dataclass(kind)]
        values = [argument for kind in kinds for argument in typing.get_args(kind)]
        for name, value in data.items():
            yield from module_names(value, [known[name] for known in fields if name in known] + values)


def _member_types(hint: Any) -> Iterator[Any]:
    yield hint
    origin = typing.get_origin(hint)
    if origin is typing.Annotated:
        yield from _member_types(hint.__origin__)
    elif origin in (typing.Union, types.UnionType):
        for member in typing.get_args(hint):
            yield from _member_types(member)


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module.split(".")[0]) is not None
    except ValueError:  # a module without a spec, created at run time
        return True


def read_configuration(experiment: BaseExperiment[Config], data: Any) -> Config:
    """A configuration from its JSON."""
    return config_from_json(experiment.config_class, data)


def trial_name(method: str, seed: int) -> str:
    """Name of a trial and of its folder."""
    return f"{method}-seed{seed}"
