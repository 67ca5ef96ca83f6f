"""Observations of Overcooked's chefs: 26 lossless planes, or a grid of named symbols.

Most of the planes never change. So a kitchen's constant planes are copied, and the few cells with a chef, a thing or a
pot are written into them, by one look-up of positions and values each.

The symbols are for policies that get the meaning of each from a text (SAMA). Three layers: the fixture of a cell, the
thing on or in it, and the chef there with the thing in its hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from rl_envs.core.spec import Array, Arrays, ArraySpec
from rl_envs.overcooked.kitchen import Kitchen
from rl_envs.overcooked.words import (
    COOK_STEPS,
    DISH,
    DISH_STORE,
    FULL,
    HATCH,
    HEADINGS,
    NOTHING,
    NUM_CONTENTS,
    ONION,
    ONION_STORE,
    POT,
    POT_ONIONS,
    READY,
    SOUP,
    THINGS,
)

PLANES = (
    "own cell",
    "other's cell",
    *(f"own facing {heading}" for heading in HEADINGS),
    *(f"other's facing {heading}" for heading in HEADINGS),
    "pots",
    "counters",
    "onion stores",
    "tomato stores",
    "dish stores",
    "hatches",
    "onions in a pot that does not cook",
    "tomatoes in a pot that does not cook",
    "onions in a soup",
    "tomatoes in a soup",
    "cook time left",
    "soup is done",
    "dishes",
    "onions",
    "tomatoes",
    "few steps left",
)
"""Names of the planes; those of tomatoes are empty, because these kitchens have none."""
FEW_STEPS = 40
_OWN_FACING, _RAW, _IN_SOUP, _TIME_LEFT, _DONE, _DISHES, _ONIONS, _HURRY = 2, 16, 18, 20, 21, 22, 23, 25
_STILL_PLANES = {POT: 10, NOTHING: 11, ONION_STORE: 12, DISH_STORE: 14, HATCH: 15}
_AGENTS = 2

Mark: TypeAlias = tuple[int, int]
"""A plane and the value that is written into it."""
_THING_MARKS: dict[int, tuple[Mark, Mark]] = {
    NOTHING: ((_IN_SOUP, 0), (_IN_SOUP, 0)),
    ONION: ((_ONIONS, 1), (_ONIONS, 1)),
    DISH: ((_DISHES, 1), (_DISHES, 1)),
    SOUP: ((_IN_SOUP, POT_ONIONS), (_DONE, 1)),
}
"""Marks of things that lie or are held; a thing with one mark repeats it, so that all have two."""


def _pot_marks(contents: int) -> tuple[Mark, Mark]:
    if contents < FULL:
        return ((_RAW, contents - POT),) * 2
    if contents == READY:
        return (_IN_SOUP, POT_ONIONS), (_DONE, 1)
    return (_IN_SOUP, POT_ONIONS), (_TIME_LEFT, READY - contents)


def _chef_marks(is_other: bool, heading: int, held: int) -> tuple[Mark, ...]:
    """Marks of a chef in its own planes or in the other's."""
    facing = _OWN_FACING + len(HEADINGS) * is_other + heading
    return (int(is_other), 1), (facing, 1), *_THING_MARKS[held]


class Stamps(NamedTuple):
    """Values to write into the planes of both chefs for each state of an object, relative to a cell of plane 0."""

    places: Array  # [S, K] int64, offsets in bytes
    values: Array  # [S, K] uint8, values to write

    @classmethod
    def of(cls, states: Sequence[Sequence[Sequence[Mark]]], cells: int) -> Stamps:
        """Stamps from marks by state and viewer; `cells` is the number of cells of a plane."""
        marks = np.array([[mark for marks in viewers for mark in marks] for viewers in states])
        viewer = np.repeat(np.arange(_AGENTS), marks.shape[1] // _AGENTS)
        return cls((viewer * len(PLANES) + marks[..., 0]) * cells, marks[..., 1].astype(np.uint8))


class Lossless:
    """Computes the lossless observation of B kitchens for both chefs."""

    def __init__(self, kitchen: Kitchen, num_worlds: int, max_episode_steps: int) -> None:
        """Compute the constant planes, and the stamps of everything else."""
        self._shape = (_AGENTS, len(PLANES), kitchen.height, kitchen.width)
        self.spec = ArraySpec(self._shape[1:], "uint8", 0, COOK_STEPS, "what there is in each cell, own planes first")
        self._hurry_from = max_episode_steps - FEW_STEPS
        still = np.zeros((len(PLANES), kitchen.size), np.uint8)
        for contents, plane in _STILL_PLANES.items():
            still[plane] = kitchen.contents == contents
        self._still = np.stack([still, still]).reshape(self._shape)
        self._first = np.arange(num_worlds) * self._still.size
        self._first_of_cell = (self._first[:, None] + np.arange(kitchen.size)).ravel()
        self._pots = kitchen.pots
        pot_states, things = range(POT, NUM_CONTENTS), range(len(THINGS))
        self._thing_stamps = Stamps.of([[_THING_MARKS[thing]] * _AGENTS for thing in things], kitchen.size)
        self._pot_stamps = Stamps.of([[_pot_marks(contents)] * _AGENTS for contents in pot_states], kitchen.size)
        chefs = [
            [_chef_marks(chef != viewer, heading, held) for viewer in range(_AGENTS)]
            for chef in range(_AGENTS)
            for heading in range(len(HEADINGS))
            for held in things
        ]
        self._chef_stamps = Stamps.of(chefs, kitchen.size)
        self._first_chef_state = np.arange(_AGENTS) * len(HEADINGS) * len(THINGS)

    def observe(self, state: Arrays) -> Array:
        """Lossless observations of both chefs in K worlds, K at most B, [K, 2, 26, H, W] uint8."""
        contents = state["contents"]
        worlds = len(contents)
        planes = np.empty((worlds, *self._shape), np.uint8)
        planes[...] = self._still
        first = self._first[:worlds, None]
        chefs = state["headings"] * len(THINGS) + state["held"] + self._first_chef_state
        _stamp(planes, self._chef_stamps, chefs, state["agent_cells"] + first)
        _stamp(planes, self._pot_stamps, contents.take(self._pots, 1) - POT, self._pots + first)
        lying = np.flatnonzero(contents.reshape(-1) - np.uint8(1) < len(THINGS) - 1)
        _stamp(planes, self._thing_stamps, contents.reshape(-1).take(lying), self._first_of_cell.take(lying))
        hurried = np.flatnonzero(state["episode_length"] > self._hurry_from)
        if hurried.size:
            planes[hurried, :, _HURRY] = 1
        return planes


def _stamp(planes: Array, stamps: Stamps, states: Array, cells: Array) -> None:
    """Write the stamps of these states at these cells (byte offsets in the whole array)."""
    places = stamps.places.take(states, 0)
    places += cells[..., None]
    planes.reshape(-1)[places] = stamps.values.take(states, 0)


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
