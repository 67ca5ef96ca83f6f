"""Custom environments: cost of the checks of what they return, as a share of an env step of mpe2's simple_spread_v3.

`EnvCopies` checks all that 32 environments return and writes it into arrays. To time that alone, it plays environments
that give recorded answers of simple_spread again. The time of a loop that writes the same arrays and checks nothing is
taken off, and the rest is divided by the time of the environment's own `step`. At most 0.05 is wanted.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.harness.clock import timed
from benchmarks.harness.measurements import RATIO, Measurement
from rl_envs.core.spec import Array
from rl_envs.wrappers.custom.checked_env import FULL_EPISODES
from rl_envs.wrappers.custom.copies import EnvCopies
from rl_envs.wrappers.custom.frame import Frame, Turn

COPIES, REPEATS, CYCLES = 32, 15, 25
"""Number of environments, of episodes of each that are timed, and of env steps of an episode."""


class Recorded:
    """An environment that gives the recorded answers of another one."""

    def __init__(self, env: Any, seed: int) -> None:
        self.possible_agents, self.agents = list(env.possible_agents), list(env.possible_agents)
        self.observation_space, self.action_space, self.max_cycles = env.observation_space, env.action_space, CYCLES
        self._begin, draws = env.reset(seed=seed), np.random.default_rng(seed)
        self._answers = [
            env.step({name: int(draws.integers(env.action_space(name).n)) for name in self.agents})
            for _ in range(CYCLES)
        ]

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        """The recorded beginning."""
        self.agents, self._step = list(self.possible_agents), 0
        return self._begin

    def step(self, actions: Any) -> Any:
        """The next recorded answer."""
        self._step += 1
        if self._step == CYCLES:
            self.agents = []
        return self._answers[self._step - 1]


def measure() -> Iterator[Measurement]:
    """The share of the checks, and the times that it is computed from."""
    from mpe2 import simple_spread_v3  # an extra

    bare = [simple_spread_v3.parallel_env(max_cycles=CYCLES) for _ in range(COPIES)]
    checked, unchecked = (
        EnvCopies(functools.partial(_recorded, simple_spread_v3.parallel_env, itertools.count()), COPIES) for _ in "ab"
    )
    rows, draws = np.arange(COPIES), np.random.default_rng(0)
    seconds: list[tuple[float, float, float]] = []
    for episode in range(FULL_EPISODES + REPEATS):
        checked.reset(rows, rows)
        for row, (env, other) in enumerate(zip(bare, unchecked.envs, strict=True)):
            env.reset(seed=row)
            other.env.reset(seed=row)
        for _ in range(CYCLES):
            actions = draws.integers(checked.declaration.actions[0], size=(COPIES, len(checked.declaration.agents)))
            both = timed(checked.step, rows, actions)[1], timed(_unchecked, unchecked, actions)[1]
            alone = timed(_step, bare, checked.declaration.agents, actions.tolist())[1]
            if episode >= FULL_EPISODES:  # the first episodes are checked more closely
                seconds.append((*both, alone))
    border, writing, step = np.median(seconds, axis=0) / COPIES * 1e6
    yield Measurement("foreign.checks.share_of_a_spread_step", float((border - writing) / step), RATIO)
    for name, spent in (("border", border), ("border_without_checks", writing), ("spread", step)):
        yield Measurement(f"foreign.{name}.us_per_env_step", float(spent), "us")


def _recorded(make_env: Any, seeds: Iterator[int]) -> Recorded:
    return Recorded(make_env(max_cycles=CYCLES), next(seeds))


def _unchecked(games: EnvCopies, actions: Array) -> Turn:
    """The same arrays, from what the environments return as it is."""
    layout, names = games.declaration.layout, games.declaration.agents
    legal = np.repeat(games.declaration.own_actions[None], COPIES, axis=0)
    alive, sets = np.zeros((COPIES, len(names)), bool), np.zeros(COPIES, np.int64)
    turn = Turn(
        Frame(layout.blank(COPIES), layout.blank_texts(COPIES), alive, legal, sets),
        np.zeros(alive.shape),
        np.zeros(COPIES, bool),
        np.zeros(COPIES, bool),
    )
    for row, (checked, chosen) in enumerate(zip(games.envs, actions.tolist(), strict=True)):
        env = checked.env
        observations, rewards, terminated, truncated, _ = env.step(dict(zip(names, chosen, strict=True)))
        for agent, name in enumerate(names):
            turn.frame.arrays["observation"][row, agent] = observations[name]
            turn.reward[row, agent] = rewards[name]
            alive[row, agent] = not terminated[name]
        turn.terminated[row], turn.truncated[row] = all(terminated.values()), all(truncated.values())
    return turn


def _step(envs: list[Any], names: tuple[str, ...], actions: list[list[int]]) -> None:
    for env, chosen in zip(envs, actions, strict=True):
        env.step(dict(zip(names, chosen, strict=True)))
