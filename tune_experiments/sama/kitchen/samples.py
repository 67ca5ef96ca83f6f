"""Legal states of a kitchen unlike one another: drawn with a seed, from everything that can be the case.

Chefs stand in the room they began in, and nobody holds a soup where there is no hatch. This file must not choose goals.
"""

from __future__ import annotations

import random

from tune_experiments.sama.kitchen.layout import COUNTER, FAR, HATCH, Layout
from tune_experiments.sama.kitchen.state import COOK_STEPS, FULL_POT, HEADINGS, Chef, KitchenState, Pot

_MOST_ON_COUNTERS = 3
_HELD = ("nothing", "nothing", "onion", "dish", "soup")
_LYING = ("onion", "onion", "dish")


def diverse_states(layout: Layout, count: int, seed: int) -> list[KitchenState]:
    """As many different states."""
    numbers = random.Random(seed)
    found: dict[KitchenState, None] = {}
    while len(found) < count:
        found[_draw(layout, numbers)] = None
    return list(found)


def _draw(layout: Layout, numbers: random.Random) -> KitchenState:
    pots = tuple(_pot(cell, numbers) for cell in layout.pots)
    counters = [cell for cell in layout.cells(COUNTER) if layout.beside(cell)]
    taken = numbers.sample(counters, min(len(counters), numbers.randint(0, _MOST_ON_COUNTERS)))
    lying = tuple(sorted((cell, numbers.choice(_LYING)) for cell in taken))
    return KitchenState(numbers.randrange(300), numbers.randrange(5), pots, lying, _chefs(layout, numbers))


def _pot(cell: tuple[int, int], numbers: random.Random) -> Pot:
    onions = numbers.randint(0, FULL_POT)
    return Pot(cell, onions, numbers.randint(1, COOK_STEPS) if onions == FULL_POT else 0)


def _chefs(layout: Layout, numbers: random.Random) -> tuple[Chef, ...]:
    chefs: list[Chef] = []
    for start in layout.starts:
        room = sorted(cell for cell in layout.floor if layout.distance(start, cell) < FAR)
        free = [cell for cell in room if all(cell != chef.cell for chef in chefs)]
        can_hold = [thing for thing in _HELD if thing != "soup" or layout.reaches(start, HATCH)]
        chefs.append(Chef(numbers.choice(free), numbers.choice(list(HEADINGS)), numbers.choice(can_hold)))
    return tuple(chefs)
