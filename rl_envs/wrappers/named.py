"""Environments of other packages by name: PettingZoo modules, `gymnasium:ID`, and functions that build either."""

import functools
import importlib
from collections.abc import Mapping
from typing import Any

import gymnasium

from rl_envs.core.errors import CustomEnvError, did_you_mean
from rl_envs.core.world import World
from rl_envs.registry import GYMNASIUM, WORLDS
from rl_envs.wrappers.custom.build import SoloEnv, built, named_env
from rl_envs.wrappers.custom.declaration import MakeEnv, described
from rl_envs.wrappers.custom.multi_agent import is_multi_agent


def named_environment(name: str, arguments: Mapping[str, Any] | None = None) -> MakeEnv | type[World]:
    """A function that builds the environment of a name; or the class, where the name is of a world.

    Names: a module with PettingZoo's `parallel_env`, `gymnasium:ID`, or `package.module:NAME` of a function or `World`.
    Raises CustomEnvError where nothing of this name can be found or imported.
    """
    given = dict(arguments or {})
    if name.startswith(GYMNASIUM):
        make_gymnasium = functools.partial(gymnasium.make, _known_gymnasium(name))
        return functools.partial(parallel_env, functools.partial(built, name, make_gymnasium, given))
    if not name.isidentifier() and ":" not in name and (hint := _nearest(name)):
        raise CustomEnvError(f"no environment is called {name!r}; {hint}")
    try:
        make_env = named_env(name, given)
    except CustomEnvError as error:
        hint = _nearest(name)
        raise CustomEnvError(f"{error}{f'; or {hint}' if hint else ''}") from error
    module, _, found = name.partition(":")
    named = getattr(importlib.import_module(module), found, None) if found else None
    return named if isinstance(named, type) and issubclass(named, World) else functools.partial(parallel_env, make_env)


def parallel_env(make_env: MakeEnv) -> Any:
    """Build an environment of PettingZoo or RLlib, or a Gymnasium environment, which becomes a team of one."""
    env = make_env()
    return SoloEnv(lambda: env) if isinstance(env, gymnasium.Env) and not is_multi_agent(env) else env


def _nearest(name: str) -> str:
    """Suggestion of a similar id, or an empty string."""
    otherwise = f"did you mean {GYMNASIUM}{name}?" if name in gymnasium.registry else ""
    return did_you_mean(name, WORLDS, otherwise)


def _known_gymnasium(name: str) -> str:
    """The id after `gymnasium:`; a module before it is imported, because it may register the id."""
    found = name.removeprefix(GYMNASIUM)
    try:
        gymnasium.spec(found)
    except Exception as error:
        advice = "write gymnasium:ID, or gymnasium:package.module:ID"
        hint = did_you_mean(found, gymnasium.registry, advice, GYMNASIUM)
        raise CustomEnvError(f"Gymnasium has no environment {found!r} ({described(error)}); {hint}") from error
    return found
