"""Maps of the frozen lake: Gymnasium's two, or holes by chance, each with two starts and two targets.

A random map, holes and targets, is fixed by its seed. It is kept only if both targets can be reached from both starts.
On the fixed maps one target at most is a corner far from the starts, so that guessing corners does not win.
"""

from dataclasses import dataclass

import numpy as np

from rl_envs.core.arguments import one_of
from rl_envs.core.chance import Chance
from rl_envs.core.spec import Array

MAPS = ("4x4", "8x8", "random-4x4", "random-8x8")
HOLE_SHARE = 0.2
"""Probability of a hole in each cell of a random map that is neither start nor target."""
_HOLES = {
    4: ((1, 1), (1, 3), (2, 3), (3, 0)),
    8: ((2, 3), (3, 5), (4, 3), (5, 1), (5, 2), (5, 6), (6, 1), (6, 4), (6, 6), (7, 3)),
}
_STARTS = {4: ((0, 0), (0, 3)), 8: ((0, 0), (0, 7))}
_TARGETS = {4: ((3, 1), (3, 3)), 8: ((4, 4), (7, 7))}
MOVES = np.array([(0, -1), (1, 0), (0, 1), (-1, 0)])
"""[4, 2] int64, (row, column) steps of the actions left, down, right, up; Gymnasium's order."""
LEGEND = {"hole": (48, 72, 104), "target": (226, 168, 40)}


@dataclass(frozen=True)
class Lake:
    """One map."""

    side: int  # number of rows, and of columns
    holes: Array  # [side * side] bool
    starts: Array  # [2] int64, cells (row * side + column) of the agents at the start
    targets: Array  # [2] int64, cells
    following: Array  # [side * side, 4] int64, the cell after an action; the same cell at a wall


def get_lake(name: str, map_seed: int = 0) -> Lake:
    """The lake with a name of `MAPS`; `map_seed` fixes the holes and targets of a random one."""
    one_of(MAPS, map=name)
    side = int(name[-1])
    starts, following = _cells(_STARTS[side], side), following_cells(side)
    if name.startswith("random"):
        holes, targets = _random_places(side, starts, following, map_seed)
    else:
        holes = np.isin(np.arange(side * side), _cells(_HOLES[side], side))
        targets = _cells(_TARGETS[side], side)
    return Lake(side, holes, starts, targets, following)


def following_cells(side: int) -> Array:
    """The cell that each action leads to from each cell, [side * side, 4] int64."""
    rows, columns = np.divmod(np.arange(side * side), side)
    row = (rows[:, None] + MOVES[:, 0]).clip(0, side - 1)
    column = (columns[:, None] + MOVES[:, 1]).clip(0, side - 1)
    return np.asarray(row * side + column)


def steps_to(cell: int, holes: Array, following: Array) -> Array:
    """Smallest number of moves from each cell to a cell, avoiding holes, [side * side] float64; inf without a path.

    `holes` [side * side] bool, `following` [side * side, 4] int64.
    """
    steps = np.full(len(holes), np.inf)
    steps[cell] = 0
    for _ in range(len(holes)):
        nearer = steps[following].min(1) + 1
        steps = np.where(holes, np.inf, np.minimum(steps, nearer))
    return steps


def _random_places(side: int, starts: Array, following: Array, map_seed: int) -> tuple[Array, Array]:
    """Holes [side * side] bool and targets [2] int64 of a random map."""
    chance = Chance(map_seed, 0, 1)
    free = np.setdiff1d(np.arange(side * side), starts)
    while True:
        drawn = chance.uniforms(side * side + len(free))[0]
        targets = np.sort(free[drawn[side * side :].argsort()[: len(starts)]])
        holes = drawn[: side * side] < HOLE_SHARE
        holes[starts] = holes[targets] = False
        if all(np.isfinite(steps_to(target, holes, following)[starts]).all() for target in targets):
            return holes, targets
        chance.next_step()


def _cells(places: tuple[tuple[int, int], ...], side: int) -> Array:
    return np.array([row * side + column for row, column in places])
