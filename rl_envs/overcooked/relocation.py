"""SAMA's actions over the unchanged rules: name the cell where you want to be (SAMA, experiments in Overcooked).

To be where an object is means to use it: the chef turns to it if need be, then interacts, and each of the two is an env
step like any other. The body stays on its floor cell. With reach "adjacent" one's own cell and its four neighbours can
be chosen. With "any" every reachable cell can be, and the chef walks a shortest way, which it finds anew at every step;
it stops and chooses again when it has arrived, when it is blocked, or after `max_steps`. The paper does not say how
many steps one relocation takes. This file must not know what an interaction does.
"""

from __future__ import annotations

import numpy as np

from rl_envs.core.spec import Array, Arrays
from rl_envs.overcooked.kitchen import Kitchen
from rl_envs.overcooked.words import INTERACT, STAY

REACHES = ("adjacent", "any")
NO_TARGET = -1


class Relocation:
    """Turns chosen cells into actions of the game, for B kitchens.

    Attributes:
        legal: [H * W, H * W] bool, cells that can be chosen in each cell.
    """

    def __init__(self, kitchen: Kitchen, reach: str, max_steps: int) -> None:
        """Make the tables.

        Args:
            kitchen: the layout.
            reach: "adjacent" or "any".
            max_steps: env steps after which a chef chooses anew.
        """
        self._front, self._is_floor, self._cells = kitchen.front, kitchen.is_floor, kitchen.size
        self._max_steps = max_steps
        at_once = kitchen.neighbours | np.eye(kitchen.size, dtype=bool)
        self.legal = at_once if reach == "adjacent" else kitchen.distances < kitchen.size
        self._towards = np.where(self.legal, _first_steps(kitchen), STAY).ravel()

    def blank(self, shape: tuple[int, int]) -> Arrays:
        """State of chefs who are to choose: `targets`, and env steps `since` the last choice."""
        return {"targets": np.full(shape, NO_TARGET), "since": np.zeros(shape, np.int32)}

    def decides(self, state: Arrays) -> Array:
        """[B, 2] bool, who has no target."""
        return np.asarray(state["targets"] == NO_TARGET)

    def actions(self, state: Arrays, chosen: Array) -> Array:
        """Actions of the game in this step; chefs without a target take the one they chose.

        Args:
            state: of the world; targets are changed in place.
            chosen: [B, 2] int, cells; read where a chef decides.

        Returns:
            [B, 2] int64.
        """
        decides = self.decides(state)
        np.copyto(state["targets"], chosen, where=decides)
        np.copyto(state["since"], 0, where=decides)
        state["since"] += 1
        cells, targets = state["agent_cells"], state["targets"]
        uses = self._is_at_hand(state)
        return np.where(uses, INTERACT, self._towards.take(cells * self._cells + targets))

    def settle(self, state: Arrays, actions: Array, cells_before: Array) -> None:
        """Take the target from whoever has arrived, was blocked or has been under way for long enough."""
        cells, targets = state["agent_cells"], state["targets"]
        goes_on = (cells != cells_before) & (cells != targets) | self._is_at_hand(state)
        goes_on &= (actions < STAY) & (state["since"] < self._max_steps)
        targets[~goes_on] = NO_TARGET

    def appearance(self, state: Arrays) -> Array:
        """[B, 2] int64, cells where chefs show: at the object that they are about to use, else where they stand."""
        return np.where(self._is_at_hand(state), state["targets"], state["agent_cells"])

    def _is_at_hand(self, state: Arrays) -> Array:
        """[B, 2] bool, whether the target is an object that the chef faces."""
        targets = state["targets"]
        faced = self._front.take(state["agent_cells"] * STAY + state["headings"])
        return (faced == targets) & ~self._is_floor.take(targets) & (targets != NO_TARGET)


def _first_steps(kitchen: Kitchen) -> Array:
    """[H * W, H * W] int64, first action on a shortest way from a cell to another; stay where there is none."""
    fronts = kitchen.front.reshape(-1, STAY)
    onwards = np.where(kitchen.is_floor[fronts][..., None], kitchen.distances[fronts], kitchen.size)
    onwards[fronts[..., None] == np.arange(kitchen.size)] = 0
    way = onwards.argmin(1)
    here = np.eye(kitchen.size, dtype=bool) | ~kitchen.is_floor[:, None]
    return np.where(here | (onwards.min(1) >= kitchen.size), STAY, way)
