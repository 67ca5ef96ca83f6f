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

from rl_envs.core.array_library import NUMPY, ArrayLibrary
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
_NO_MARKS: tuple[Mark, Mark] = ((_IN_SOUP, 0), (_IN_SOUP, 0))
_THING_MARKS: dict[int, tuple[Mark, Mark]] = {
    NOTHING: _NO_MARKS,
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
    def of(cls, states: Sequence[Sequence[Sequence[Mark]]], cells: int, xp: ArrayLibrary) -> Stamps:
        """Stamps from marks by state and viewer; `cells` is the number of cells of a plane."""
        marks = np.array([[mark for marks in viewers for mark in marks] for viewers in states])
        viewer = np.repeat(np.arange(_AGENTS), marks.shape[1] // _AGENTS)
        places = (viewer * len(PLANES) + marks[..., 0]) * cells
        return cls(xp.asarray(places), xp.asarray(marks[..., 1].astype(np.uint8)))


class Lossless:
    """Computes the lossless observation of B kitchens for both chefs."""

    def __init__(self, kitchen: Kitchen, num_worlds: int, max_episode_steps: int, xp: ArrayLibrary = NUMPY) -> None:
        """Compute the constant planes, and the stamps of everything else, in an array library."""
        self._xp = xp
        self._shape = (_AGENTS, len(PLANES), kitchen.height, kitchen.width)
        self.spec = ArraySpec(self._shape[1:], "uint8", 0, COOK_STEPS, "what there is in each cell, own planes first")
        self._hurry_from = max_episode_steps - FEW_STEPS
        still = np.zeros((len(PLANES), kitchen.size), np.uint8)
        for contents, plane in _STILL_PLANES.items():
            still[plane] = kitchen.contents == contents
        self._still = xp.asarray(np.stack([still, still]).reshape(self._shape))
        self._first = xp.arange(num_worlds) * (_AGENTS * still.size)
        self._first_of_cell = (self._first[:, None] + xp.arange(kitchen.size)).reshape(-1)
        pots = xp.asarray(kitchen.pots)
        self._pots = xp.arange(num_worlds)[:, None] * kitchen.size + pots
        self._first_of_pot = self._first[:, None] + pots
        pot_states, things = range(POT, NUM_CONTENTS), range(len(THINGS))
        lying = [[_THING_MARKS.get(contents, _NO_MARKS)] * _AGENTS for contents in range(NUM_CONTENTS)]
        self._thing_stamps = Stamps.of(lying, kitchen.size, xp)
        self._pot_stamps = Stamps.of([[_pot_marks(contents)] * _AGENTS for contents in pot_states], kitchen.size, xp)
        chefs = [
            [_chef_marks(chef != viewer, heading, held) for viewer in range(_AGENTS)]
            for chef in range(_AGENTS)
            for heading in range(len(HEADINGS))
            for held in things
        ]
        self._chef_stamps = Stamps.of(chefs, kitchen.size, xp)
        self._first_chef_state = xp.arange(_AGENTS) * (len(HEADINGS) * len(THINGS))

    def observe(self, state: Arrays) -> Array:
        """Lossless observations of both chefs in K worlds, K at most B, [K, 2, 26, H, W] uint8, of a state [K, ...]."""
        xp, contents = self._xp, state["contents"]
        worlds, flat = len(contents), contents.reshape(-1)
        planes = xp.empty((worlds, *self._shape), dtype=xp.uint8)
        planes[...] = self._still
        lying = xp.find_rows(flat - 1 < len(THINGS) - 1)
        if lying is not None:  # before chefs and pots, because with fixed shapes every cell is written
            cells = xp.take(self._first_of_cell[: len(flat)], lying)
            self._stamp(planes, self._thing_stamps, xp.take(flat, lying), cells)
        pots = flat.take(self._pots[:worlds]) - POT
        self._stamp(planes, self._pot_stamps, pots, self._first_of_pot[:worlds])
        chefs = state["headings"] * len(THINGS) + state["held"] + self._first_chef_state
        self._stamp(planes, self._chef_stamps, chefs, state["agent_cells"] + self._first[:worlds, None])
        is_late = state["episode_length"] > self._hurry_from
        hurried = xp.find_rows(is_late)
        if hurried is not None:
            planes[hurried, :, _HURRY] = is_late[hurried][:, None, None, None]
        return planes

    def _stamp(self, planes: Array, stamps: Stamps, states: Array, cells: Array) -> None:
        """Write the stamps of these states at these cells (byte offsets in the whole array)."""
        places = self._xp.take(stamps.places, states, 0)
        places += cells[..., None]
        planes.reshape(-1)[places] = self._xp.take(stamps.values, states, 0)


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

    def __init__(self, kitchen: Kitchen, xp: ArrayLibrary = NUMPY) -> None:
        """Look up the symbols of fixtures, in an array library."""
        self._xp = xp
        shape = (LAYERS, kitchen.height, kitchen.width)
        self.spec = ArraySpec(shape, "uint8", 0, len(SYMBOLS) - 1, "place, load and chef in each cell, as symbols")
        self._places = xp.asarray(_table(_PLACES)[kitchen.contents])
        self._loads = xp.asarray(_table(_LOADS))

    def observe(self, state: Arrays, chef_cells: Array) -> Array:
        """Symbol observations [K, 2, 3, H, W] uint8 of a state [K, ...] with both chefs in `chef_cells` [K, 2].

        Of two chefs in one cell chef 1 is shown.
        """
        xp, (worlds, cells) = self._xp, state["contents"].shape
        grid = xp.zeros((worlds, _AGENTS, LAYERS, cells), dtype=xp.uint8)
        grid[:, :, 0] = self._places
        grid[:, :, 1] = xp.take(self._loads, state["contents"])[:, None]
        rows = xp.arange(worlds)
        held = xp.astype(state["held"], xp.uint8)
        for chef in range(_AGENTS):
            for viewer in range(_AGENTS):
                symbol = held[:, chef] + (_ONESELF + len(THINGS) * (chef != viewer))
                grid[rows, viewer, 2, chef_cells[:, chef]] = symbol
        return grid.reshape(worlds, _AGENTS, *self.spec.shape)


def _table(names: dict[int, str]) -> Array:
    """Symbol of each contents, [NUM_CONTENTS] uint8."""
    symbols = np.zeros(NUM_CONTENTS, np.uint8)
    for contents, name in names.items():
        symbols[contents] = SYMBOLS.index(name)
    return symbols
