"""What each agent sees, and where it believes the rest to be (Verco, section 5.1: a square around the agent).

An agent remembers where it last saw each thing. Where it sees that a thing is gone from there, it goes back to thinking
of the thing's usual place, until it sees that it is not there either. This file must not know about rewards or text.
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
    """What agents take for true.

    Attributes:
        at: [B, N] int64, own cell.
        hand: [B, N] int64, thing in hand or NOTHING.
        cells: [B, N, 5] int64, where each thing should be.
        is_chopped: [B, N, 3] bool.
        in_plate: [B, N, 3] int64.
        is_gone: [B, N, 5] bool, neither there nor seen elsewhere, or not in this kitchen at all.
    """

    at: Array
    hand: Array
    cells: Array
    is_chopped: Array
    in_plate: Array
    is_gone: Array


def blank(num_worlds: int, kitchen: Kitchen) -> Arrays:
    """State arrays: everything in its usual place."""
    each = (num_worlds, AGENTS, NUM_FOODS)
    return {
        "believed_cells": np.tile(kitchen.homes, (num_worlds, AGENTS, 1)),
        "believed_chopped": np.zeros(each, bool),
        "believed_plate": np.full(each, NOTHING),
    }


def visible_things(kitchen: Kitchen, state: Arrays, rows: Array | slice = slice(None)) -> Array:
    """[K, N, 5] bool, what each agent sees, its own load included."""
    at, cells = state["agent_cells"][rows], state["thing_cells"][rows]
    return kitchen.in_sight[at[:, :, None], cells[:, None]] & kitchen.has


def look(kitchen: Kitchen, state: Arrays, rows: Array | slice = slice(None)) -> None:
    """Every agent of these worlds compares what it believes with what it sees."""
    seen = visible_things(kitchen, state, rows)
    at, believed = state["agent_cells"][rows][:, :, None], state["believed_cells"][rows]
    is_lost = kitchen.in_sight[at, believed] & ~seen
    # A food also is gone from where it was seen if it was on a plate that is now seen without it.
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
    """What the agents of these worlds take for true after they looked."""
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
