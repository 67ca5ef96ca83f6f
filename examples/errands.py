"""A game of texts with lists of legal actions, as a PettingZoo environment: two agents run errands.

An agent sees `note`, such as "The cook wants bread.", and `action_texts`: the names of its actions in this step, such
as ("bring the lamp", "bring the bread", ""). The order is random, and an action named "" is illegal. The
right thing pays 1, another one 0. Three errands are an episode. One of two or three things is wanted, each number in
half of all cases: agents that ignore the text earn 5/12 an errand, 2.5 an episode together; agents that read earn 6.

    concord train --env examples.errands:parallel_env --methods lora lora_blind
"""

from __future__ import annotations

import string
from typing import Any

import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv

THINGS = ("bread", "salt", "lamp", "rope")
PEOPLE = ("cook", "smith", "miller")
PLACES, NOTE, PHRASE = 3, 40, 20
CHARACTERS = string.ascii_letters + " ."


class Errands(ParallelEnv):
    """Notes and things; see above."""

    metadata: dict[str, Any] = {"name": "errands"}

    def __init__(self, max_cycles: int = 3) -> None:
        """Prepare the game with this many errands an episode."""
        self.possible_agents = ["first", "second"]
        self.agents: list[str] = []
        self.max_cycles = max_cycles
        phrases = spaces.Tuple([spaces.Text(PHRASE, min_length=0, charset=CHARACTERS)] * PLACES)
        seen = spaces.Dict({"note": spaces.Text(NOTE, charset=CHARACTERS), "action_texts": phrases})
        self.observation_spaces = dict.fromkeys(self.possible_agents, seen)
        self.action_spaces: dict[str, Any] = dict.fromkeys(self.possible_agents, spaces.Discrete(PLACES))

    def observation_space(self, agent: str) -> spaces.Dict:
        """The note, and the names of the actions."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Discrete:
        """Index in the list."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin an episode."""
        self.random = np.random.default_rng(seed)
        self.agents, self.errands = list(self.possible_agents), 0
        return self._next(), {name: {} for name in self.agents}

    def step(self, actions: dict[str, int]) -> tuple[dict[str, Any], ...]:
        """Bring something."""
        before, self.errands = self.agents, self.errands + 1
        rewards = {name: float(self.offered[name][actions[name]] == self.wanted[name]) for name in before}
        over = dict.fromkeys(before, self.errands == self.max_cycles)
        self.agents = [] if self.errands == self.max_cycles else before
        return self._next(), rewards, over, dict.fromkeys(before, False), {name: {} for name in before}

    def _next(self) -> dict[str, Any]:
        """Draw the next errand of each agent."""
        self.offered, self.wanted, seen = {}, {}, {}
        for name in self.possible_agents:
            things: list[str] = self.random.permutation(THINGS)[: self.random.integers(2, PLACES + 1)].tolist()
            self.wanted[name] = things[self.random.integers(len(things))]
            self.offered[name] = self.random.permutation(things + [""] * (PLACES - len(things))).tolist()
            phrases = tuple(thing and f"bring the {thing}" for thing in self.offered[name])
            note = f"The {PEOPLE[self.random.integers(len(PEOPLE))]} wants {self.wanted[name]}."
            seen[name] = {"note": note, "action_texts": phrases}
        return seen


parallel_env = Errands
