"""Rooms generated from a seed, equal in every process, and the placement of their furniture.

Procedural rooms instead of the 30 living rooms of AI2-THOR in "A Cordial Sync" (Jain et al., ECCV 2020, section 6.1),
which need that engine. `full` rooms have the extent and the clutter of those rooms, drawn from statistics: one of them,
FloorPlan229, is known cell by cell, and shares and ratios are chosen after it; the other numbers are our own choice.
`laptop` is a small version of the same task. Results on these rooms must be called "procedural rooms, not AI2-THOR".

Furniture is rectangles, along a wall or apart from walls. Sizes count cells that are closed to an agent's centre, so
they include the agent's radius. Rooms in which the television can be carried only in a part, or with few places for the
stand, are rejected.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rl_envs.core.arguments import one_of
from rl_envs.furnmove.geometry import ROTATIONS, STEPS, TV_BAR, cells_where_fits
from rl_envs.furnmove.kinds import KINDS, TALL_KINDS
from rl_envs.furnmove.room import (
    FREE,
    LOW,
    TALL,
    WALL,
    Furniture,
    Mask,
    Room,
    holdable_poses,
    largest_part,
    room_from_drawing,
    stand_cells,
)

WALL_SHARE = 0.65
"""Share of the pieces that are placed along a wall."""


@dataclass(frozen=True)
class Piece:
    """A rectangular piece of furniture."""

    depth: int  # sides in cells; the length runs along the wall
    length: int  # sides in cells; the length runs along the wall
    kind: str  # a name of `kinds.KINDS`

    @property
    def is_tall(self) -> bool:
        """Whether it also blocks the lifted television."""
        return self.kind in TALL_KINDS


class FloorPlan:
    """A partly furnished room.

    Attributes:
        inside: [H, W] bool, cells within the walls.
        low, tall: [H, W] bool, cells under low and under tall furniture.
        furniture: the pieces that were placed.
    """

    def __init__(self, inside: Mask) -> None:
        self.inside = inside
        self.low = np.zeros_like(inside)
        self.tall = np.zeros_like(inside)
        self.furniture: list[Furniture] = []

    @property
    def free(self) -> Mask:
        """[H, W] bool, cells within the walls and under no furniture."""
        return self.inside & ~self.low & ~self.tall

    def place(self, piece: Piece, rng: np.random.Generator, gap_cells: int = 0) -> bool:
        """Put a piece at a random place where it fits; returns False, without a change, if there is none.

        A piece apart from walls keeps a free passage of `gap_cells` around it.
        """
        height, width = (piece.depth, piece.length) if rng.random() < 0.5 else (piece.length, piece.depth)
        at_wall = rng.random() < WALL_SHARE
        if min(self.inside.shape[0] - height, self.inside.shape[1] - width) < 0:
            return False
        fits = self._fits_at_wall(height, width) if at_wall else self._fits_apart(height, width, gap_cells)
        corners = np.flatnonzero(fits)
        if not corners.size:
            return False
        row, column = np.unravel_index(corners[rng.integers(corners.size)], fits.shape)
        cells = self.tall if piece.is_tall else self.low
        cells[row : row + height, column : column + width] = True
        place = int(row), int(column), height, width
        self.furniture.append(Furniture(piece.kind, *place, KINDS[piece.kind].height))
        return True

    def keep_floor(self, kept: Mask) -> None:
        """Fill every free cell outside of `kept` [H, W] with low furniture."""
        self.low |= self.free & ~kept

    def drawing(self) -> tuple[str, ...]:
        """The room as H strings of W characters, without the surrounding wall."""
        cells = np.where(self.tall, TALL, np.where(self.low, LOW, np.where(self.inside, FREE, WALL)))
        return tuple("".join(row) for row in cells.tolist())

    def _fits_at_wall(self, height: int, width: int) -> Mask:
        """Corners of places on free floor with their length along a wall, [H - height + 1, W - width + 1] bool."""
        rows, columns = self.inside.shape[0] - height + 1, self.inside.shape[1] - width + 1
        free = _count(~self.free, height, width) == 0
        around = np.pad(self.inside, 1)
        flush = np.zeros_like(free)
        if width >= height:
            strip = _count(around, 1, width)[:, 1 : 1 + columns] == 0
            flush |= strip[:rows] | strip[height + 1 :][:rows]
        if height >= width:
            strip = _count(around, height, 1)[1 : 1 + rows] == 0
            flush |= strip[:, :columns] | strip[:, width + 1 :][:, :columns]
        return free & flush

    def _fits_apart(self, height: int, width: int, gap_cells: int) -> Mask:
        """Corners of places with a free passage around, [H - height + 1, W - width + 1] bool."""
        closed = np.pad(~self.free, gap_cells, constant_values=True)
        return _count(closed, height + 2 * gap_cells, width + 2 * gap_cells) == 0


def _count(mask: Mask, height: int, width: int) -> NDArray[np.int32]:
    """Number of set cells in each window of the mask: [H, W] bool -> [H - height + 1, W - width + 1] int32."""
    total = np.zeros((mask.shape[0] + 1, mask.shape[1] + 1), np.int32)
    total[1:, 1:] = mask.cumsum(0, dtype=np.int32).cumsum(1)
    return total[height:, width:] - total[:-height, width:] - total[height:, :-width] + total[:-height, :-width]


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
    """Draw one living room; gives its plan, and the cells for the television's centre, [4, H, W] bool."""
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
    """Cells of the television's centre, [4, H, W] bool: 1.0-1.1 m wide, clear of walls and tall furniture."""
    air = np.pad(plan.inside, 1)
    inside = air.copy()
    for step in STEPS[rng.random(ROTATIONS) < AIR_PROBABILITY]:
        air |= np.roll(inside, tuple(step), axis=(0, 1))
    clear = air & ~np.pad(plan.tall, 1)
    masks = [cells_where_fits(clear, bar) & inside for bar in TV_BAR]
    return np.stack(masks)[:, 1:-1, 1:-1]


LAPTOP_CELLS = (9, 12)
"""Smallest and largest side of a laptop room, in cells."""

MAX_CELLS = {"full": (HEIGHT_CELLS[1], WIDTH_CELLS[1]), "laptop": (LAPTOP_CELLS[1],) * 2}
"""Size -> largest (H, W) of a room."""

MIN_POSES, MIN_STAND_PLACES, MIN_CARRY_SHARE = 30, 20, 0.9
FULL_FREE_SHARE, FULL_FREE_CELLS = (0.45, 0.70), (120, 600)
_ATTEMPTS = 1000
_LAPTOP_PIECES = (Piece(2, 2, "arm_chair"), Piece(2, 3, "coffee_table"), Piece(1, 3, "tv_stand"))
_TALL_CELL = Piece(1, 1, "floor_lamp")
_LAPTOP_TALL_SHARE = 0.4


def generate_room(seed: int, size: str, name: str) -> Room:
    """The room that a seed >= 0 determines: `full` has 13-32 x 13-36 cells, `laptop` 9-12 x 9-12."""
    one_of(_MAKERS, size=size)
    rng = np.random.Generator(np.random.PCG64(seed))
    for _ in range(_ATTEMPTS):
        room = _MAKERS[size](rng, name)
        if room is not None and is_playable(room):
            return room
    raise RuntimeError(f"no playable {size} room in {_ATTEMPTS} attempts with seed {seed}")  # odds below 1e-100


def is_playable(room: Room) -> bool:
    """Whether the stand has enough places and the television can be carried through nearly all of the room."""
    if stand_cells(room).any(0).sum() < MIN_STAND_PLACES:
        return False
    poses = holdable_poses(room)
    count = int(poses.sum())
    return count >= MIN_POSES and int(largest_part(poses).sum()) >= MIN_CARRY_SHARE * count


def _full_room(rng: np.random.Generator, name: str) -> Room | None:
    plan, tv_cells = furnished(rng)
    floor = _keep_largest_floor(plan)
    free, share = int(floor.sum()), floor.mean()
    if not FULL_FREE_CELLS[0] <= free <= FULL_FREE_CELLS[1] or not FULL_FREE_SHARE[0] <= share <= FULL_FREE_SHARE[1]:
        return None
    return room_from_drawing(name, plan.drawing(), tv_cells, plan.furniture)


def _laptop_room(rng: np.random.Generator, name: str) -> Room:
    height, width = rng.integers(LAPTOP_CELLS[0], LAPTOP_CELLS[1] + 1, 2)
    plan = FloorPlan(np.ones((height, width), np.bool_))
    for number in rng.integers(len(_LAPTOP_PIECES), size=rng.integers(1, 5)):
        plan.place(_LAPTOP_PIECES[number], rng)
    if rng.random() < _LAPTOP_TALL_SHARE:
        plan.place(_TALL_CELL, rng)
    _keep_largest_floor(plan)
    return room_from_drawing(name, plan.drawing(), furniture=plan.furniture)


def _keep_largest_floor(plan: FloorPlan) -> Mask:
    """Close floor that agents cannot reach; returns the remaining floor, [H, W] bool."""
    floor = largest_part(plan.free)
    plan.keep_floor(floor)
    return floor


_MAKERS: dict[str, Callable[[np.random.Generator, str], Room | None]] = {"full": _full_room, "laptop": _laptop_room}
