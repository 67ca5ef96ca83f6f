"""Generated kitchens: maps with the same kinds of cells as A to D but other places, and other salads.

A small language model is pretrained on texts of these kitchens alone. The tested kitchens (`tasks.TESTED`) are held out
completely. No generated kitchen has a map of `kitchen.LAYOUTS`; none orders a salad of tomato alone; a salad of one
food, and with it a secret order, has one cutting board here, and two in `secret_order`. Each prompt names its boards
and its order, so no prompt of a tested kitchen can be one of a generated kitchen.
"""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from rl_envs.core.arguments import one_of
from rl_envs.core.chance import Chance
from rl_envs.salad.kitchen import LAYOUTS
from rl_envs.salad.symbols import FOODS, SIDE

KINDS = ("room", "two_rooms", "serving", "doorway")
"""Kinds of maps: one room; boards and delivery left, foods and bowl right; only the delivery left; two rooms with a
doorway. Kitchen number n is of kind n modulo 4."""
ONE_FOOD = ("lettuce", "onion")
"""Salads that are ordered in kitchens with one cutting board."""
SEVERAL_FOODS = ("lettuce-tomato", "onion-tomato", "lettuce-onion", "lettuce-onion-tomato")
"""Salads that are ordered in kitchens with two cutting boards; in one room, where cooks block each other, the pairs."""
_STYLES = ("secret", "several", "single")
_SECRET_KINDS = ("two_rooms", "serving")
_MIDDLE = SIDE // 2
_LETTERS = {"tomato": "T", "lettuce": "L", "onion": "O"}
_DRAWS = 3 + 4 * SIDE
"""Uniform numbers that a kitchen takes: its doorway, its salad, its foods, and more than one for each border cell."""


def procedural_kitchen(number: int, seed: int = 0) -> dict[str, Any]:
    """Arguments of `salad-v0` for generated kitchen `number` >= 0 of a seed, the same in every process.

    Kitchens come in rounds of four, one of each kind: a round with one food, in which the order of two of the kinds is
    known by Alice alone; a round with several foods; and a round with one food that both know.
    """
    door, salad, stock, *places = Chance(seed, number, 1).uniforms(_DRAWS)[0].tolist()
    kind, style = KINDS[number % len(KINDS)], _STYLES[number // len(KINDS) % len(_STYLES)]
    if style == "secret" and kind in _SECRET_KINDS:
        drawing = procedural_drawing(kind, FOODS, 1, door, places)
        return {"drawing": drawing, "recipes": ONE_FOOD, "order_known_by": "Alice"}
    salads = ONE_FOOD if style != "several" else SEVERAL_FOODS[: 3 if kind == "room" else 4]
    recipe = salads[int(salad * len(salads))]
    foods = FOODS if stock < 0.5 else recipe.split("-")
    return {"drawing": procedural_drawing(kind, foods, 1 + (style == "several"), door, places), "recipes": (recipe,)}


def procedural_drawing(
    kind: str, foods: Sequence[str], num_boards: int, door: float, places: Sequence[float]
) -> tuple[str, ...]:
    """Seven rows of a generated map in which both cooks together reach everything, and which is none of A to D.

    Uniform number `door` places a doorway, and `places` [28] everything else at the border.
    """
    one_of(KINDS, kind=kind)
    rows = [["#" if _is_border(row, column) else "." for column in range(SIDE)] for row in range(SIDE)]
    for row in range(1, SIDE - 1):
        rows[row][_MIDDLE] = "." if kind == "room" else "#"
    if kind == "doorway":
        rows[1 + int(door * (SIDE - 2))][_MIDDLE] = "."
    free = _free_places(kind, places)
    for side, letters in _letters(kind, foods, num_boards).items():
        for letter in letters:
            row, column = free[side].pop()
            rows[row][column] = letter
    drawing = tuple("".join(row) for row in rows)
    return drawing if drawing not in LAYOUTS.values() else tuple(reversed(drawing))


def _letters(kind: str, foods: Sequence[str], num_boards: int) -> dict[str, str]:
    """Side -> letters of its fixtures."""
    things, boards = "".join(_LETTERS[food] for food in foods) + "P", "K" * num_boards
    if kind == "room":
        return {"any": things + boards + "D"}
    if kind == "serving":
        return {"left": "D", "right": things + boards}
    return {"left": boards + "D", "right": things}


def _free_places(kind: str, order: Sequence[float]) -> dict[str, list[tuple[int, int]]]:
    """Side -> cells of the border in random order, of which no two are touched from the same cell of floor."""
    cells = [cell for cell in itertools.product(range(SIDE), repeat=2) if _is_border(*cell)]
    drawn = [cells[place] for place in np.argsort(order[: len(cells)])]
    free: dict[str, list[tuple[int, int]]] = {"any": [], "left": [], "right": []}
    taken = set()
    for row, column in drawn:
        stand = (min(max(row, 1), SIDE - 2), min(max(column, 1), SIDE - 2))
        is_corner = stand != (row, column) and abs(stand[0] - row) + abs(stand[1] - column) == 2
        if is_corner or stand in taken or (column == _MIDDLE and kind != "room"):
            continue
        taken.add(stand)
        free["any"].append((row, column))
        free["left" if column < _MIDDLE else "right"].append((row, column))
    return free


def _is_border(row: int, column: int) -> bool:
    return row in (0, SIDE - 1) or column in (0, SIDE - 1)
