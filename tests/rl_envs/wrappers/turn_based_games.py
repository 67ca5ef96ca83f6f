"""Turn-based environments of tests: a relay whose rules are known, and tic-tac-toe of PettingZoo."""

import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv

from rl_envs.wrappers.custom.build import named_env


class Relay(AECEnv):
    """Three agents in turn name a number that they all see and earn 1 each if it is right; `third` leaves at once."""

    metadata = {"name": "relay", "is_parallelizable": False}  # noqa: RUF012

    def __init__(self, max_cycles=4, leaves=True):
        self.possible_agents = ["first", "second", "third"]
        self.max_cycles, self.leaves = max_cycles, leaves

    def observation_space(self, agent):
        return spaces.Box(0, 1, (3,), np.float32)

    def action_space(self, agent):
        return spaces.Discrete(3)

    def reset(self, seed=None, options=None):
        self.random = np.random.default_rng(seed)
        self.agents, self.moves = list(self.possible_agents), 0
        self.rewards = self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations, self.truncations = dict.fromkeys(self.agents, False), dict.fromkeys(self.agents, False)
        self.infos = {name: {} for name in self.agents}
        self.agent_selection, self.shown = "first", int(self.random.integers(3))

    def observe(self, agent):
        return np.eye(3, dtype=np.float32)[self.shown]

    def step(self, action):
        name = self.agent_selection
        if self.terminations[name] or self.truncations[name]:
            self._was_dead_step(action)
            return
        self.moves += 1
        self.rewards = dict.fromkeys(self.agents, float(action == self.shown))
        self.shown = int(self.random.integers(3))
        following = self.agents[(self.agents.index(name) + 1) % len(self.agents)]
        self.terminations[name] = self.leaves and name == "third"
        if self.moves == 3 * self.max_cycles:
            self.truncations = dict.fromkeys(self.agents, True)
        self.agent_selection = following
        self._deads_step_first()


TICTACTOE = named_env("pettingzoo.classic.tictactoe_v3")
