"""A toy world that uses everything the contract offers, for the tests of the contract, its checks and its views.

`Errands`: N agents on a line of cells carry on with what they decided until it is done (macro actions), tell the others
a composed sentence, can be blown off the line (and are then out of the game), and reach the end together or run out of
time. It must not know about views or learning.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rl_envs.core.spec import Array, Arrays, ArraySpec, TextSpec
from rl_envs.core.world import World

CELLS = 5
SENTENCE = TextSpec(length=4, vocabulary=32, meaning="<agent> <word> <cell>, padded", rows=(2,))


class Errands(World):
    """B lines of N agents.

    Actions: `go` 0 rest one step, 1 one cell ahead, 2 two cells ahead in two steps (a macro action); `say` a word of 5.
    Recorded draws: `gust` [B, N] bool, whether the wind blows this agent off the line (if it stands on cell 1).
    """

    text_spec = {"sentences": SENTENCE}  # noqa: RUF012 (a class attribute by contract)
    action_spec = {"go": 3, "say": 5}  # noqa: RUF012
    recorded_draws = ("gust",)
    metric_names = ("success", "survivors")

    def __init__(self, num_worlds=1, first_world=0, *, num_agents=2, max_episode_steps=9, gusts=0.2):
        self.agents = tuple(f"walker_{i}" for i in range(num_agents))
        self.max_episode_steps = max_episode_steps
        self.observation_spec = {
            "cell": ArraySpec((), "uint8", 0, CELLS - 1, "where the agent stands"),
            "line": ArraySpec((CELLS,), "uint8", 0, num_agents, "agents in each cell"),
            "decides": ArraySpec((), "bool", 0, 1, "chooses an action now"),
            "alive": ArraySpec((), "bool", 0, 1, "is in the game"),
        }
        self._gusts = gusts
        super().__init__(num_worlds, first_world)

    def _draw_bounds(self) -> dict[str, tuple[tuple[int, ...], int, int]]:
        return {"gust": ((self.num_worlds, self.num_agents), 0, 1)}

    def _blank_state(self, num_worlds: int) -> Arrays:
        each = (num_worlds, self.num_agents)
        own = {
            "cell": np.zeros(each, np.uint8),
            "alive": np.ones(each, bool),
            "steps_left": np.zeros(each, np.uint8),
            "since_decision": np.zeros(each, np.int32),
            "word": np.zeros(each, np.uint8),
        }
        return super()._blank_state(num_worlds) | own

    def _needed_state(self) -> set[str]:
        return {"cell"}

    def _begin(self, rows: Array) -> None:
        self.state["cell"][rows] = self.chance.uniforms(self.num_agents, rows) * 2

    def _decides(self) -> Array:
        return self.state["alive"] & (self.state["steps_left"] == 0)

    def _advance(self, actions: Any, recorded: Arrays) -> tuple[Array, Array, Array]:
        state, decided = self.state, self._decides()
        state["since_decision"] = np.where(decided, 1, state["since_decision"] + 1).astype(np.int32)
        state["steps_left"][decided] = actions["go"][decided]
        state["word"][decided] = actions["say"][decided]
        walks = state["alive"] & (state["steps_left"] > 0)
        state["steps_left"][walks] -= 1
        state["cell"] = np.where(walks, np.minimum(state["cell"] + 1, CELLS - 1), state["cell"]).astype(np.uint8)
        gust = recorded["gust"] if "gust" in recorded else self.chance.uniforms(self.num_agents) < self._gusts
        state["alive"] &= ~(gust & (state["cell"] == 1))
        arrived = (state["cell"] == CELLS - 1) | ~state["alive"]
        over = arrived.all(1)
        reward = np.where(state["alive"], walks * 0.5 - 0.1 + over[:, None], 0.0)
        stopped = (state["episode_length"] + 1 >= self.max_episode_steps) & ~over
        return reward, over, stopped

    def _observe(self, rows: Array) -> Arrays:
        cell = self.state["cell"][rows]
        line = (cell[:, :, None] == np.arange(CELLS)).sum(1).astype(np.uint8)
        return {
            "cell": cell.copy(),
            "line": np.repeat(line[:, None], self.num_agents, 1),
            "decides": self._decides()[rows],
            "alive": self.state["alive"][rows],
            "sentences": self._sentences(rows),
        }

    def _sentences(self, rows: Array) -> Array:
        """[K, N, 2] int32: what the agent itself and what its left neighbour said."""
        word, cell = self.state["word"][rows], self.state["cell"][rows]
        speaker = np.broadcast_to(np.arange(self.num_agents), word.shape)
        tokens = np.stack([1 + speaker, 10 + word, 20 + cell, np.zeros_like(word)], -1)
        own = self.texts["sentences"].add(tokens.reshape(-1, SENTENCE.length)).reshape(word.shape)
        return np.stack([own, np.roll(own, 1, axis=1)], -1)

    def _episode_metrics(self, rows: Array) -> Arrays:
        alive = self.state["alive"][rows]
        success = alive.any(1) & ((self.state["cell"][rows] == CELLS - 1) | ~alive).all(1)
        return {"success": success.astype(np.float64), "survivors": alive.sum(1).astype(np.float64)}

    def _duration(self) -> Array:
        return self.state["since_decision"].copy()

    def render(self, index: int = 0) -> Array:
        """One bright square an agent, [8 N, 8 CELLS, 3] uint8."""
        picture = np.zeros((self.num_agents, CELLS, 3), np.uint8)
        picture[np.arange(self.num_agents), self.state["cell"][index]] = 255
        return picture.repeat(8, 0).repeat(8, 1)
