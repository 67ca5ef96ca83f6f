"""Build worlds from custom environments: `from_pettingzoo`, `from_gymnasium`; environments by name: `named_env`."""

import functools
import importlib
import pkgutil
import re
from collections.abc import Callable, Mapping
from typing import Any

from rl_envs.core.errors import CustomEnvError, EnvRaisedError, did_you_mean, installing
from rl_envs.registry import ENTRY_POINT
from rl_envs.wrappers.custom.copies import open_env
from rl_envs.wrappers.custom.declaration import MakeEnv, described, layers, peek
from rl_envs.wrappers.custom.multi_agent import is_multi_agent
from rl_envs.wrappers.custom.values import is_true, short_repr
from rl_envs.wrappers.custom.world import PettingZooWorld, RenderedPettingZooWorld

PARALLEL = "parallel_env"
"""Function of a PettingZoo module that builds a parallel environment."""
ALONE = "agent_0"
"""Name of the single agent of a Gymnasium environment."""


def from_pettingzoo(make_env: MakeEnv, num_worlds: int = 1, first_world: int = 0, **options: Any) -> PettingZooWorld:
    """B environments of several agents as one world: PettingZoo's, parallel or turn-based, or RLlib's `MultiAgentEnv`.

    Args:
        make_env: Builds one environment; with `render_mode="rgb_array"` the world renders.
        num_worlds: B.
        first_world: Index of the first of these worlds in the run.
        options: `num_processes` (number of worker processes; 0: the environments run in this process),
            `max_episode_steps` (time limit in env steps; None: the environment's own, else 1000), `agents_leave` (True:
            agents may leave before the end, and `alive` is observed), `vocabulary` (words with ids of
            their own in texts), `word_ids` (a `TextNumbers` instead of word ids), `max_words` (64, largest number of
            words per text or sentence), `max_sentences` (1: a text is one row of words; above 1 it is that many rows,
            one per sentence).

    Raises:
        CustomEnvError: The environment cannot be built, or it breaks PettingZoo's API.
    """
    first = open_env(make_env)
    draws = any(peek(layer, "render_mode") == "rgb_array" for layer in layers(first.env))
    kind = RenderedPettingZooWorld if draws else PettingZooWorld
    try:
        return kind(make_env, num_worlds, first_world, first=first, **options)
    except BaseException:
        first.close()
        raise


def from_gymnasium(make_env: MakeEnv, num_worlds: int = 1, first_world: int = 0, **options: Any) -> PettingZooWorld:
    """B Gymnasium environments as one world with one agent, `agent_0`; arguments as for `from_pettingzoo`."""
    options = {"agents_leave": False} | options
    return from_pettingzoo(functools.partial(SoloEnv, make_env), num_worlds, first_world, **options)


class SoloEnv:
    """A Gymnasium environment as a PettingZoo parallel environment with one agent."""

    def __init__(self, make_env: MakeEnv) -> None:
        self.env = self.gymnasium_env = make_env()
        if is_multi_agent(self.env):
            raise CustomEnvError(f"{type(self.env).__name__} has several agents: pass it to from_pettingzoo")
        self.possible_agents, self.agents = [ALONE], [ALONE]

    @property
    def unwrapped(self) -> Any:
        """The innermost environment."""
        return self.env.unwrapped

    def observation_space(self, agent: str) -> Any:
        """Space of the observation."""
        return self.env.observation_space

    def action_space(self, agent: str) -> Any:
        """Space of the actions."""
        return self.env.action_space

    def reset(self, seed: int | None = None, options: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin an episode."""
        answer = self.env.reset(seed=seed, options=options)
        observation, info = _entries("reset", answer, 2)
        self.agents = [ALONE]
        return {ALONE: observation}, {ALONE: info}

    def step(self, actions: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
        """One env step."""
        answers = _entries("step", self.env.step(actions[ALONE]), 5)
        self.agents = [] if is_true(answers[2]) or is_true(answers[3]) else [ALONE]
        return tuple({ALONE: answer} for answer in answers)

    def render(self) -> Any:
        """Rendered image."""
        return self.env.render()

    def close(self) -> None:
        """Close the environment."""
        self.env.close()


def _entries(method: str, answer: Any, count: int) -> tuple[Any, ...]:
    """Return value of a Gymnasium environment, with its number of entries checked."""
    if isinstance(answer, (tuple, list)) and len(answer) == count:
        return tuple(answer)
    found = f"{len(answer)} entries" if isinstance(answer, (tuple, list)) else short_repr(answer)
    raise CustomEnvError(f"{method} of the Gymnasium environment returned {found}: let it return {count} entries")


def named_env(name: str, arguments: Mapping[str, Any] | None = None) -> MakeEnv:
    """A function that builds the PettingZoo environment of a module, such as `mpe2.simple_spread_v3`.

    It calls the module's `parallel_env`, or `env` if its agents act in turn; or `package.module:function`. Raises
    CustomEnvError where the package is not installed, or the module has no environment.
    """
    named = ENTRY_POINT.fullmatch(name if ":" in name else f"{name}:{PARALLEL}")
    if named is None:
        raise CustomEnvError(
            f"{name!r} names no environment: write one of `concord envs`, package.module, or package.module:function"
        )
    module, function = named[1], named[2]
    _found(module, function)
    return functools.partial(_build, module, function, dict(arguments or {}))


def _build(module: str, function: str, arguments: dict[str, Any]) -> Any:
    return built(f"{module}:{function}", _found(module, function), arguments)


def built(name: str, build: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    """An environment by its function and keyword arguments; EnvRaisedError with its name if that raises."""
    try:
        return build(**arguments)
    except (CustomEnvError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise EnvRaisedError(
            f"the environment {name!r} cannot be built with the arguments {arguments} ({described(error)}): correct "
            "them, or the environment, or install what it needs"
        ) from error


def _found(module: str, function: str) -> Any:
    try:
        imported = importlib.import_module(module)
        found = getattr(imported, function, None)
    except ModuleNotFoundError as error:
        raise CustomEnvError(_missing(module, error.name or module)) from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a script that reads its own flags exits
        raise CustomEnvError(f"the environment {module!r} cannot be imported ({described(error)}): fix it") from error
    if not callable(found):
        if function == PARALLEL and callable(turn_based := getattr(imported, "env", None)):
            return turn_based
        if found is not None:
            raise CustomEnvError(
                f"{module}:{function} is {short_repr(found)}, which is no function: name a function or a class that "
                "builds an environment at each call"
            )
        raise CustomEnvError(
            f"{module!r} has no function {function!r}: name the module of a PettingZoo environment, such as "
            "mpe2.simple_spread_v3, or package.module:function of your own"
        )
    return found


def _missing(module: str, absent: str) -> str:
    """Reason why a module cannot be imported: it or one of its dependencies is missing."""
    package, _, inner = absent.rpartition(".")
    if absent == module and package and (there := _modules_in(package)):
        hint = did_you_mean(inner, there, f"name one of its modules, such as {', '.join(there[:3])}")
        return f"{package!r} is installed and has no {inner!r}: {hint}"
    return (
        f"the environment {module!r} cannot be imported (No module named {absent!r}): a module of your own must be in "
        "the current folder or in a folder of PYTHONPATH, and a package of others must be installed, as its pages say"
        + (f"; {installing('envs')} brings mpe2" if absent.partition(".")[0] == "mpe2" else "")
    )


def _modules_in(package: str) -> list[str]:
    """Names of a package's modules, only those of versioned environments if there are any; none if it fails."""
    try:
        names = [one.name for one in pkgutil.iter_modules(importlib.import_module(package).__path__)]
    except Exception:
        return []
    return [name for name in names if re.search(r"_v\d+$", name)] or names
