"""Custom environments: CPU time of their world's env step, as a multiple of the environments' own time.

Own time is a loop over the same number of copies that resets and steps them with random legal actions and does nothing
else. Both take turns in one process, after the first episodes, which are checked more closely. In a turn-based game an
env step is one move, and the loop observes only the agent that moves. At most 1.3 is wanted with 16 copies.
"""

import functools
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import psutil
from gymnasium import spaces

from benchmarks.harness.clock import median, median_ratio, timed
from benchmarks.harness.measurements import RATIO, Measurement
from rl_envs.core.world import World
from rl_envs.wrappers.custom.build import from_pettingzoo
from rl_envs.wrappers.custom.checked_env import FULL_EPISODES
from rl_envs.wrappers.custom.declaration import MakeEnv

COPIES, REPEATS, PROCESSES = 16, 5, 2
"""Number of environments, of pairs of timings, and of worker processes where there are some."""


class Walkers:
    """Two agents who walk on a line towards each other for 25 env steps: about the cheapest environment in Python."""

    def __init__(self) -> None:
        self.possible_agents, self.agents = ["left", "right"], ["left", "right"]
        self.max_cycles = 25

    def observation_space(self, agent: str) -> spaces.Space:
        """Own place, the other's place, and time."""
        return spaces.Box(-30.0, 30.0, (3,), np.float32)

    def action_space(self, agent: str) -> spaces.Space:
        """Left, stay, right."""
        return spaces.Discrete(3)

    def reset(self, seed: int | None = None, options: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        """Both agents at their ends."""
        self.agents, self._places, self._time = list(self.possible_agents), [-4, 4], 0
        return self._observations(), {"left": {}, "right": {}}

    def step(self, actions: dict[str, int]) -> tuple[dict[str, Any], ...]:
        """Move both by one place at most."""
        self._places = [place + actions[name] - 1 for place, name in zip(self._places, self.agents, strict=True)]
        self._time += 1
        over, reward = self._time == self.max_cycles, -float(abs(self._places[0] - self._places[1]))
        observations, rewards = self._observations(), {"left": reward, "right": reward}
        infos: dict[str, dict[str, Any]] = {"left": {}, "right": {}}
        if over:
            self.agents = []
        return observations, rewards, {"left": False, "right": False}, {"left": over, "right": over}, infos

    def _observations(self) -> dict[str, Any]:
        left, right = self._places
        ends = (("left", left, right), ("right", right, left))
        return {name: np.array([own, other, self._time], np.float32) for name, own, other in ends}


@dataclass(frozen=True)
class Case:
    """A measured environment: its name, how to build it, env steps of an episode at most, and of one timing."""

    name: str
    make_env: MakeEnv
    episode: int
    steps: int


def cases() -> list[Case]:
    """Environments from cheap to slow, the last ones turn-based; mpe2 and pygame are of the extra `envs`."""
    from mpe2 import simple_spread_v3
    from pettingzoo.butterfly import cooperative_pong_v6, knights_archers_zombies_v11
    from pettingzoo.classic import connect_four_v3, tictactoe_v3

    return [
        Case("walkers", Walkers, 25, 100),
        Case("spread", functools.partial(simple_spread_v3.parallel_env, max_cycles=25), 25, 25),
        Case("knights", functools.partial(knights_archers_zombies_v11.parallel_env, max_cycles=25), 25, 25),
        Case("pong", functools.partial(cooperative_pong_v6.parallel_env, max_cycles=5, render_mode="rgb_array"), 5, 5),
        Case("tictactoe", tictactoe_v3.env, 9, 50),
        Case("connect_four", connect_four_v3.env, 42, 50),
    ]


class Loop:
    """The environments in a plain loop."""

    def __init__(self, make_env: MakeEnv) -> None:
        self.envs = [make_env() for _ in range(COPIES)]
        self.is_turn_based = hasattr(self.envs[0], "agent_iter")
        self._random = random.Random(0)
        for row, env in enumerate(self.envs):
            env.reset(seed=row)

    def play(self, steps: int) -> None:
        """Step all copies."""
        if self.is_turn_based:
            self._move(steps)
            return
        counts = [int(self.envs[0].action_space(name).n) for name in self.envs[0].possible_agents]
        for joint in np.random.default_rng(0).integers(counts, size=(steps, COPIES, len(counts))).tolist():
            for env, chosen in zip(self.envs, joint, strict=True):
                env.step(dict(zip(env.possible_agents, chosen, strict=True)))
                if not env.agents:
                    env.reset()

    def _move(self, steps: int) -> None:
        for _ in range(steps):
            for env in self.envs:
                observation, _, terminated, truncated, _ = env.last()
                if terminated or truncated:
                    env.reset()
                    observation = env.observe(env.agent_selection)
                env.step(self._random.choice(np.flatnonzero(observation["action_mask"])))


class WrappedLoop:
    """The same environments as a world of Concord, in this process or in others."""

    def __init__(self, case: Case, processes: int = 0) -> None:
        self.world: World = from_pettingzoo(case.make_env, COPIES, num_processes=processes)
        self.clocks = [_clock(child.pid) for child in psutil.Process().children()] if processes else []
        self._draws = np.random.default_rng(0)
        self._observations = self.world.reset(0)
        self.play(case.episode * FULL_EPISODES)

    def play(self, steps: int) -> None:
        """Step the world."""
        shape = (COPIES, self.world.num_agents)
        if "legal" not in self._observations:
            for joint in self._draws.integers(cast(int, self.world.action_spec), size=(steps, *shape)):
                self.world.step(joint)
            return
        for _ in range(steps):
            legal = self._observations["legal"]
            actions = (self._draws.random(legal.shape, np.float32) * legal).argmax(-1)
            self._observations = self.world.step(actions)[0]

    def seconds(self, steps: int) -> float:
        """CPU seconds of these env steps, those of worker processes included."""
        before = sum(time.clock_gettime(clock) for clock in self.clocks)
        own = timed(self.play, steps)[1]
        return own + sum(time.clock_gettime(clock) for clock in self.clocks) - before


def measure() -> Iterator[Measurement]:
    """The multiple of each environment's own time, in this process and with worker processes."""
    for case in cases():
        loop = Loop(case.make_env)
        loop.play(case.episode)
        for name, processes in ((case.name, 0), (f"{case.name}.env_processes", PROCESSES)):
            border = WrappedLoop(case, processes)
            try:
                pairs = [(border.seconds(case.steps), timed(loop.play, case.steps)[1]) for _ in range(REPEATS)]
            finally:
                border.world.close()
            ours, own = zip(*pairs, strict=True)
            yield Measurement(f"foreign.{name}.multiple_of_own_time", median_ratio(ours, own), RATIO)
            yield Measurement(f"foreign.{name}.us_per_env_step", median(ours) / COPIES / case.steps * 1e6, "us")
        yield Measurement(f"foreign.{case.name}.own_us_per_env_step", median(own) / COPIES / case.steps * 1e6, "us")


def _clock(pid: int) -> int:
    """The CPU clock of another process (Linux), for `time.clock_gettime`."""
    return (~pid << 3) | 2
