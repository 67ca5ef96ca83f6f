"""Hand-made situations for the tests of RTFM."""

import functools

import numpy as np

from rl_envs.rtfm.assignments import assignments
from rl_envs.rtfm.world import Rtfm

STAY, UP, DOWN, LEFT, RIGHT = range(5)
MONSTERS = ("fire wolf", "cold wolf", "poison wolf", "lightning jaguar")
ITEMS = ("blessed axe", "arcane axe", "soldiers axe", "gleaming spear")
FAR = (8, 8)
"""A cell in a room of size 10 where nothing happens."""


def cell(place, size):
    return place[0] * size + place[1] if place else 0


def situation(agents, monsters=(FAR, FAR), items=(None, None), held=None, size=10, **arguments):
    """One world; places are (row, column), None for an item that is gone. The distractor and its item come last."""
    targets = len(agents)
    distractors = {"distractor_monster": len(monsters) > targets, "distractor_item": len(items) > targets}
    world = Rtfm(num_agents=targets, size=size, **distractors, **arguments)
    world.auto_resets = False
    state = {
        "agent_cells": [[cell(place, size) for place in agents]],
        "monster_cells": [[cell(place, size) for place in monsters]],
        "item_cells": [[cell(place, size) for place in items]],
        "monster_names": [world.lexicon.name_ids(MONSTERS)[: len(monsters)]],
        "item_names": [world.lexicon.name_ids(ITEMS)[: len(items)]],
        "assignment": [0],
        "goal_team": [0],
    }
    if held is not None:
        state["held"] = [held]
    world.restore({name: np.array(value) for name, value in state.items()})
    return world


@functools.cache
def splits(has_groups):
    """All assignments of each split, in the order of the keyed permutation."""
    known = assignments(has_groups)
    train, evaluation = np.split(known.permuted(np.arange(known.count)), 2)
    valid, test = np.split(evaluation, [len(evaluation) // 3])
    return {"train": train, "eval": evaluation, "valid": valid, "test": test}
