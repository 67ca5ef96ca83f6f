"""Names of environments that are given as Python objects, and the name of a run folder.

Workers and run folders import an environment by its name. An object without one (a lambda, a nested function, or one of
the main script) trains in this process under a temporary name.
"""

import functools
import importlib.util
import json
import re
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

from tune_experiments.core.errors import UserError
from tune_experiments.experiment.finding import UNNAMED

_USUAL = ("parallel_env", "env", "raw_env")
"""Names of functions that do not identify an environment."""
_CALLABLES: dict[str, Callable[..., Any]] = {}


class EnvironmentName(NamedTuple):
    """Name of an environment, as for `--env`, its keyword arguments, and why no other process can import it, if so."""

    name: str
    arguments: dict[str, Any]
    why_unnamed: str = ""


def find_name(env: Any) -> EnvironmentName:
    """Name of an environment that is given as a text, a module, a class or a function; UserError for another type."""
    if isinstance(env, str):
        return EnvironmentName(env, {})
    if isinstance(env, ModuleType):
        return EnvironmentName(env.__name__, {})
    if isinstance(env, functools.partial) and not env.args and _is_json(env.keywords):
        inner = find_name(env.func)
        return inner._replace(arguments={**inner.arguments, **env.keywords})
    if not callable(env):
        raise UserError(
            f"env is an object of the class {type(env).__name__}, which cannot be built again: give the class or a "
            "function that builds it, or a name such as 'overcooked-v0'"
        )
    module, name = getattr(env, "__module__", None), getattr(env, "__qualname__", "")
    why = _why_unnamed(env, module, name)
    if not why:
        return EnvironmentName(f"{module}:{name}", {})
    label = re.sub(r"\W+", "_", name.replace("<locals>.", "")).strip("_") or type(env).__name__
    return EnvironmentName(_remember(f"{UNNAMED}{label}", env), {}, why)


def _why_unnamed(env: Any, module: Any, name: str) -> str:
    """Why a worker cannot import this by its name; empty if it can."""
    if not isinstance(module, str) or not name:
        return f"an object of the class {type(env).__name__} has no name"
    if "<lambda>" in name:
        return "a lambda has no name"
    if "<locals>" in name:
        return f"{name.rpartition('.')[2]} is defined within a function"
    if module == "__main__":
        return f"{name} is defined in the script that was started"
    if "." in name or getattr(sys.modules.get(module), name, None) is not env:
        return f"{module}.{name} is another object"
    try:
        is_found = importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        is_found = False
    return "" if is_found else f"the module {module} cannot be imported again"


def _remember(name: str, env: Callable[..., Any]) -> str:
    """Keep an object under a name; another one of the same name gets a number."""
    own, number = name, 1
    while _CALLABLES.setdefault(own, env) is not env:
        number += 1
        own = f"{name}_{number}"
    return own


def unnamed_callable(name: str) -> Callable[..., Any]:
    """The function of a temporary name of this process; UserError for a name of another one."""
    if name not in _CALLABLES:
        raise UserError(f"the environment {name!r} only existed in the process that trained it: {how_to_name()}")
    return _CALLABLES[name]


def how_to_name() -> str:
    """Advice on naming an environment, to open its runs or to train it on several processes."""
    return (
        "put the function that builds it into a module, as parallel_env in my_env.py, and name it: "
        "env='my_env:parallel_env' in Python, --env my_env:parallel_env on the command line"
    )


def run_label(env: str) -> str:
    """Name of an environment in the name of a run folder: `simple_spread_v3`, `rescue`, `CartPole-v1`."""
    module, _, name = env.rpartition(":")
    if not module:
        label = name.rpartition(".")[2]
    elif name in _USUAL:
        label = module.rpartition(".")[2]
    else:
        label = name
    return re.sub(r"[^\w.-]+", "_", label) or "environment"


def _is_json(value: Any) -> bool:
    try:
        return bool(json.loads(json.dumps(value)) == value)
    except (TypeError, ValueError):
        return False
