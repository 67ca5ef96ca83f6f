"""K copies of a custom environment in one process: each row is one environment of PettingZoo or RLlib.

It resets and steps some of its rows and returns arrays over all N declared agents. An agent that is not in the game has
zeros as observations, all of its own actions legal, and no reward.
"""

import gc
from collections.abc import Callable
from typing import Any

import numpy as np

from rl_envs.core.errors import CustomEnvError, EnvRaisedError
from rl_envs.core.spec import Array
from rl_envs.wrappers.custom.checked_env import CheckedEnv, close_quietly, is_played
from rl_envs.wrappers.custom.declaration import Declaration, MakeEnv, described, env_name
from rl_envs.wrappers.custom.frame import Answer, Frame, Turn
from rl_envs.wrappers.custom.multi_agent import MultiAgent, is_multi_agent
from rl_envs.wrappers.custom.process_settings import undoing_changes
from rl_envs.wrappers.custom.turn_based import TurnBased, is_turn_based
from rl_envs.wrappers.custom.values import short_repr


class EnvCopies:
    """K copies of an environment in this process."""

    def __init__(self, make_env: MakeEnv, count: int, declared: Declaration, first: CheckedEnv | None = None) -> None:
        """Build K environments, `first` being the first if it is already built; if one fails, the others are closed.

        Raises CustomEnvError where one declares something else.
        """
        self.declaration, self._own = declared, declared.own_actions
        self.envs: list[CheckedEnv] = [] if first is None else [first]
        try:
            while len(self.envs) < count:
                self.envs.append(open_env(make_env, declared, f" (copy {len(self.envs) + 1} of {count})"))
        except BaseException:
            self.close()
            raise
        self._name = env_name(self.envs[0].env)

    def reset(self, rows: Array, seeds: Array) -> Frame:
        """Begin episodes in some games, [K] rows with [K] seeds."""
        return self._called(CheckedEnv.reset, rows, seeds)[0]

    def step(self, rows: Array, actions: Array) -> Turn:
        """One env step of some games, [K] rows with packed actions [K, N] or [K, N, P]."""
        frame, answers = self._called(CheckedEnv.step, rows, actions)
        return Turn(
            frame,
            np.array([answer.reward for answer in answers]),
            np.array([answer.terminated for answer in answers]),
            np.array([answer.truncated for answer in answers]),
        )

    def render(self, row: int) -> Array:
        """Rendered image, [H, W, 3] uint8."""
        return self.envs[row].render()

    def close(self) -> None:
        """Close all environments."""
        for env in self.envs:
            env.close()

    def _blank(self, count: int) -> Frame:
        layout, agents = self.declaration.layout, len(self.declaration.agents)
        texts, legal = layout.blank_texts(count), np.repeat(self._own[None], count, axis=0)
        return Frame(layout.blank(count), texts, np.zeros((count, agents), bool), legal, np.zeros(count, np.int64))

    def _called(
        self, call: Callable[[CheckedEnv, Any], Answer], rows: Array, given: Array
    ) -> tuple[Frame, list[Answer]]:
        """Answers of some games, each to its own part of `given`, and their observations."""
        frame, answers = self._blank(len(rows)), []
        envs = [self.envs[row] for row in rows.tolist()]
        with undoing_changes(self._name, call is CheckedEnv.reset or self.envs[0].is_full):
            for place, (env, own) in enumerate(zip(envs, given.tolist(), strict=True)):
                answers.append(call(env, own))
                env.write(frame, place, answers[-1])  # before another copy can write into a buffer that they share
        if not self.declaration.layout.is_in_range(frame.arrays):
            for place, (env, answer) in enumerate(zip(envs, answers, strict=True)):
                env.check_ranges(frame, place, answer)
        return frame, answers


def open_env(make_env: MakeEnv, declared: Declaration | None = None, which: str = "") -> CheckedEnv:
    """Build an environment and read its declaration, or compare it with that of another copy."""
    env = build_env(make_env, which)
    try:
        if declared is None:
            return CheckedEnv(env, Declaration(env))
        declared.check_same(env)
        return CheckedEnv(env, declared)
    except BaseException:
        close_quietly(env)
        raise


def build_env(make_env: MakeEnv, which: str) -> Any:
    """An environment with PettingZoo's parallel API; `which` copy it is, for the error.

    Raises CustomEnvError where it cannot be built, or a copy that is not closed, of this world or of another, plays the
    object.
    """
    if not callable(make_env):
        raise CustomEnvError(
            f"make_env is {short_repr(make_env)}: give what builds a new environment at every call, a class or a "
            "function such as lambda: MyEnv()"
        )
    try:
        with undoing_changes("the environment"):
            env = make_env()
        if isinstance(env, type):
            name = env.__name__
            raise CustomEnvError(f"the function returned the class {name}: let it return an environment, {name}()")
        if is_played(env):
            gc.collect()  # a world that was dropped without `close` plays no more
            if is_played(env):
                raise CustomEnvError(
                    f"the function that builds {env_name(env)} gives one, or one within its wrappers, that is played "
                    "already: let it build a new environment at every call"
                )
        if is_multi_agent(env):
            return MultiAgent(env)
        return TurnBased(env) if is_turn_based(env) else env
    except CustomEnvError as error:
        raise type(error)(f"{error}{which}") from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise EnvRaisedError(
            f"the environment cannot be built{which} ({described(error)}): correct its arguments, or the environment"
        ) from error
