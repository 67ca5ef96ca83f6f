"""All sentences about one kitchen and all phrases of its actions, in our words, with their ids.

A description has slots in a fixed order: kitchen, things in their usual places, each thing elsewhere, each board, the
team mate, the agent itself, the order. Each slot holds one of its sentences, or the empty sentence. This file holds
sentences and their ids.
"""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from rl_envs.core.spec import Array
from rl_envs.salad import macro_actions as macro
from rl_envs.salad.kitchen import Kitchen
from rl_envs.salad.symbols import AGENT_NAMES, FOODS, MOVES, NOTHING, NUM_FOODS, RECIPES, SIDE, STAY

NUM_CONTENTS = 2**NUM_FOODS
FIRST_BOWL = 1 + 2 * NUM_FOODS
"""First bowl among the loads of a hand or a board: nothing, three unchopped foods, three chopped ones, then bowls."""
ROOMS = ("", "the left room of ", "the right room of ", "the doorway of ")
"""Position of an agent: no dividing counter, left of it, right of it, in its gap."""
NUM_HANDS = 6
"""Variants of an action's phrase, by the thing in hand: nothing, three foods, a bowl, and nothing for a filled bowl."""


class Grammar:
    """Sentences and phrases of one kitchen.

    Attributes:
        sentences: all sentences; number 0 is "".
        first: slot -> id of its first sentence.
        phrases: all phrases; the phrase of action k in variant v has the id `k * NUM_HANDS + v`.
        offsets: offsets (rows, columns) at which the other agent is in sight.
        spots: [49] int64, number of each reachable counter, NOTHING for other cells.
        num_loads: number of loads.
        landmark: [49] int64, landmark beside each cell, 0 for none.
    """

    def __init__(self, kitchen: Kitchen, actions: Sequence[int], sight: int) -> None:
        """Compose all sentences and phrases of a kitchen; agents see `sight` cells in each direction."""
        self._kitchen = kitchen
        steps = range(1 - SIDE, SIDE) if sight >= SIDE else range(-sight, sight + 1)
        self.offsets = [place for place in itertools.product(steps, steps) if place != (0, 0)]
        self.num_loads = FIRST_BOWL + int(kitchen.has[NUM_FOODS:].sum()) * NUM_CONTENTS
        self._has_two_bowls = bool(kitchen.has[NUM_FOODS:].all())
        self._things = _thing_names(kitchen)
        self._boards = _board_names(kitchen)
        self.spots, self._spot_names = _spots(kitchen)
        self.landmark, self._landmarks = _landmarks(kitchen, self._boards)
        self._loads = [self._load(number) for number in range(self.num_loads)]
        self.first: dict[str, int] = {}
        sentences = [""]
        for slot, texts in self._slots():
            self.first[slot] = len(sentences)
            sentences += texts
        self.sentences = tuple(sentences)
        self.phrases = tuple(self._phrase(action, hand) for action in actions for hand in range(NUM_HANDS))

    def _slots(self) -> Iterator[tuple[str, list[str]]]:
        boards = "two cutting boards" if self._kitchen.num_boards > 1 else "one cutting board"
        yield (
            "kitchen",
            [f"You are {me} and cook in {room}a kitchen with {boards}." for me in AGENT_NAMES for room in ROOMS],
        )
        yield "usual", [self._usual(bits) for bits in range(1, 2 ** len(self._things))]
        for thing in np.flatnonzero(self._kitchen.has):
            yield (
                f"thing_{thing}",
                [f"{_capital(text)} lies on {spot}." for text in self._states(int(thing)) for spot in self._spot_names],
            )
        for number, name in enumerate(self._boards):
            yield (
                f"board_{number}",
                [
                    f"On {name} there is {load}." if place else f"{_capital(name)} is free."
                    for place, load in enumerate(self._loads)
                ],
            )
        mates = AGENT_NAMES[::-1]
        yield "mate", [f"{mate} is {where}." for mate in mates for where in self._mate()]
        yield (
            "self",
            [
                f"You stand at {spot} and hold {load}." if spot else f"You hold {load}."
                for spot in self._landmarks
                for load in self._loads
            ],
        )
        yield "order", [f"The guests order a salad of {_listed(recipe.split('-'))}." for recipe in RECIPES]
        yield "secret", [f"Only {mate} knows what the guests order." for mate in mates]

    def _usual(self, bits: int) -> str:
        names = [name for place, name in enumerate(self._things) if bits >> place & 1]
        return f"In {'their usual places' if len(names) > 1 else 'its usual place'} you see {_listed(names)}."

    def _states(self, thing: int) -> list[str]:
        """Names of a thing in all its conditions: a food unchopped and chopped, or a bowl with all contents."""
        if thing < NUM_FOODS:
            return [self._loads[1 + thing], self._loads[1 + NUM_FOODS + thing]]
        start = FIRST_BOWL + (thing - NUM_FOODS) * NUM_CONTENTS
        return self._loads[start : start + NUM_CONTENTS]

    def _load(self, number: int) -> str:
        if number == 0:
            return "nothing"
        if number <= 2 * NUM_FOODS:
            is_chopped, food = divmod(number - 1, NUM_FOODS)
            return f"{'a chopped' if is_chopped else 'an unchopped'} {FOODS[food]}"
        plate, contents = divmod(number - FIRST_BOWL, NUM_CONTENTS)
        foods = [f"chopped {food}" for place, food in enumerate(FOODS) if contents >> place & 1]
        article, bowl = ("", f"bowl {plate + 1}") if self._has_two_bowls else ("the ", "bowl")
        return f"{article}{bowl} with {_listed(foods)}" if foods else f"{article}empty {bowl}"

    def _mate(self) -> Iterator[str]:
        yield "out of sight"
        for down, right in self.offsets:
            ways = [_steps(down, "below", "above"), _steps(right, "right of", "left of")]
            yield from (f"{_listed([way for way in ways if way])} you and holds {load}" for load in self._loads)

    def _phrase(self, action: int, hand: int) -> str:
        load = ["nothing", *(f"the {food}" for food in FOODS), "the bowl", "nothing"][hand]
        if action == macro.WAIT:
            return "wait"
        if action < macro.GET + NUM_FOODS:
            food = FOODS[action - macro.GET]
            return f"add the {food} to the bowl" if load == "the bowl" else f"fetch the {food}"
        if action < macro.TO_BOARD:
            number = f" {action - macro.GET - NUM_FOODS + 1}" if self._has_two_bowls else ""
            if load == "nothing":
                return f"fetch the {'filled' if hand else 'empty'} bowl{number}"
            return f"add {load} to the bowl{number}"
        if action < macro.DELIVER:
            board = self._boards[action - macro.TO_BOARD]
            return f"walk to {board}" if load == "nothing" else f"put {load} on {board}"
        if action == macro.SHARE:
            return f"put {load} on the middle counter"
        if action < macro.STEP:
            return f"{'serve' if action == macro.DELIVER else 'chop'} {load}"
        return f"step {MOVES[action - macro.STEP]}"


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _steps(count: int, onwards: str, back: str) -> str:
    if count == 0:
        return ""
    return f"{abs(count)} {'step' if abs(count) == 1 else 'steps'} {onwards if count > 0 else back}"


def _thing_names(kitchen: Kitchen) -> list[str]:
    plates = [f"bowl {number}" for number in (1, 2)] if kitchen.has[NUM_FOODS:].all() else ["the bowl"]
    return [f"the {food}" for place, food in enumerate(FOODS) if kitchen.has[place]] + plates


def _board_names(kitchen: Kitchen) -> list[str]:
    if kitchen.num_boards == 1:
        return ["the cutting board"]
    return [f"cutting board {number + 1}" for number in range(kitchen.num_boards)]


def _spots(kitchen: Kitchen) -> tuple[Array, list[str]]:
    """Numbers [49] int64 and names of the reachable counters."""
    spots = np.full(len(kitchen.counters), NOTHING)
    spots[kitchen.counters] = np.arange(kitchen.counters.sum())
    names = []
    for cell in np.flatnonzero(kitchen.counters):
        row, column = divmod(int(cell), SIDE)
        if row in (0, SIDE - 1):
            names.append(f"spot {column} of the {'upper' if row == 0 else 'lower'} counter")
        else:
            side = {0: "left", SIDE // 2: "middle", SIDE - 1: "right"}.get(column)
            # Other columns occur only in custom drawings.
            names.append(
                f"spot {row} of the {side} counter" if side else f"spot {row} of the counter in column {column}"
            )
    return spots, names


def _landmarks(kitchen: Kitchen, boards: Sequence[str]) -> tuple[Array, list[str]]:
    """Landmark of each cell [49] int64 and the names; a board precedes the delivery and the middle counter."""
    beside = kitchen.neighbours[:STAY]
    marks = [("the middle counter", np.isin(beside, kitchen.shared).any(0))]
    marks += [("the delivery", (beside == kitchen.delivery).any(0))]
    marks += [(name, (kitchen.board_of[beside] == number).any(0)) for number, name in enumerate(boards)]
    landmark = np.zeros(len(kitchen.fixtures), np.int64)
    for number, (_, here) in enumerate(marks):
        landmark[here & kitchen.is_floor] = number + 1
    return landmark, ["", *(name for name, _ in marks)]
