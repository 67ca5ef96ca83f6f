"""Foreign environments as worlds, by a function that builds one or by its name: `from_pettingzoo`, `from_gymnasium`."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Mapping
from typing import Any

from rl_envs.core.entry_point import ENTRY_POINT
from rl_envs.wrappers.foreign_games import MakeEnv
from rl_envs.wrappers.foreign_spaces import ForeignEnvError
from rl_envs.wrappers.foreign_world import DrawnForeignWorld, ForeignWorld

ALONE = "agent_0"
"""Name of the only agent of a Gymnasium environment."""


def from_pettingzoo(make_env: MakeEnv, num_worlds: int = 1, first_world: int = 0, **options: Any) -> ForeignWorld:
    """B PettingZoo parallel environments as one world.

    Args:
        make_env: builds one environment with discrete actions; with `render_mode="rgb_array"` the world renders.
        num_worlds: B.
        first_world: number of the first of these worlds in the run.
        options: `num_processes` (0: the environments are stepped in this process; else in as many worker processes),
            `max_episode_steps` (None: what the environment declares, else 1000), `agents_leave` (True: `alive` is
            observed; False where no agent ever leaves before the end, which QMIX needs), `vocabulary` (words that get
            numbers of their own in texts), `word_ids` (numbers of texts in place of those of words), `max_words` (64,
            largest number of words of a text or sentence), `max_sentences` (1: a text is one row of words; above 1 it
            is that many rows, one a sentence).

    Raises:
        ForeignEnvError: the environment has continuous actions, or a space that is not understood.
    """
    env = make_env()
    draws = getattr(env, "render_mode", None) == "rgb_array"
    env.close()
    return (DrawnForeignWorld if draws else ForeignWorld)(make_env, num_worlds, first_world, **options)


def from_gymnasium(make_env: MakeEnv, num_worlds: int = 1, first_world: int = 0, **options: Any) -> ForeignWorld:
    """B Gymnasium environments as one world with one agent, `agent_0`; arguments as of `from_pettingzoo`."""
    options = {"agents_leave": False} | options
    return from_pettingzoo(functools.partial(SoloEnv, make_env), num_worlds, first_world, **options)


class SoloEnv:
    """A Gymnasium environment with the methods of a PettingZoo parallel environment that has one agent."""

    def __init__(self, make_env: MakeEnv) -> None:
        self.env = make_env()
        self.possible_agents, self.agents = [ALONE], [ALONE]
        self.render_mode = getattr(self.env, "render_mode", None)
        self.spec = getattr(self.env, "spec", None)

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
        observation, info = self.env.reset(seed=seed, options=options)
        self.agents = [ALONE]
        return {ALONE: observation}, {ALONE: info}

    def step(self, actions: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
        """One env step."""
        observation, reward, terminated, truncated, info = self.env.step(actions[ALONE])
        self.agents = [] if terminated or truncated else [ALONE]
        answers = (observation, float(reward), bool(terminated), bool(truncated), info)
        return tuple({ALONE: answer} for answer in answers)

    def render(self) -> Any:
        """The environment's own picture."""
        return self.env.render()

    def close(self) -> None:
        """Close the environment."""
        self.env.close()


def named_env(name: str, arguments: Mapping[str, Any] | None = None) -> MakeEnv:
    """A function that builds the PettingZoo environment of a module, such as `mpe2.simple_spread_v3`.

    Args:
        name: the module, which has a function `parallel_env`; or `package.module:function` of one's own.
        arguments: keyword arguments of that function.

    Raises:
        ForeignEnvError: the package is not installed, or the module has no parallel environment.
    """
    named = ENTRY_POINT.fullmatch(name if ":" in name else f"{name}:parallel_env")
    if named is None:
        raise ForeignEnvError(f"{name!r} names no environment: write package.module, or package.module:function")
    module, function = named[1], named[2]
    _found(module, function)
    return functools.partial(_build, module, function, dict(arguments or {}))


def _build(module: str, function: str, arguments: dict[str, Any]) -> Any:
    try:
        return _found(module, function)(**arguments)
    except TypeError as error:
        raise ForeignEnvError(
            f"the environment {module!r} cannot be built with the arguments {arguments} ({error}): correct them"
        ) from error


def _found(module: str, function: str) -> Any:
    try:
        found = getattr(importlib.import_module(module), function, None)
    except ImportError as error:
        package = (error.name or module).partition(".")[0]
        raise ForeignEnvError(
            f"the environment {module!r} cannot be imported ({error}): install {package!r}; mpe2 comes with "
            "pip install 'concord-marl[envs]'"
        ) from error
    if found is None:
        raise ForeignEnvError(
            f"{module!r} has no {function!r}: name the module of a PettingZoo parallel environment, such as "
            "mpe2.simple_spread_v3, or package.module:function of your own"
        )
    return found
