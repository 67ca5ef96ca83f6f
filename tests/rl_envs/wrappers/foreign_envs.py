"""Small PettingZoo and Gymnasium environments, built in code, for the tests of foreign environments as worlds."""

import gymnasium
import numpy as np
from gymnasium import spaces

from tests.rl_envs.wrappers.odd_games import Signal

IMAGE = spaces.Box(0, 255, (6, 5, 3), np.uint8)
WIDE = spaces.Dict(
    {
        "vector": spaces.Box(-2.0, 2.0, (3,), np.float64),
        "image": IMAGE,
        "kind": spaces.Discrete(4, start=1),
        "inner": spaces.Dict({"flags": spaces.MultiBinary(2)}),
        "action_mask": spaces.MultiBinary(4),
    }
)
NARROW = spaces.Dict({"vector": spaces.Box(0.0, 9.0, (5,), np.float32), "note": spaces.Text(24)})


class Unlike(Signal):
    """Two unlike agents: `first` with 4 actions and a mask, `second` with 2 actions, and who leaves after 3 steps."""

    limit = max_cycles = 6

    def __init__(self, render_mode=None):
        actions = {"first": spaces.Discrete(4), "second": spaces.Discrete(2, start=5)}
        super().__init__(
            names=actions, observation={"first": WIDE, "second": NARROW}, action=actions, render_mode=render_mode
        )

    def pay(self, name, action):
        return float(action)

    def step(self, actions):
        seen, rewards, stopped, left, infos = super().step(actions)
        if self.steps == 3:
            self.agents, left["second"] = ["first"], True
        return seen, rewards, left, stopped, infos

    def seen(self):
        wide = {
            "vector": self.random.uniform(-2, 2, 3),
            "image": self.random.integers(0, 255, (6, 5, 3), np.uint8),
            "kind": 1 + self.steps % 4,
            "inner": {"flags": np.array([1, 0], np.int8)},
            "action_mask": np.array([1, 1, self.steps % 2, 0], np.int8),
        }
        # more words than one window of `matching`, which reads all words alike within it
        narrow = {"vector": np.arange(5, dtype=np.float32), "note": f"step {self.steps} of six by now"}
        return {"first": wide, "second": narrow}

    def render(self):
        return np.full((4, 4, 3), self.steps, np.uint8)


class Sudden(Unlike):
    """The first game lasts five steps and every later one a single step, whatever the seed."""

    begun = 0

    def reset(self, seed=None, options=None):
        self.limit = 1 if self.begun else 5
        self.begun += 1
        return super().reset(seed, options)


class Careless(Unlike):
    """Draws from a generator that no seed fixes."""

    def reset(self, seed=None, options=None):
        return super().reset(None, options)


class Sharing(Signal):
    """Its signals are those of the class, so a copy is paid by the signals of the copy that drew last."""

    signals = {}  # noqa: RUF012

    def draw(self):
        self.signals.update({name: int(self.random.integers(3)) for name in self.possible_agents})


class Counter(gymnasium.Env):
    """One agent counts up or down from a number that the seed fixes; terminated at 4 above it."""

    observation_space = spaces.Box(-100, 100, (1,), np.int64)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.first = self.now = int(self.np_random.integers(0, 50))
        return np.array([self.now]), {}

    def step(self, action):
        self.now += 1 if action else -1
        return np.array([self.now]), 1.0, self.now == self.first + 4, False, {}
