"""Replay of salad recordings: all episodes of a file side by side, one world each, through the world's public API."""

from types import SimpleNamespace

import numpy as np

from rl_envs.salad.symbols import NOTHING, SIDE, STAY
from rl_envs.salad.world import Salad

SHOWN = np.array([3, 4, 8, 5, 5], np.uint8)
"""The recordings' numbers for a counter on which the tomato, the lettuce, the onion or a plate lies."""


class Replay:
    """One file, played under the rules that it was recorded with, or under ours (`is_strict`)."""

    def __init__(self, path, is_strict=False):
        self.data = dict(np.load(path, allow_pickle=False))
        self.is_strict = is_strict
        self.lengths = self.data["length"].astype(int)
        count = len(self.lengths)
        flags = {
            "swap": bool(self.data["rule_swap_allowed"]),
            "collision_reward": float(self.data["rule_collision_penalty"]),
            "restore_rule": str(self.data["rule_restore"]),
            "rechop_pays": bool(self.data["rule_rechop_pays"]),
        }
        recipe = int((self.data["recipe"] << np.arange(3)).sum()) - 1
        self.world = Salad(
            count,
            actions="primitive",
            drawing=[str(row).upper() for row in self.data["layout"]],
            recipes=["-".join(sorted(np.array(["tomato", "lettuce", "onion"])[self.data["recipe"]].tolist()))],
            sight=int(self.data["sight_radius"]),
            max_episode_steps=int(self.data["horizon"]),
            **({} if is_strict else flags),
        )
        self.world.auto_resets = False
        self.fixtures = self.world.kitchen.fixtures
        self.obs = self.world.restore(
            {
                "agent_cells": self.cells("agent", 0),
                "held": self.recorded("held", 0),
                "thing_cells": self.cells("item", 0),
                "chops": np.maximum(self.recorded("chops", 0), 0),
                "in_plate": self.recorded("in_plate", 0),
                "recipe": np.full(count, recipe),
            }
        )

    def recorded(self, name, time, rows=slice(None)):
        return self.data[name][rows, time].astype(int)

    def cells(self, name, time, rows=slice(None)):
        row, column = np.moveaxis(self.recorded(name, time, rows), -1, 0)
        return np.where(row == NOTHING, NOTHING, row * SIDE + column)

    def until(self):
        """Steps of each episode that can be compared: under our rules those before a swap or an overlap."""
        if not self.is_strict:
            return self.lengths
        first = np.stack([self.data[name] for name in ("first_swap", "first_overlap")]).astype(int)
        return np.minimum(self.lengths, np.where(first < 0, self.lengths, first).min(0))

    def steps(self):
        """Yield for each time the rows that can be compared, the time, the state after the step and what it brought."""
        until = self.until()
        for time in range(until.max()):
            rows = np.flatnonzero(until > time)
            actions = self.recorded("actions", time)
            before = {name: value.copy() for name, value in self.world.state.items()}
            _, reward, terminated, truncated, _ = self.world.step(np.where(actions < 0, STAY, actions))
            yield SimpleNamespace(
                rows=rows, time=time, before=before, after={k: v[rows] for k, v in self.world.state.items()},
                reward=reward[rows], terminated=terminated[rows], truncated=truncated[rows],
            )  # fmt: skip

    def surface(self, state):
        """What each cell shows, in the recordings' numbers; floor is 0."""
        lying = state["lying"]
        is_open = (lying != NOTHING) & (self.fixtures == 1)
        return np.where(is_open, SHOWN[lying], self.fixtures).reshape(-1, SIDE, SIDE)

    def on_boards(self, state):
        boards = self.world.kitchen.boards
        return np.where(boards == NOTHING, NOTHING, state["lying"][:, boards])
