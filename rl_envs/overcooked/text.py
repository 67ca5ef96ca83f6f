"""States as text that a planner can read, and back; the text holds everything that the future depends on.

The lines of a state have a fixed order: the step and served soups, each pot in reading order, the things on counters,
each chef. `read_states` is the exact inverse of `describe`. Random numbers, running returns and unfinished relocations
are not included.
"""

import re
from collections.abc import Iterable, Sequence

import numpy as np

from rl_envs.core.spec import Arrays
from rl_envs.overcooked.kitchen import Kitchen
from rl_envs.overcooked.words import COOK_STEPS, FULL, HEADINGS, NOTHING, POT, READY, SOUP

WITH_ARTICLE = ("nothing", "an onion", "a dish", "a soup")
"""The words for each of `THINGS`."""
_RAW = ("empty", "1 onion", "2 onions", "3 onions")
_IS_READY = "a soup that is done"
_STEP = re.compile(r"Step (\d{1,9}), soups served: (\d{1,9})\.")
_AT = r"at row (\d{1,9}), column (\d{1,9})"
_POT = re.compile(rf"Pot (\d{{1,9}}) {_AT}: (.+)\.")
_COOKS = re.compile(rf"a soup that has cooked for (\d{{1,9}}) of {COOK_STEPS} steps")
_COUNTERS = re.compile(r"On the counters: (.+)\.")
_LIES = re.compile(rf"(.+) {_AT}")
_CHEF = re.compile(rf"Chef (\d{{1,9}}) {_AT} faces (\w+) and holds (.+)\.")


def describe(kitchen: Kitchen, state: Arrays, index: int = 0) -> str:
    """The state, name -> [B, ...], of world `index` as lines of text."""
    one = {name: value[index] for name, value in state.items()}
    lines = [f"Step {one['episode_length']}, soups served: {one['soups']}."]
    for number, cell in enumerate(kitchen.pots.tolist()):
        lines.append(f"Pot {number} at {_at(kitchen, cell)}: {describe_pot(int(one['contents'][cell]))}.")
    lying = np.flatnonzero((one["contents"] > NOTHING) & (one["contents"] <= SOUP))
    things = [f"{WITH_ARTICLE[one['contents'][cell]]} at {_at(kitchen, cell)}" for cell in lying.tolist()]
    lines.append(f"On the counters: {'; '.join(things) or 'nothing'}.")
    for number, (cell, heading, held) in enumerate(zip(one["agent_cells"], one["headings"], one["held"], strict=True)):
        where = f"Chef {number} at {_at(kitchen, cell)}"
        lines.append(f"{where} faces {HEADINGS[heading]} and holds {WITH_ARTICLE[held]}.")
    return "\n".join(lines)


def read_states(kitchen: Kitchen, texts: Sequence[str]) -> Arrays:
    """Parse one state per text, for `Overcooked.restore`: name -> [len(texts), ...]."""
    states = []
    for number, text in enumerate(texts):
        try:
            states.append(read_state(kitchen, text))
        except UnreadableStateError as error:
            raise ValueError(f"state {number} of {len(texts)}: {error}; write it as `describe` does") from None
    return {name: np.stack([state[name] for state in states]) for name in states[0]} if states else {}


def read_state(kitchen: Kitchen, text: str) -> Arrays:
    """The state of one world, name -> [...], without the axis of worlds."""
    return _Reader(kitchen, text).state()


class UnreadableStateError(ValueError):
    """A text does not describe a state of the kitchen; the message is a clause that quotes the line."""


class _Reader:
    """Parser of one text, line by line."""

    def __init__(self, kitchen: Kitchen, text: str) -> None:
        self._kitchen, self._lines = kitchen, iter(text.strip().splitlines())
        self._contents = kitchen.contents.copy()

    def state(self) -> Arrays:
        step, soups = map(int, self._next(_STEP, "the step").groups())
        for number, cell in enumerate(self._kitchen.pots):
            self._read_pot(number, int(cell))
        self._read_counters()
        chefs = [self._chef(number) for number in range(len(self._kitchen.starts))]
        if any(True for _ in self._lines):
            raise UnreadableStateError("there are more lines than a state has")
        cells, headings, held = (np.array(part) for part in zip(*chefs, strict=True))
        state = {"agent_cells": cells, "headings": headings, "held": held, "contents": self._contents}
        return state | {"episode_length": np.array(step), "soups": np.array(soups)}

    def _next(self, form: re.Pattern[str], what: str) -> re.Match[str]:
        line = next(self._lines, "").strip()
        found = form.fullmatch(line)
        if found is None:
            raise UnreadableStateError(f"expected a line about {what}, got {line[:80]!r}")
        return found

    def _read_pot(self, number: int, cell: int) -> None:
        found = self._next(_POT, f"pot {number}")
        if (int(found[1]), self._cell(found[2], found[3])) != (number, cell):
            raise UnreadableStateError(f"pot {number} is at {_at(self._kitchen, cell)}, not as in {found[0][:80]!r}")
        self._contents[cell] = _pot_from_words(found[4])

    def _read_counters(self) -> None:
        things = self._next(_COUNTERS, "the counters")[1]
        for part in () if things == "nothing" else things.split("; "):
            found = _LIES.fullmatch(part)
            if found is None:
                raise UnreadableStateError(f"expected a thing at a place, got {part[:80]!r}")
            cell = self._cell(found[2], found[3])
            if self._contents[cell] != NOTHING:
                raise UnreadableStateError(f"{part[:80]!r} is not an empty counter")
            self._contents[cell] = _parse_name(found[1], WITH_ARTICLE[1:], "a thing") + 1

    def _chef(self, number: int) -> tuple[int, int, int]:
        found = self._next(_CHEF, f"chef {number}")
        if int(found[1]) != number:
            raise UnreadableStateError(f"expected chef {number}, got {found[0][:80]!r}")
        heading, held = _parse_name(found[4], HEADINGS, "a heading"), _parse_name(found[5], WITH_ARTICLE, "a thing")
        return self._cell(found[2], found[3]), heading, held

    def _cell(self, row: str, column: str) -> int:
        if int(row) >= self._kitchen.height or int(column) >= self._kitchen.width:
            raise UnreadableStateError(f"row {row}, column {column} is outside the kitchen")
        return int(row) * self._kitchen.width + int(column)


def _at(kitchen: Kitchen, cell: int) -> str:
    row, column = kitchen.place(cell)
    return f"row {row}, column {column}"


def describe_pot(contents: int) -> str:
    """Contents of a pot in words: `empty`, `2 onions`, `a soup that is done`, ..."""
    if contents == READY:
        return _IS_READY
    cooked = contents - FULL
    return _RAW[contents - POT] if cooked <= 0 else f"a soup that has cooked for {cooked} of {COOK_STEPS} steps"


def _pot_from_words(words: str) -> int:
    if words == _IS_READY:
        return READY
    cooks = _COOKS.fullmatch(words)
    if cooks is not None and 1 <= int(cooks[1]) < COOK_STEPS:
        return FULL + int(cooks[1])
    return POT + _parse_name(words, _RAW, "what is in a pot")


def _parse_name(word: str, known: Iterable[str], what: str) -> int:
    names = list(known)
    if word not in names:
        raise UnreadableStateError(f"{word[:80]!r} is not {what}: {', '.join(names)}")
    return names.index(word)
