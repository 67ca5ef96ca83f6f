"""Hand-made moments in a kitchen with everything close to the chefs. Cells are (row, column)."""

import numpy as np

from rl_envs.overcooked.words import ACTIONS, HEADINGS, THINGS
from rl_envs.overcooked.world import Overcooked

NORTH, SOUTH, EAST, WEST, STAY, INTERACT = range(len(ACTIONS))
POT_CELL, ONIONS, DISHES, HATCH, BAR = (0, 2), (1, 0), (3, 1), (3, 3), (2, 0)
BESIDE = {POT_CELL: ((1, 2), "north"), ONIONS: ((1, 1), "west"), DISHES: ((2, 1), "south")}
BESIDE |= {HATCH: ((2, 3), "south"), BAR: ((2, 1), "west"), (0, 1): ((1, 1), "north"), (0, 3): ((1, 3), "north")}
"""Where a chef stands, and where it looks, to use a cell of the cramped room."""


def kitchen(first, second, contents=None, layout="cramped_room", **arguments):
    """One world. A chef is (cell, heading, what it holds); `contents` maps a cell to a thing or a pot's number."""
    world = Overcooked(layout=layout, **arguments)
    world.auto_resets = False
    cells = world.kitchen.contents.copy()
    for (row, column), what in (contents or {}).items():
        cells[row * world.kitchen.width + column] = THINGS.index(what) if isinstance(what, str) else what
    chefs = (first, second)
    world.restore(
        {
            "agent_cells": np.array([[row * world.kitchen.width + column for (row, column), _, _ in chefs]]),
            "headings": np.array([[HEADINGS.index(heading) for _, heading, _ in chefs]]),
            "held": np.array([[THINGS.index(held) for _, _, held in chefs]]),
            "contents": cells[None],
        }
    )
    return world


def at(place, held="nothing"):
    """A chef who can use a cell at once."""
    return (*BESIDE[place], held)


def step(world, first, second=STAY):
    """Rewards of both, soups served in this step, and points shaped in it."""
    soups, points = world.state["soups"].copy(), world.state["shaped"].copy()
    _, reward, *_ = world.step(np.array([[first, second]]))
    return reward[0].tolist(), int((world.state["soups"] - soups)[0]), (world.state["shaped"] - points)[0].tolist()


def hands(world):
    return tuple(THINGS[held] for held in world.state["held"][0])


def holds(world, cell):
    """Number of a cell's contents."""
    row, column = cell
    return int(world.state["contents"][0, row * world.kitchen.width + column])


def chefs(world):
    """[(row, column), heading] of both."""
    cells, headings = world.state["agent_cells"][0].tolist(), world.state["headings"][0].tolist()
    return [
        (divmod(cell, world.kitchen.width), HEADINGS[heading]) for cell, heading in zip(cells, headings, strict=True)
    ]
