"""Foreign environments: what the border to them costs, as a share of an env step of mpe2's simple_spread_v3.

`Games` checks all that 32 environments return and writes it into arrays. To time that alone, it plays environments that
give recorded answers of simple_spread again; the time is divided by that of the environment's own `step`. At most 0.05
is wanted, the writing included.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.harness.clock import median, timed
from benchmarks.harness.measurements import RATIO, Measurement
from rl_envs.wrappers.foreign_border import FULL_EPISODES
from rl_envs.wrappers.foreign_games import Games

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
    """The share of the border, and the env step that it is a share of."""
    from mpe2 import simple_spread_v3  # an extra

    seeds = iter(range(COPIES))
    bare = [simple_spread_v3.parallel_env(max_cycles=CYCLES) for _ in range(COPIES)]
    games = Games(lambda: Recorded(simple_spread_v3.parallel_env(max_cycles=CYCLES), next(seeds)), COPIES)
    names, rows, draws = games.declaration.agents, np.arange(COPIES), np.random.default_rng(0)
    border, alone = [], []
    for episode in range(FULL_EPISODES + REPEATS):
        games.reset(rows, rows)
        for row, env in enumerate(bare):
            env.reset(seed=row)
        for _ in range(CYCLES):
            actions = draws.integers(games.declaration.actions[0], size=(COPIES, len(names)))
            checked, own = timed(games.step, rows, actions)[1], timed(_step, bare, names, actions.tolist())[1]
            if episode >= FULL_EPISODES:  # the first episodes are checked more closely
                border.append(checked)
                alone.append(own)
    yield Measurement("foreign.border.share_of_a_spread_step", median(border) / median(alone), RATIO)
    yield Measurement("foreign.border.us_per_env_step", median(border) / COPIES * 1e6, "us")
    yield Measurement("foreign.spread.us_per_env_step", median(alone) / COPIES * 1e6, "us")


def _step(envs: list[Any], names: tuple[str, ...], actions: list[list[int]]) -> None:
    for env, chosen in zip(envs, actions, strict=True):
        env.step(dict(zip(names, chosen, strict=True)))
