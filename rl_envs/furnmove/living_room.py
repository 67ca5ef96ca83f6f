"""Furnished living rooms as large as those of AI2-THOR: a procedural substitute, drawn from statistics.

"A Cordial Sync" (Jain et al., ECCV 2020, section 5) uses 30 living rooms of AI2-THOR, which need that engine. One of
them, FloorPlan229, is known cell by cell, and shares and ratios are chosen after it; the other numbers are our own
choice. Results on these rooms must be called "procedural rooms, not AI2-THOR".

This file must not know about agents, episodes or which rooms are refused.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rl_envs.furnmove.furniture import FloorPlan, Piece
from rl_envs.furnmove.geometry import ROTATIONS, STEPS, cells_where_fits, clockwise, rectangle
from rl_envs.furnmove.room import Mask

HEIGHT_CELLS, WIDTH_CELLS = (13, 32), (13, 36)
"""Smallest and largest extent of a room, in cells for agents' centres."""

MEDIAN_HEIGHT, MEDIAN_WIDTH, SPREAD = 18.0, 23.0, 0.2
FREE_SHARE_MEAN, FREE_SHARE_DEVIATION = 0.585, 0.055
MAX_PIECES, MAX_TALL_PIECES = 24, 3
MAX_TALL_SHARE = 0.08
AIR_PROBABILITY = 0.85
_PASSAGE_CELLS = 2

_ALWAYS = (Piece(4, 8, "sofa"), Piece(3, 7, "tv_stand"), Piece(2, 2, "bin"))
_SOMETIMES = (
    Piece(4, 9, "sofa"),
    Piece(4, 4, "arm_chair"),
    Piece(4, 6, "coffee_table"),
    Piece(3, 3, "side_table"),
    Piece(3, 6, "desk"),
    Piece(6, 8, "dining_table"),  # with its chairs
    Piece(2, 2, "plant"),
    Piece(3, 6, "shelf"),
    Piece(2, 2, "floor_lamp"),
)
_WEIGHTS = np.array([3, 4, 4, 4, 2, 3, 1, 4, 3]) / 28.0


def furnished(rng: np.random.Generator) -> tuple[FloorPlan, Mask]:
    """Draw one living room.

    Returns:
        the furnished plan, and the cells for the television's centre, [4, H, W] bool.
    """
    plan = FloorPlan(_shape(rng))
    share = np.clip(rng.normal(FREE_SHARE_MEAN, FREE_SHARE_DEVIATION), 0.46, 0.69)
    wanted_free = share * plan.inside.size
    tall_pieces = 0
    for number in range(MAX_PIECES):
        piece = _ALWAYS[number] if number < len(_ALWAYS) else _SOMETIMES[rng.choice(len(_SOMETIMES), p=_WEIGHTS)]
        area = piece.depth * piece.length
        if plan.free.sum() - area / 2 < wanted_free:
            break
        may_be_tall = tall_pieces < MAX_TALL_PIECES and plan.tall.sum() + area <= MAX_TALL_SHARE * plan.inside.size
        if may_be_tall or not piece.is_tall:
            tall_pieces += plan.place(piece, rng, _PASSAGE_CELLS) and piece.is_tall
    return plan, _tv_cells(plan, rng)


def _shape(rng: np.random.Generator) -> Mask:
    """Cells within the walls, [H, W] bool: a rectangle; in 30 % of rooms L-shaped or with stepped corners."""
    height, width = (
        int(np.clip(round(median * np.exp(rng.normal(0.0, SPREAD))), *limits))
        for median, limits in ((MEDIAN_HEIGHT, HEIGHT_CELLS), (MEDIAN_WIDTH, WIDTH_CELLS))
    )
    inside = np.ones((height, width), np.bool_)
    kind = rng.random()
    if kind < 0.15:
        _cut_corner(inside, rng, round(height * rng.uniform(0.2, 0.4)), round(width * rng.uniform(0.2, 0.4)))
    elif kind < 0.30:
        for _ in range(rng.integers(1, 4)):
            _cut_corner(inside, rng, int(rng.integers(1, 4)), int(rng.integers(1, 5)))
    return inside


def _cut_corner(inside: Mask, rng: np.random.Generator, rows: int, columns: int) -> None:
    """Cut a rectangle off at a random corner, in place."""
    corner = inside[:: rng.choice((-1, 1)), :: rng.choice((-1, 1))]
    corner[:rows, :columns] = False


def _tv_cells(plan: FloorPlan, rng: np.random.Generator) -> Mask:
    """Cells of the television's centre, [4, H, W] bool: 1.0-1.1 m wide, clear of walls and tall furniture.

    Agents' centres keep a radius from every wall and lie on the grid, so on some sides there is another cell of air
    beyond the outermost cell. A bar of 5 x 1 cells may use that air, with its centre inside.
    """
    air = np.pad(plan.inside, 1)
    inside = air.copy()
    for step in STEPS[rng.random(ROTATIONS) < AIR_PROBABILITY]:
        air |= np.roll(inside, tuple(step), axis=(0, 1))
    clear = air & ~np.pad(plan.tall, 1)
    bar: NDArray[np.int64] = rectangle(range(1), range(-2, 3))
    masks = [cells_where_fits(clear, clockwise(bar, rotation)) & inside for rotation in range(ROTATIONS)]
    return np.stack(masks)[:, 1:-1, 1:-1]
