"""The features that a kitchen offers to predicates, bound to the world's own test of a deed.

The world is handed in as a function, so that what a deed is stands in one place. Places are written with underscores
(`pot_0`, `middle_counter`). This file must not know what a state is.
"""

from __future__ import annotations

from typing import Any, Protocol

from rl_models.planners.predicates.table import FeatureTable, OfferedFeature, Values
from tune_experiments.sama.kitchen.state import THINGS

_CARRIED = THINGS[1:]
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


class DeedTest(Protocol):
    """Whether each chef has done a deed between two states."""

    def __call__(self, deed: str, thing: str, place: str, count: int, previous: Any, current: Any) -> Values:
        """[B, 2] bool; `place` is the world's name of it, `thing` may be `nothing`."""


def kitchen_features(test: DeedTest, pots: int) -> FeatureTable:
    """The table of a kitchen with so many pots."""
    pot_words = ("pot", *(f"pot_{number}" for number in range(pots)))
    counters = ("counter", "middle_counter")
    places = (*pot_words, *counters, "onion_store", "dish_store", "hatch")
    parameters = {
        "take": (_CARRIED, places),
        "put": (_CARRIED, places),
        "hold": (THINGS,),
        "face": (places,),
        "amount": (_CARRIED, (*pot_words, *counters)),
        "cook": (pot_words,),
        "ready": (pot_words,),
    }
    return {
        name: OfferedFeature(
            meaning, parameters[name], _AmountValues(test) if name == "amount" else _DeedValues(test, name)
        )
        for name, meaning in _MEANINGS.items()
    }


class _DeedValues:
    """Values of a deed: (arguments, previous, current) -> [B, 2]."""

    def __init__(self, test: DeedTest, name: str) -> None:
        self._test, self._name = test, name

    def __call__(self, arguments: tuple[str, ...], previous: Any, current: Any) -> Values:
        thing = arguments[0] if arguments[0] in THINGS else "nothing"
        place = "" if arguments[-1] in THINGS else arguments[-1].replace("_", " ")
        return self._test(self._name, thing, place, 1, previous, current)


class _AmountValues:
    """Number of a thing at a place, from the world's "at least so many"."""

    def __init__(self, test: DeedTest) -> None:
        self._test = test

    def __call__(self, arguments: tuple[str, ...], previous: Any, current: Any) -> Values:
        thing, place = arguments[0], arguments[1].replace("_", " ")
        first, *more = (
            self._test("contain", thing, place, count, previous, current).astype(int)
            for count in range(1, _MOST_COUNTED + 1)
        )
        return sum(more, start=first)
