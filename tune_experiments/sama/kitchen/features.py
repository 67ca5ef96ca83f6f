"""The features of a kitchen that predicates are written in: the world's own test of a deed, by other words.

Places are written with underscores (`pot_0`, `middle_counter`). This file must not know what a state is.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from rl_envs.core.spec import Array
from rl_envs.overcooked.goals import Goal, reached
from rl_envs.overcooked.kitchen import Kitchen
from rl_envs.overcooked.words import THINGS
from rl_models.planners.predicates.table import FeatureTable, OfferedFeature

_MEANINGS = {
    "take": "the agent has just come to hold the thing, at the place it faced",
    "put": "the agent has just left the thing at the place it faced",
    "hold": "the agent holds the thing",
    "face": "the agent stands before the place and looks at it",
    "amount": "how many of the thing are at the place: on counters, or onions in pots (at most 9 are counted)",
    "cook": "the pot is cooking",
    "ready": "the soup of the pot is done",
}
_MOST_COUNTED = 9


def features_of(kitchen: Kitchen) -> FeatureTable:
    """The table of a kitchen."""
    pots = ("pot", *(f"pot_{number}" for number in range(len(kitchen.pots))))
    counters, carried = ("counter", "middle_counter"), THINGS[1:]
    places = (*pots, *counters, "onion_store", "dish_store", "hatch")
    parameters = {
        "take": (carried, places),
        "put": (carried, places),
        "hold": (THINGS,),
        "face": (places,),
        "amount": (carried, (*pots, *counters)),
        "cook": (pots,),
        "ready": (pots,),
    }
    return {
        name: OfferedFeature(meaning, parameters[name], functools.partial(_values, kitchen, name))
        for name, meaning in _MEANINGS.items()
    }


def _values(kitchen: Kitchen, name: Any, arguments: tuple[str, ...], previous: Any, current: Any) -> Array:
    """[B, 2] of a feature; an amount is counted from the world's "at least so many"."""
    thing = arguments[0] if arguments[0] in THINGS else "nothing"
    place = "" if arguments[-1] in THINGS else arguments[-1].replace("_", " ")
    if name != "amount":
        return reached(kitchen, Goal(name, thing, place), previous, current)
    at_least = [Goal("contain", thing, place, count) for count in range(1, _MOST_COUNTED + 1)]
    return np.sum([reached(kitchen, goal, previous, current) for goal in at_least], axis=0)
