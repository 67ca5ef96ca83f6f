"""The vector observation: positions of everything in sight, chops, and the order (TWOSOME's vector).

Row and column are 0 for everything out of sight; that cell is a corner, which no thing and no agent can be in. This
file must not know about rules or text.
"""

from __future__ import annotations

import numpy as np

from rl_envs.core.spec import Array, Arrays, ArraySpec
from rl_envs.salad.kitchen import Kitchen
from rl_envs.salad.sight import visible_things
from rl_envs.salad.symbols import CELLS, CHOPS, NOTHING, NUM_BOARDS, NUM_FOODS, NUM_PLATES, RECIPES, SIDE

_PLACES = np.stack(np.divmod(np.arange(CELLS), SIDE), axis=1).astype(np.uint8)
_FOODS_END = 3 * NUM_FOODS
_PLACES_END = _FOODS_END + 2 * (NUM_PLATES + NUM_BOARDS + 1 + 2)
LENGTH = _PLACES_END + len(RECIPES)
SPEC = ArraySpec((LENGTH,), "uint8", 0, SIDE - 1, "three foods (row, column, chops), then rows and columns, the order")
_LARGEST = [SIDE - 1, SIDE - 1, CHOPS] * NUM_FOODS + [SIDE - 1] * (_PLACES_END - _FOODS_END) + [1] * len(RECIPES)
SCALE = np.array(_LARGEST, np.float32)
"""[30] float32, largest value of each number; a vector divided by it lies in 0 .. 1."""


class Observer:
    """Computes the vector observations of one kitchen."""

    def __init__(self, kitchen: Kitchen) -> None:
        self._kitchen = kitchen
        self._fixed = np.append(kitchen.boards, kitchen.delivery)

    def observe(self, state: Arrays, knows: Array, rows: Array) -> Array:
        """Vector observations of the agents of some worlds.

        Args:
            state: state of all worlds.
            knows: [K, N] bool, agents that know the order.
            rows: [K] indices of worlds.

        Returns:
            [K, N, 30] uint8: foods, plates, boards, delivery, the agent, the other agent, one number for each recipe.
        """
        kitchen, at = self._kitchen, state["agent_cells"][rows]
        seen = visible_things(kitchen, state, rows)
        things = np.where(seen, state["thing_cells"][rows][:, None], 0)
        fixed = np.where(kitchen.in_sight[at[..., None], self._fixed] & (self._fixed != NOTHING), self._fixed, 0)
        other = np.where(kitchen.in_sight[at, at[:, ::-1]], at[:, ::-1], 0)
        places = _PLACES[np.concatenate([things, fixed, at[..., None], other[..., None]], axis=2)]
        vector = np.zeros((*at.shape, LENGTH), np.uint8)
        foods = vector[..., :_FOODS_END].reshape(*at.shape, NUM_FOODS, 3)
        foods[..., :2] = places[:, :, :NUM_FOODS]
        foods[..., 2] = state["chops"][rows][:, None] * seen[..., :NUM_FOODS]
        vector[..., :_FOODS_END] = foods.reshape(*at.shape, -1)
        vector[..., _FOODS_END:_PLACES_END] = places[:, :, NUM_FOODS:].reshape(*at.shape, -1)
        order = state["recipe"][rows][:, None, None] == np.arange(len(RECIPES))
        vector[..., _PLACES_END:] = order & knows[..., None]
        return vector
