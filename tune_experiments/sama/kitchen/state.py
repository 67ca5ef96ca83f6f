"""A kitchen's state as a record, read from the world's sentences and written back in them.

This file must not know the layout: whether the places exist is asked of `layout.py`.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import Any, TypeAlias

from rl_models.planners.domain import StateTextError

Cell: TypeAlias = tuple[int, int]
"""Row and column."""
THINGS = ("nothing", "onion", "dish", "soup")
FULL_POT, COOK_STEPS = 3, 20
HEADINGS: dict[str, Cell] = {"north": (-1, 0), "south": (1, 0), "east": (0, 1), "west": (0, -1)}
_ARTICLES = {"nothing": "nothing", "onion": "an onion", "dish": "a dish", "soup": "a soup"}
_THING_OF = {words: thing for thing, words in _ARTICLES.items()}
_RAW = ("empty", "1 onion", "2 onions", "3 onions")
_AT = r"at row (\d{1,3}), column (\d{1,3})"
_FORMS = {
    "step": re.compile(r"Step (\d{1,9}), soups served: (\d{1,9})\."),
    "pot": re.compile(rf"Pot (\d) {_AT}: (.+)\."),
    "counters": re.compile(r"On the counters: (.+)\."),
    "thing": re.compile(rf"(.+) {_AT}"),
    "chef": re.compile(rf"Chef (\d) {_AT} faces (\w+) and holds (.+)\."),
    "cooking": re.compile(rf"a soup that has cooked for (\d+) of {COOK_STEPS} steps"),
}


@dataclass(frozen=True)
class Pot:
    """One pot. `cooked` counts the steps of its soup; a pot with fewer than three onions is cold."""

    cell: Cell
    onions: int
    cooked: int = 0

    @property
    def has_room(self) -> bool:
        """Whether an onion can go in."""
        return self.onions < FULL_POT

    @property
    def is_ready(self) -> bool:
        """Whether its soup is done."""
        return self.onions == FULL_POT and self.cooked >= COOK_STEPS

    @property
    def steps_left(self) -> int:
        """Until a full pot's soup is done."""
        return max(0, COOK_STEPS - self.cooked)


@dataclass(frozen=True)
class Chef:
    """One chef."""

    cell: Cell
    facing: str
    holds: str


@dataclass(frozen=True)
class KitchenState:
    """Everything the future depends on."""

    step: int
    served: int
    pots: tuple[Pot, ...]
    counters: tuple[tuple[Cell, str], ...]
    """Counters with something on them, in reading order."""
    chefs: tuple[Chef, ...]

    def as_json(self, agent: int) -> dict[str, Any]:
        """What a model-written reward function sees; `me` is the chef it is for."""
        chefs = [{"at": list(chef.cell), "facing": chef.facing, "holds": chef.holds} for chef in self.chefs]
        return {
            "served": self.served,
            "pots": [{"at": list(pot.cell), "onions": pot.onions, "cooked": pot.cooked} for pot in self.pots],
            "counters": [{"at": list(cell), "thing": thing} for cell, thing in self.counters],
            "me": chefs[agent],
            "others": [chef for index, chef in enumerate(chefs) if index != agent],
        }


@functools.lru_cache(maxsize=4096)
def read_state(text: str) -> KitchenState:
    """Read the world's sentences.

    Raises:
        StateTextError: a line says something else than it should.
    """
    lines = text.strip().splitlines()
    numbers = [number for number, line in enumerate(lines) if line.startswith("On the counters")]
    if len(numbers) != 1 or numbers[0] < 2:
        raise StateTextError("a state has a line for the step, each pot, the counters and each chef, in this order")
    middle = numbers[0]
    step = _found("step", lines[0])
    pots = tuple(_read_pot(number, line) for number, line in enumerate(lines[1:middle]))
    chefs = tuple(_read_chef(number, line) for number, line in enumerate(lines[middle + 1 :]))
    return KitchenState(int(step[1]), int(step[2]), pots, _read_counters(lines[middle]), chefs)


def write_state(state: KitchenState) -> str:
    """The inverse of `read_state`."""
    lying = "; ".join(f"{_ARTICLES[thing]} {_at(cell)}" for cell, thing in state.counters)
    return "\n".join(
        [
            f"Step {state.step}, soups served: {state.served}.",
            *(f"Pot {n} {_at(pot.cell)}: {pot_in_words(pot)}." for n, pot in enumerate(state.pots)),
            f"On the counters: {lying or 'nothing'}.",
            *(
                f"Chef {n} {_at(chef.cell)} faces {chef.facing} and holds {_ARTICLES[chef.holds]}."
                for n, chef in enumerate(state.chefs)
            ),
        ]
    )


def pot_in_words(pot: Pot) -> str:
    """What is in a pot."""
    if pot.is_ready:
        return "a soup that is done"
    if pot.cooked:
        return f"a soup that has cooked for {pot.cooked} of {COOK_STEPS} steps"
    return _RAW[pot.onions]


def with_article(thing: str) -> str:
    """`an onion`, `a dish`, ..."""
    return _ARTICLES[thing]


def _found(form: str, line: str) -> re.Match[str]:
    found = _FORMS[form].fullmatch(line.strip())
    if found is None:
        raise StateTextError(f"{line.strip()[:60]!r} does not read as a line about the {form}")
    return found


def _read_pot(number: int, line: str) -> Pot:
    found = _found("pot", line)
    if int(found[1]) != number:
        raise StateTextError(f"pot {number} is wanted where {line.strip()[:60]!r} stands")
    cell, words = (int(found[2]), int(found[3])), found[4]
    if words in _RAW:
        return Pot(cell, _RAW.index(words))
    if words == "a soup that is done":
        return Pot(cell, FULL_POT, COOK_STEPS)
    if (cooking := _FORMS["cooking"].fullmatch(words)) and 1 <= int(cooking[1]) < COOK_STEPS:
        return Pot(cell, FULL_POT, int(cooking[1]))
    raise StateTextError(f"a pot cannot hold {words[:60]!r}")


def _read_counters(line: str) -> tuple[tuple[Cell, str], ...]:
    told = _found("counters", line)[1]
    things = [_found("thing", part) for part in told.split("; ")] if told != "nothing" else []
    found = tuple(((int(thing[2]), int(thing[3])), _thing(thing[1])) for thing in things)
    if len({cell for cell, _ in found}) < len(found) or any(thing == "nothing" for _, thing in found):
        raise StateTextError("each counter holds at most one thing")
    return tuple(sorted(found))


def _read_chef(number: int, line: str) -> Chef:
    found = _found("chef", line)
    if int(found[1]) != number or found[4] not in HEADINGS:
        raise StateTextError(f"chef {number} with a heading is wanted where {line.strip()[:60]!r} stands")
    return Chef((int(found[2]), int(found[3])), found[4], _thing(found[5]))


def _thing(words: str) -> str:
    if words not in _THING_OF:
        raise StateTextError(f"{words[:60]!r} is no thing of a kitchen")
    return _THING_OF[words]


def _at(cell: Cell) -> str:
    return f"at row {cell[0]}, column {cell[1]}"
