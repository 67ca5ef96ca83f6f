"""What each agent sees, and its beliefs about the rest (Verco, section 5.1: a square around the agent).

An agent remembers the last cell in which it saw each thing. When it sees that the thing has gone, it believes that the
thing is in its usual cell, until it sees that this cell is empty, too. This file must not know about rewards or text.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rl_envs.core.spec import Array, Arrays
from rl_envs.salad.kitchen import Kitchen
from rl_envs.salad.rules import AGENTS
from rl_envs.salad.symbols import CHOPS, NOTHING, NUM_FOODS


@dataclass(frozen=True)
class Belief:
    """Beliefs of agents.

    Attributes:
        at: [B, N] int64, own cell.
        hand: [B, N] int64, thing in hand or NOTHING.
        cells: [B, N, 5] int64, believed cell of each thing.
        is_chopped: [B, N, 3] bool, whether each food is chopped.
        in_plate: [B, N, 3] int64, plate that each food is on, or NOTHING.
        is_gone: [B, N, 5] bool, the thing is neither in its believed cell nor in sight, or not in this kitchen.
    """

    at: Array
    hand: Array
    cells: Array
    is_chopped: Array
    in_plate: Array
    is_gone: Array


def initial_beliefs(num_worlds: int, kitchen: Kitchen) -> Arrays:
    """State arrays of the beliefs at the start of an episode: everything in its usual cell."""
    each = (num_worlds, AGENTS, NUM_FOODS)
    return {
        "believed_cells": np.tile(kitchen.homes, (num_worlds, AGENTS, 1)),
        "believed_chopped": np.zeros(each, bool),
        "believed_plate": np.full(each, NOTHING),
    }


def visible_things(kitchen: Kitchen, state: Arrays, rows: Array | slice = slice(None)) -> Array:
    """Things that each agent sees, its own load included, [K, N, 5] bool."""
    at, cells = state["agent_cells"][rows], state["thing_cells"][rows]
    return kitchen.in_sight[at[:, :, None], cells[:, None]] & kitchen.has


def look(kitchen: Kitchen, state: Arrays, rows: Array | slice = slice(None)) -> None:
    """Update the beliefs of every agent in these worlds with what it sees."""
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
    """Beliefs of the agents in these worlds, as of the last `look`."""
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
