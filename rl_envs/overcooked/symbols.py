"""The kitchen as a grid of named symbols, for policies that get the meaning of each symbol from a text (SAMA).

Three layers: the fixture of a cell, the thing on or in it, and the chef there with the thing in its hand. This file
must not know any rule.
"""

from __future__ import annotations

import numpy as np

from rl_envs.core.spec import Array, Arrays, ArraySpec
from rl_envs.overcooked.kitchen import Kitchen
from rl_envs.overcooked.words import (
    DISH,
    DISH_STORE,
    FULL,
    HATCH,
    NOTHING,
    NUM_CONTENTS,
    ONION,
    ONION_STORE,
    POT,
    READY,
    SOUP,
    THINGS,
)

SYMBOLS = (
    "nothing",
    "counter",
    "onion store",
    "dish store",
    "hatch",
    "pot",
    "onion",
    "dish",
    "soup",
    "one onion in a pot",
    "two onions in a pot",
    "soup that cooks",
    "soup that is done",
    *(f"{chef} with {thing}" for chef in ("oneself", "the other chef") for thing in THINGS),
)
"""Symbol 0 is an empty cell in any layer; the floor has no symbol."""
LAYERS = 3
_PLACES = {NOTHING: "counter", ONION_STORE: "onion store", DISH_STORE: "dish store", HATCH: "hatch", POT: "pot"}
_LOADS = {ONION: "onion", DISH: "dish", SOUP: "soup", POT + 1: "one onion in a pot", POT + 2: "two onions in a pot"}
_LOADS |= dict.fromkeys(range(FULL, READY), "soup that cooks") | {READY: "soup that is done"}
_ONESELF = SYMBOLS.index("oneself with nothing")
_AGENTS = 2


class SymbolGrid:
    """Computes the symbol observation of B kitchens for both chefs."""

    def __init__(self, kitchen: Kitchen) -> None:
        """Look up the symbols of fixtures."""
        shape = (LAYERS, kitchen.height, kitchen.width)
        self.spec = ArraySpec(shape, "uint8", 0, len(SYMBOLS) - 1, "place, load and chef in each cell, as symbols")
        self._places = _table(_PLACES)[kitchen.contents]
        self._loads = _table(_LOADS)

    def observe(self, state: Arrays, chef_cells: Array) -> Array:
        """Symbol observations of both chefs, [K, 2, 3, H, W] uint8.

        Args:
            state: state of K worlds.
            chef_cells: [K, 2] int, cells in which the chefs appear; of two in one cell chef 1 is shown.
        """
        worlds, cells = state["contents"].shape
        grid = np.zeros((worlds, _AGENTS, LAYERS, cells), np.uint8)
        grid[:, :, 0] = self._places
        grid[:, :, 1] = self._loads[state["contents"]][:, None]
        rows = np.arange(worlds)
        for chef in range(_AGENTS):
            for viewer in range(_AGENTS):
                symbol = _ONESELF + len(THINGS) * (chef != viewer) + state["held"][:, chef]
                grid[rows, viewer, 2, chef_cells[:, chef]] = symbol
        return grid.reshape(worlds, _AGENTS, *self.spec.shape)


def _table(names: dict[int, str]) -> Array:
    """Symbol of each contents, [NUM_CONTENTS] uint8."""
    symbols = np.zeros(NUM_CONTENTS, np.uint8)
    for contents, name in names.items():
        symbols[contents] = SYMBOLS.index(name)
    return symbols
