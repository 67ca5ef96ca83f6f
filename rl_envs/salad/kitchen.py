"""Kitchens: maps A, B and C (Verco, section 5.1; TWOSOME's layouts), their content, and all shortest paths.

Paths are tables: in a kitchen of 49 cells the first move of a shortest path is a look-up, also around the other agent.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from rl_envs.core.arguments import one_of
from rl_envs.core.spec import Array
from rl_envs.salad.symbols import (
    BOARD,
    CELLS,
    COUNTER,
    DELIVERY,
    FOODS,
    NOTHING,
    NUM_BOARDS,
    NUM_PLATES,
    RECIPES,
    SIDE,
    STAY,
    STEPS,
)

LAYOUTS = {
    "A": ("#####T#", "K.....L", "K.....O", "D.....#", "#.....#", "#.....P", "#####P#"),
    "B": ("#####T#", "K..#..L", "K..#..O", "D..#..#", "#..#..#", "#..#..P", "#####P#"),
    "C": ("#####T#", "K..#..L", "K..#..O", "D..#..#", "#..#..#", "#.....P", "#####P#"),
    "D": ("#####T#", "#..#..L", "#..#..O", "D..#..K", "#..#..K", "#..#..P", "#####P#"),
}
"""A: one room; B: two rooms; C: two rooms with a doorway; D is ours: one agent cooks, the other one can only serve."""
MISSING: dict[str, tuple[tuple[str, int], ...]] = {
    "full": (),
    "one_plate": (("P", 0),),
    "tomato": (("P", 0), ("L", 0), ("O", 0), ("K", 1)),
}
"""Kitchen -> (letter, index in scan order) of the cells that are plain counters in it. The papers' language agents work
in the last two."""
STARTS = np.array([1 * SIDE + 2, 1 * SIDE + 4])
SHARED_ROWS = (3, 2, 4, 1, 5)
"""Order in which cells of a dividing counter are used."""
FAR = 99
"""Distance of a cell without a path."""
_LETTERS = {"#": COUNTER, ".": 0, "T": COUNTER, "L": COUNTER, "O": COUNTER, "P": COUNTER, "K": BOARD, "D": DELIVERY}


@dataclass(frozen=True, eq=False)
class Kitchen:
    """The constant part of a kitchen."""

    # seven rows, `#` counter, `.` floor, `T` `L` `O` `P` homes of foods and plates, `K` board, `D` delivery
    drawing: tuple[str, ...]
    fixtures: Array  # [49] uint8, kind of each cell
    is_floor: Array  # [49] bool, whether each cell is floor
    homes: Array  # [5] int64, cell of each thing at the start, NOTHING if the kitchen lacks it. Plates in scan order.
    has: Array  # [5] bool, things that this kitchen has
    boards: Array  # [2] int64, cells; NOTHING for a missing one
    board_of: Array  # [49] int64, number of the board in this cell, or NOTHING
    delivery: int  # cell of the delivery
    shared: tuple[int, ...]  # cells of the dividing counter, in the order in which they are used
    neighbours: Array  # [5, 49] int64, cell that each move leads to
    counters: Array  # [49] bool, counters beside the floor
    spare: Array  # [5, K] int64, these counters, nearest to the home of each thing first
    distance: Array  # [49, 49] int64, number of moves from a floor cell (second) until a cell (first) is touched
    # [49, 49, 49] uint8, by cell of the other agent (0 for nowhere), target and own cell: the first move of a shortest
    # path around the other agent, STAY where there is none
    first_move: Array
    in_sight: Array  # [49, 49] bool, whether a cell (second) can be seen from a cell (first)

    @property
    def num_boards(self) -> int:
        """Number of boards."""
        return int((self.boards != NOTHING).sum())


def get_drawing(layout: str, kitchen: str) -> tuple[str, ...]:
    """Rows of a map with the content of a kitchen."""
    one_of(LAYOUTS, layout=layout)
    one_of(MISSING, kitchen=kitchen)
    letters = list("".join(LAYOUTS[layout]))
    for cell in [_padded("".join(letters), letter, 0)[which] for letter, which in MISSING[kitchen]]:
        letters[cell] = "#"
    return tuple("".join(letters[row * SIDE : (row + 1) * SIDE]) for row in range(SIDE))


def usual_kitchen(recipes: Sequence[str]) -> str:
    """The kitchen in which the papers' language agents make these salads."""
    return "tomato" if set(recipes) == {"tomato"} else "one_plate"


def check_recipes(recipes: Sequence[str], kitchen: Kitchen) -> None:
    """Require recipes that exist and that this kitchen can make; raises ValueError."""
    if not recipes or isinstance(recipes, str):
        raise ValueError(f"recipes must be a list of at least one of {', '.join(RECIPES)}, got {recipes!r}")
    for recipe in recipes:
        one_of(RECIPES, recipes=recipe)
        lacking = [food for place, food in enumerate(FOODS) if food in recipe.split("-") and not kitchen.has[place]]
        if lacking:
            raise ValueError(f"this kitchen has no {lacking[0]} for the recipe {recipe!r}: take a kitchen that has")


@cache
def make_kitchen(drawing: tuple[str, ...], sight: int) -> Kitchen:
    """Compute all tables of a kitchen of seven rows of seven letters; agents see `sight` cells in each direction."""
    letters = _checked(drawing)
    fixtures = np.array([_LETTERS[letter] for letter in letters], np.uint8)
    is_floor = fixtures == 0
    rows, columns = np.divmod(np.arange(CELLS), SIDE)
    neighbours = np.clip(rows + STEPS[:, :1], 0, SIDE - 1) * SIDE + np.clip(columns + STEPS[:, 1:], 0, SIDE - 1)
    if ((fixtures[neighbours[:STAY]] == BOARD).sum(0)[is_floor] > 1).any():
        raise ValueError("a drawing must have no floor beside two boards: chopping there would be ambiguous")
    is_beside_floor = is_floor[neighbours[:STAY]].any(0)
    lost = [letter for letter, is_beside in zip(letters, is_beside_floor, strict=True) if not is_beside]
    if set(lost) - set("#."):
        raise ValueError(f"a drawing must have floor beside each of {' '.join(_LETTERS)} but # and ., got {drawing!r}")
    homes = np.array([_padded(letters, letter, 1)[0] for letter in "TLO"] + _padded(letters, "P", NUM_PLATES), np.int64)
    boards = np.array(_padded(letters, "K", NUM_BOARDS), np.int64)
    board_of = np.full(CELLS, NOTHING)
    board_of[boards[boards != NOTHING]] = np.flatnonzero(boards != NOTHING)
    distances = _distances(is_floor, neighbours)
    apart = abs(rows[:, None] - rows) + abs(columns[:, None] - columns)
    counters = (fixtures == COUNTER) & is_beside_floor
    divider = [row * SIDE + SIDE // 2 for row in SHARED_ROWS]
    return Kitchen(
        drawing=drawing,
        fixtures=fixtures,
        is_floor=is_floor,
        homes=homes,
        has=homes != NOTHING,
        boards=boards,
        board_of=board_of,
        delivery=letters.index("D"),
        shared=tuple(cell for cell in divider if fixtures[cell] == COUNTER),
        neighbours=neighbours,
        counters=counters,
        spare=_spare(homes, apart, counters),
        distance=distances[0],
        first_move=_first_moves(distances, is_floor, neighbours),
        in_sight=np.maximum(abs(rows[:, None] - rows), abs(columns[:, None] - columns)) <= sight,
    )


def _checked(drawing: tuple[str, ...]) -> str:
    letters = "".join(drawing)
    if len(drawing) != SIDE or any(len(row) != SIDE for row in drawing) or set(letters) - set(_LETTERS):
        raise ValueError(f"a drawing must be {SIDE} rows of {SIDE} letters of {' '.join(_LETTERS)}, got {drawing!r}")
    border = drawing[0] + drawing[-1] + "".join(row[0] + row[-1] for row in drawing)
    if "." in border or any(letters[start] != "." for start in STARTS):
        raise ValueError("a drawing must have no floor at its border and floor where agents start, (1, 2) and (1, 4)")
    for letter, least, most in (("T", 0, 1), ("L", 0, 1), ("O", 0, 1), ("P", 1, 2), ("K", 1, 2), ("D", 1, 1)):
        if not least <= letters.count(letter) <= most:
            raise ValueError(f"a drawing must have {least} to {most} of {letter}, got {letters.count(letter)}")
    return letters


def _padded(letters: str, letter: str, count: int) -> list[int]:
    """Cells with this letter in scan order, padded with NOTHING to `count`."""
    found = [cell for cell, here in enumerate(letters) if here == letter]
    return found + [NOTHING] * (count - len(found))


def _distances(is_floor: Array, neighbours: Array) -> Array:
    """Distances [49 (other agent), 49 (target), 49 (own cell)] int64; a neighbouring target has distance 1."""
    target, own = np.eye(CELLS, dtype=bool), is_floor
    near = target[:, neighbours[:STAY]].any(1) & own & ~is_floor[:, None]
    free = own & (np.arange(CELLS)[:, None] != np.arange(CELLS))
    distance = np.where(near, 1, FAR) + np.zeros((CELLS, 1, 1), np.int64)
    for _ in range(CELLS):
        # A path may leave the other agent's cell but not enter it.
        entered = np.where(free[:, None], distance, FAR)
        longer = np.where(own, np.minimum(distance, entered[:, :, neighbours[:STAY]].min(2) + 1), FAR)
        if (longer == distance).all():
            break
        distance = longer
    return np.minimum(distance, FAR)


def _first_moves(distances: Array, is_floor: Array, neighbours: Array) -> Array:
    """[49, 49, 49] uint8, first moves; of equally good ones the first in `MOVES`."""
    others, targets = np.arange(CELLS)[:, None, None, None], np.arange(CELLS)[:, None, None]
    reached = neighbours[:STAY]
    after = np.where(others == reached, FAR, distances[:, :, reached])
    cost = np.where(reached == targets, 0, after)
    best = cost.argmin(2)
    return np.where((cost.min(2) < FAR) & is_floor, best, STAY).astype(np.uint8)


def _spare(homes: Array, apart: Array, is_counter: Array) -> Array:
    cells = np.flatnonzero(is_counter)
    return np.stack([cells[np.argsort(apart[home][cells], kind="stable")] for home in homes])
