"""SAMA's actions over the unchanged rules: an action is a cell to go to (SAMA, experiments in Overcooked).

To go to an object means to use it: the chef turns to it if necessary, then interacts, and each of these is an env step.
The chef itself stays on its floor cell. With reach "adjacent" it can choose its own cell and the four neighbours. With
"any" it can choose every reachable cell and walks a shortest path, which it computes at every step. It chooses again
when it has arrived, when it is blocked, or after `max_steps`. The paper does not give the number of steps of one
relocation.
"""

import numpy as np

from rl_envs.core.array_library import NUMPY, ArrayLibrary
from rl_envs.core.spec import Array, Arrays
from rl_envs.overcooked.kitchen import Kitchen
from rl_envs.overcooked.words import INTERACT, STAY

REACHES = ("adjacent", "any")
NO_TARGET = -1


class Relocation:
    """Translates chosen cells into actions of the game, for B kitchens.

    Row c of `legal` [H * W, H * W] bool has the cells that a chef in cell c can choose.
    """

    def __init__(self, kitchen: Kitchen, reach: str, max_steps: int, xp: ArrayLibrary = NUMPY) -> None:
        """Compute the tables of a kitchen and a reach; a chef chooses again after `max_steps` env steps."""
        self._xp, self._cells, self._max_steps = xp, kitchen.size, max_steps
        self._front, self._is_floor = xp.asarray(kitchen.front), xp.asarray(kitchen.is_floor)
        at_once = kitchen.neighbours | np.eye(kitchen.size, dtype=bool)
        legal = at_once if reach == "adjacent" else kitchen.distances < kitchen.size
        self.legal = xp.asarray(legal)
        self._towards = xp.asarray(np.where(legal, _first_steps(kitchen), STAY).ravel())

    def blank(self, shape: tuple[int, int]) -> Arrays:
        """State of chefs that choose next: `targets` [B, 2] int64, and env steps `since` [B, 2] the last choice."""
        xp = self._xp
        return {"targets": xp.zeros(shape, dtype=xp.int64) + NO_TARGET, "since": xp.zeros(shape, dtype=xp.int32)}

    def decides(self, state: Arrays) -> Array:
        """Chefs without a target, [B, 2] bool, in a state [B, ...]."""
        return state["targets"] == NO_TARGET

    def actions(self, state: Arrays, chosen: Array) -> Array:
        """Actions [B, 2] of this step; chefs without a target take the chosen cell [B, 2].

        The state [B, ...] has their targets, which are changed in place.
        """
        decides = self.decides(state)
        self._xp.copyto(state["targets"], chosen, where=decides)
        self._xp.copyto(state["since"], 0, where=decides)
        state["since"] += 1
        cells, targets = state["agent_cells"], state["targets"]
        uses = self._is_at_hand(state)
        return self._xp.where(uses, INTERACT, self._towards.take(cells * self._cells + targets))

    def settle(self, state: Arrays, actions: Array, cells_before: Array) -> None:
        """Clear the targets of chefs that have arrived, were blocked or used `max_steps`, in the state [B, ...].

        `actions` [B, 2] are those of the step and `cells_before` [B, 2] the chefs' cells before it.
        """
        cells, targets = state["agent_cells"], state["targets"]
        goes_on = (cells != cells_before) & (cells != targets) | self._is_at_hand(state)
        goes_on &= (actions < STAY) & (state["since"] < self._max_steps)
        self._xp.copyto(targets, NO_TARGET, where=~goes_on)

    def appearance(self, state: Arrays) -> Array:
        """Cells [B, 2] int64 in which chefs appear in a state [B, ...]: of the object used next, else their own."""
        return self._xp.where(self._is_at_hand(state), state["targets"], state["agent_cells"])

    def _is_at_hand(self, state: Arrays) -> Array:
        """Whether the target is an object that the chef faces, [B, 2] bool."""
        targets = state["targets"]
        faced = self._front.take(state["agent_cells"] * STAY + state["headings"])
        return (faced == targets) & ~self._is_floor.take(targets) & (targets != NO_TARGET)


def _first_steps(kitchen: Kitchen) -> Array:
    """First action on a shortest path from a cell to another, [H * W, H * W] int64; stay without a path."""
    fronts = kitchen.front.reshape(-1, STAY)
    onwards = np.where(kitchen.is_floor[fronts][..., None], kitchen.distances[fronts], kitchen.size)
    onwards[fronts[..., None] == np.arange(kitchen.size)] = 0
    way = onwards.argmin(1)
    here = np.eye(kitchen.size, dtype=bool) | ~kitchen.is_floor[:, None]
    return np.where(here | (onwards.min(1) >= kitchen.size), STAY, way)
