"""The state of a kitchen: initial arrays, checks of a restored one, and the part that follows from the rest."""

import numpy as np

from rl_envs.core.spec import Array, Arrays
from rl_envs.salad.kitchen import Kitchen
from rl_envs.salad.symbols import (
    AGENT_NAMES,
    BOARD,
    CELLS,
    CHOPS,
    COUNTER,
    DELIVERY,
    NOTHING,
    NUM_FOODS,
    NUM_PLATES,
    NUM_THINGS,
    RECIPES,
)


def initial_state(num_worlds: int, kitchen: Kitchen) -> Arrays:
    """State arrays [B, ...] that the rules use at the start of an episode, except `agent_cells`."""
    lying = np.full(len(kitchen.fixtures), NOTHING)
    lying[kitchen.homes[kitchen.has]] = np.flatnonzero(kitchen.has)
    return {
        "held": np.full((num_worlds, len(AGENT_NAMES)), NOTHING),
        "thing_cells": np.tile(kitchen.homes, (num_worlds, 1)),
        "lying": np.tile(lying, (num_worlds, 1)),
        "chops": np.zeros((num_worlds, NUM_FOODS), np.int64),
        "in_plate": np.full((num_worlds, NUM_FOODS), NOTHING),
        "has_paid": np.zeros((num_worlds, NUM_FOODS), bool),
        "recipe": np.zeros(num_worlds, np.int64),
    }


def lying_things(kitchen: Kitchen, state: Arrays) -> Array:
    """The thing that lies in each cell, neither held nor on a plate, [B, 49] int64, of a state [B, ...]."""
    cells = state["thing_cells"]
    is_open = _is_open(kitchen, state["held"], state["in_plate"]) & np.isin(kitchen.fixtures[cells], (COUNTER, BOARD))
    lying = np.full((len(cells), CELLS), NOTHING)
    world, thing = np.nonzero(is_open)
    lying[world, cells[world, thing]] = thing
    return lying


def state_bounds(num_macros: int) -> dict[str, tuple[int, int]]:
    """Lowest and highest value of state arrays."""
    return {
        "agent_cells": (0, CELLS - 1),
        "thing_cells": (NOTHING, CELLS - 1),
        "believed_cells": (NOTHING, CELLS - 1),
        "held": (NOTHING, NUM_THINGS - 1),
        "lying": (NOTHING, NUM_THINGS - 1),
        "chops": (0, CHOPS),
        "in_plate": (NOTHING, NUM_PLATES - 1),
        "believed_plate": (NOTHING, NUM_PLATES - 1),
        "recipe": (0, len(RECIPES) - 1),
        "macro": (0, num_macros - 1),
    }


def check_state(kitchen: Kitchen, state: Arrays) -> None:
    """Require agents on the floor, and no thing in two hands or in a hand and on a plate, in a state [B, ...].

    Raises ValueError where it is not so, or where a state names things that this kitchen lacks.
    """
    agents = state["agent_cells"]
    if not kitchen.is_floor[agents].all() or (agents[..., :1] == agents[..., 1:]).any():
        raise ValueError("restore: agent_cells must be different cells of the floor in every world")
    held = state.get("held", np.full_like(agents, NOTHING))
    if ((held[..., :1] == held[..., 1:]) & (held[..., :1] != NOTHING)).any():
        raise ValueError("restore: held must name different things in every world")
    if np.isin(held, np.flatnonzero(~kitchen.has)).any():
        raise ValueError("restore: held names a thing that this kitchen lacks")
    in_plate = state.get("in_plate", np.full((len(agents), NUM_FOODS), NOTHING))
    is_plated = in_plate != NOTHING
    if (is_plated & ~(kitchen.has[:NUM_FOODS] & kitchen.has[NUM_FOODS + in_plate])).any():
        raise ValueError("restore: in_plate names a food or a plate that this kitchen lacks")
    if (is_plated & ((held[..., None] == np.arange(NUM_FOODS)).any(1) | (state.get("chops", 0) != CHOPS))).any():
        raise ValueError(f"restore: what is in_plate must not be held, and needs {CHOPS} chops")
    cells = state.get("thing_cells", np.tile(kitchen.homes, (len(agents), 1)))
    is_open = _is_open(kitchen, held, in_plate)
    if (is_open & ~(kitchen.counters | np.isin(kitchen.fixtures, (BOARD, DELIVERY)))[cells]).any():
        raise ValueError(
            "restore: thing_cells must be counters beside the floor, boards or the delivery, except for what is held "
            "or on a plate"
        )
    _check_lying(state.get("lying"), np.where(is_open & (cells != kitchen.delivery), cells, CELLS))


def _check_lying(lying: Array | None, cells: Array) -> None:
    """Require one thing in each cell at most, or else `lying` [B, 49]; `cells` [B, 5] are 49 for what does not lie."""
    if lying is None:
        is_shared = (cells[..., None] == cells[:, None]).sum(-1) > 1
        if (is_shared & (cells != CELLS)).any():
            raise ValueError("restore: two thing_cells are one cell: give lying, too, which names the upper thing")
    elif (np.where(lying == NOTHING, np.arange(CELLS), np.take_along_axis(cells, lying, 1)) != np.arange(CELLS)).any():
        raise ValueError(
            "restore: lying must name things where thing_cells says that they are, not held nor on a plate"
        )


def _is_open(kitchen: Kitchen, held: Array, in_plate: Array) -> Array:
    """Things of this kitchen that are neither held nor on a plate, [B, 5] bool."""
    is_open = kitchen.has & ~(held[..., None] == np.arange(NUM_THINGS)).any(1)
    is_open[:, :NUM_FOODS] = is_open[:, :NUM_FOODS] & (in_plate == NOTHING)
    return is_open
