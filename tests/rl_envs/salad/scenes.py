"""Hand-made situations for the tests of the salad kitchen. Cells are (row, column)."""

import numpy as np

from rl_envs.salad.world import Salad

RIGHT, DOWN, LEFT, UP, STAY = range(5)
TOMATO, LETTUCE, ONION, PLATE, SECOND_PLATE = range(5)
AWAY = (4, 2)
"""A cell of floor in all maps from which nothing can be touched."""


def situation(agents, things=None, chops=(0, 0, 0), held=(-1, -1), in_plate=(-1, -1, -1), **arguments):
    """One kitchen. `things` moves things away from their usual places; held and plated ones follow by themselves."""
    arguments = {"actions": "primitive", "kitchen": "full", "recipes": ["tomato"]} | arguments
    world = Salad(**arguments)
    world.auto_resets = False
    cells = world.kitchen.homes.copy()
    for thing, (row, column) in (things or {}).items():
        cells[thing] = row * 7 + column
    world.restore(
        {
            "agent_cells": np.array([[row * 7 + column for row, column in agents]]),
            "thing_cells": cells[None],
            "chops": np.array([chops]),
            "held": np.array([held]),
            "in_plate": np.array([in_plate]),
        }
    )
    return world


def step(world, *moves):
    """Step one kitchen. The shared reward in thousandths, so that sums are exact, and whether the game is over."""
    _, reward, terminated, truncated, _ = world.step(np.array([moves]))
    assert reward[0, 0] == reward[0, 1] and not truncated[0]
    return round(float(reward[0, 0]) * 1000), bool(terminated[0])


def act(world, *names):
    """Step one kitchen by names of macro actions."""
    return step(world, *(world.action_names.index(name) for name in names))


def agents(world):
    return [divmod(int(cell), 7) for cell in world.state["agent_cells"][0]]


def where(world, thing):
    return divmod(int(world.state["thing_cells"][0, thing]), 7)


def lies_at(world, row, column):
    return int(world.state["lying"][0, row * 7 + column])


def held(world):
    return world.state["held"][0].tolist()


def legal(world, agent):
    """Names of the actions that an agent may choose."""
    allowed = world.observe()["legal"][0, agent]
    return {name for name, may in zip(world.action_names, allowed, strict=True) if may}
