"""The rules of a step: interactions, moves, cooking (older rules: a pot with three onions starts by itself).

First the chefs interact, chef 0 before chef 1; then both move at once; then pots cook. The rules change B kitchens at
once and in place.
"""

from typing import NamedTuple

import numpy as np

from rl_envs.core.array_library import NUMPY, ArrayLibrary, Rows
from rl_envs.core.spec import Array, Arrays
from rl_envs.overcooked.kitchen import Kitchen
from rl_envs.overcooked.words import (
    ACTIONS,
    DISH,
    DISH_STORE,
    FULL,
    HATCH,
    INTERACT,
    NO_DEED,
    NOTHING,
    NUM_CONTENTS,
    ONION,
    ONION_STORE,
    POT,
    POTTED,
    READY,
    SERVED,
    SOUP,
    STAY,
    THINGS,
    TOOK_DISH,
    TOOK_SOUP,
)

SHAPED_POINTS = np.array([0, 3, 3, 5, 0], np.uint8)
"""Shaped points of each deed: an onion into a pot 3, a useful dish from the store 3, a soup from a pot 5."""
_AGENTS = 2


class Outcome(NamedTuple):
    """The result of one step."""

    served: Array  # [B] int64, number of served soups
    shaped: Array  # [B, 2] uint8, each chef's shaped points


def _interaction_tables() -> tuple[Array, Array, Array]:
    """Hands, contents and deed after an interaction, each indexed by (hands, contents) before it."""
    shape = (len(THINGS), NUM_CONTENTS)
    hands = np.broadcast_to(np.arange(len(THINGS))[:, None], shape).copy()
    contents = np.broadcast_to(np.arange(NUM_CONTENTS, dtype=np.uint8), shape).copy()
    deeds = np.full(shape, NO_DEED)

    def becomes(before: tuple[int, int], held: int, content: int, deed: int = NO_DEED) -> None:
        hands[before], contents[before], deeds[before] = held, content, deed

    for thing in (ONION, DISH, SOUP):
        becomes((thing, NOTHING), NOTHING, thing)
        becomes((NOTHING, thing), thing, NOTHING)
    becomes((NOTHING, ONION_STORE), ONION, ONION_STORE)
    becomes((NOTHING, DISH_STORE), DISH, DISH_STORE, TOOK_DISH)
    for onions in range(POT, FULL):
        becomes((ONION, onions), NOTHING, onions + 1, POTTED)
    becomes((DISH, READY), SOUP, POT, TOOK_SOUP)
    becomes((SOUP, HATCH), NOTHING, HATCH, SERVED)
    return hands, contents, deeds


def _with_idle_rows(table: Array, idle: Array) -> Array:
    """The table indexed by (interacts, hands, contents), flat; without an interaction nothing changes."""
    return np.stack([np.broadcast_to(idle, table.shape), table]).ravel()


_HANDS, _CONTENTS, _DEEDS = _interaction_tables()
_NEW_HANDS = _with_idle_rows(_HANDS, np.arange(len(THINGS))[:, None])
_NEW_CONTENTS = _with_idle_rows(_CONTENTS, np.arange(NUM_CONTENTS, dtype=np.uint8))
_DEED = _with_idle_rows(_DEEDS, np.array(NO_DEED)).astype(np.int64)
_COOKED = np.arange(NUM_CONTENTS, dtype=np.uint8)
_COOKED[FULL:READY] += 1


class Rules:
    """The rules of one kitchen, for B copies of it."""

    def __init__(self, kitchen: Kitchen, num_worlds: int, xp: ArrayLibrary = NUMPY) -> None:
        """Number the cells of all copies together, first cells [B, 1] and pots [B, P], in an array library."""
        self._xp = xp
        self._first_cells = xp.arange(num_worlds)[:, None] * kitchen.size
        self._pots = self._first_cells + xp.asarray(kitchen.pots)
        self._front, self._next_cell = xp.asarray(kitchen.front), xp.asarray(kitchen.next_cell)
        self._new_hands, self._new_contents = xp.asarray(_NEW_HANDS), xp.asarray(_NEW_CONTENTS)
        self._deed, self._points, self._cooked = xp.asarray(_DEED), xp.asarray(SHAPED_POINTS), xp.asarray(_COOKED)

    def play(self, state: Arrays, actions: Array) -> Outcome:
        """Apply actions [B, 2], 0 to 5, to all kitchens.

        Changes `agent_cells`, `headings`, `held` [B, 2] int64 and `contents` [B, H * W] uint8 of the state in place.
        """
        outcome = self._interact(state, actions)
        self._move(state, actions)
        contents = state["contents"].reshape(-1)
        contents[self._pots] = self._xp.take(self._cooked, contents.take(self._pots))
        return outcome

    def _interact(self, state: Arrays, actions: Array) -> Outcome:
        xp, held, contents = self._xp, state["held"], state["contents"].reshape(-1)
        pots_before = contents.take(self._pots)
        faced = self._front.take(state["agent_cells"] * STAY + state["headings"]) + self._first_cells
        interacts = (actions == INTERACT) * (len(THINGS) * NUM_CONTENTS)
        served = xp.zeros(len(actions), dtype=xp.int64)
        shaped = xp.empty(actions.shape, dtype=xp.uint8)
        for agent in range(_AGENTS):
            cells = faced[:, agent]
            case = interacts[:, agent] + held[:, agent] * NUM_CONTENTS + contents.take(cells)
            held[:, agent] = self._new_hands.take(case)
            contents[cells] = self._new_contents.take(case)
            deed = self._deed.take(case)
            served += deed == SERVED
            shaped[:, agent] = self._points.take(deed)
            rows = xp.find_rows(deed == TOOK_DISH)
            if rows is not None:
                is_useful = _is_useful(state, rows, pots_before[rows], 1 - agent)
                shaped[rows, agent] *= is_useful | (deed[rows] != TOOK_DISH)
        return Outcome(served, shaped)

    def _move(self, state: Arrays, actions: Array) -> None:
        """Move the chefs. If both want the same cell, or each other's, both stay; a blocked chef still turns."""
        cells = state["agent_cells"]
        wanted = self._next_cell.take(cells * len(ACTIONS) + actions)
        first, second = wanted[:, 0], wanted[:, 1]
        clash = first == second
        clash |= (first == cells[:, 1]) & (second == cells[:, 0])
        state["agent_cells"][...] = self._xp.where(clash[:, None], cells, wanted)
        self._xp.copyto(state["headings"], actions, where=actions < STAY)


def _is_useful(state: Arrays, rows: Rows, pots_before: Array, other: int) -> Array:
    """Whether a new dish is useful, [K] bool: none on a counter, and fewer in hands than pots with onions before."""
    one_lies = (state["contents"][rows] == DISH).any(1)
    in_hands = state["held"][rows, other] == DISH
    return ~one_lies & (in_hands < (pots_before > POT).sum(1))
