"""Observations of each agent: its sight (Verco, section 5.1: a square around it), its beliefs, and its vector.

An agent remembers the last cell in which it saw each thing. When it sees that the thing has gone, it believes that the
thing is in its usual cell, until it sees that this cell is empty, too. The vector (TWOSOME's) has positions of
everything in sight, chops, and the order. Row and column are 0 for everything out of sight; that cell is a corner,
which no thing and no agent can be in.
"""

from dataclasses import dataclass

import numpy as np

from rl_envs.core.spec import Array, Arrays, ArraySpec
from rl_envs.salad.kitchen import Kitchen
from rl_envs.salad.rules import AGENTS
from rl_envs.salad.symbols import CELLS, CHOPS, NOTHING, NUM_BOARDS, NUM_FOODS, NUM_PLATES, RECIPES, SIDE


@dataclass(frozen=True)
class Belief:
    """Beliefs of agents."""

    at: Array  # [B, N] int64, own cell
    hand: Array  # [B, N] int64, thing in hand or NOTHING
    cells: Array  # [B, N, 5] int64, believed cell of each thing
    is_chopped: Array  # [B, N, 3] bool, whether each food is chopped
    in_plate: Array  # [B, N, 3] int64, plate that each food is on, or NOTHING
    is_gone: Array  # [B, N, 5] bool, the thing is neither in its believed cell nor in sight, or not in this kitchen


def initial_beliefs(num_worlds: int, kitchen: Kitchen) -> Arrays:
    """State arrays of the beliefs, name -> [B, N, ...], at the start of an episode: everything in its usual cell."""
    each = (num_worlds, AGENTS, NUM_FOODS)
    return {
        "believed_cells": np.tile(kitchen.homes, (num_worlds, AGENTS, 1)),
        "believed_chopped": np.zeros(each, bool),
        "believed_plate": np.full(each, NOTHING),
    }


def visible_things(kitchen: Kitchen, state: Arrays, rows: Array | slice = slice(None)) -> Array:
    """Things that each agent sees, its own load included, [K, N, 5] bool.

    In worlds `rows` [K] of a state, name -> [B, ...].
    """
    at, cells = state["agent_cells"][rows], state["thing_cells"][rows]
    return kitchen.in_sight[at[:, :, None], cells[:, None]] & kitchen.has


def look(kitchen: Kitchen, state: Arrays, rows: Array | slice = slice(None)) -> None:
    """Update the beliefs of every agent in worlds `rows` [K] of a state [B, ...] with what it sees."""
    seen = visible_things(kitchen, state, rows)
    at, believed = state["agent_cells"][rows][:, :, None], state["believed_cells"][rows]
    is_lost = kitchen.in_sight[at, believed] & ~seen
    # A food has also gone if its plate is in sight without it.
    on_plate = state["believed_plate"][rows]
    plate_seen = np.take_along_axis(seen, NUM_FOODS + np.maximum(on_plate, 0), 2) & (on_plate != NOTHING)
    is_lost[..., :NUM_FOODS] |= plate_seen & ~seen[..., :NUM_FOODS]
    foods, lost_foods = seen[..., :NUM_FOODS], is_lost[..., :NUM_FOODS]
    state["believed_cells"][rows] = np.where(
        seen, state["thing_cells"][rows][:, None], np.where(is_lost, kitchen.homes, believed)
    )
    chopped, plate = (state["chops"][rows] >= CHOPS)[:, None], state["in_plate"][rows][:, None]
    state["believed_chopped"][rows] = np.where(foods, chopped, state["believed_chopped"][rows] & ~lost_foods)
    unseen_plate = np.where(lost_foods, NOTHING, on_plate)
    state["believed_plate"][rows] = np.where(foods, plate, unseen_plate)


def beliefs(kitchen: Kitchen, state: Arrays, rows: Array | slice = slice(None)) -> Belief:
    """Beliefs of the agents in worlds `rows` [K] of a state [B, ...], as of the last `look`."""
    at, cells = state["agent_cells"][rows], state["believed_cells"][rows]
    is_gone = kitchen.in_sight[at[:, :, None], cells] & ~visible_things(kitchen, state, rows)
    return Belief(
        at=at,
        hand=state["held"][rows],
        cells=cells,
        is_chopped=state["believed_chopped"][rows],
        in_plate=state["believed_plate"][rows],
        is_gone=is_gone | ~kitchen.has,
    )


_PLACES = np.stack(np.divmod(np.arange(CELLS), SIDE), axis=1).astype(np.uint8)
_FOODS_END = 3 * NUM_FOODS
_PLACES_END = _FOODS_END + 2 * (NUM_PLATES + NUM_BOARDS + 1 + 2)
LENGTH = _PLACES_END + len(RECIPES)
SPEC = ArraySpec((LENGTH,), "uint8", 0, SIDE - 1, "three foods (row, column, chops), then rows and columns, the order")
_MAX_VALUE = [SIDE - 1, SIDE - 1, CHOPS] * NUM_FOODS + [SIDE - 1] * (_PLACES_END - _FOODS_END) + [1] * len(RECIPES)
SCALE = np.array(_MAX_VALUE, np.float32)
"""[30] float32, largest value of each number; a vector divided by it lies in 0 .. 1."""


class Observer:
    """Computes the vector observations of one kitchen."""

    def __init__(self, kitchen: Kitchen) -> None:
        self._kitchen = kitchen
        self._fixed = np.append(kitchen.boards, kitchen.delivery)

    def observe(self, state: Arrays, knows: Array, rows: Array) -> Array:
        """Vector observations [K, N, 30] uint8 of the agents of worlds `rows` [K]; `knows` [K, N]: who knows the order.

        Foods, plates, boards, delivery, the agent, the other agent, one number for each recipe. The state is that of
        all worlds, name -> [B, ...].
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
