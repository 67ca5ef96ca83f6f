"""A room of FurnMove: the cells for agents and for the lifted television.

Gridworld of "A Cordial Sync" (Jain et al., ECCV 2020), section 6.1: the room is one mask of cells for the centres of
agents, and one mask per rotation for the centre of the television, which moves above low furniture. The television's
masks do not follow from the floor alone, so a room stores them; `tv_cells_by_rule` computes them where they are not
given.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from rl_envs.furnmove.geometry import (
    HOLD_MASKS,
    HOLD_REACH,
    MIN_AGENT_SEPARATION,
    ROTATIONS,
    STAND,
    TV_BODY,
    cells_where_fits,
)

Mask = NDArray[np.bool_]

FREE, LOW, TALL, WALL, OUTSIDE = ".", "o", "X", "#", " "
CELL_MEANINGS = {
    FREE: "free floor, an agent may stand here",
    LOW: "furniture lower than the lifted television: stops agents only",
    TALL: "tall furniture: stops agents and television",
    WALL: "wall",
    OUTSIDE: "outside of the room",
}


@dataclass(frozen=True)
class Furniture:
    """One rectangular piece of furniture, in cells that are closed to an agent's centre."""

    kind: str  # a name of `kinds.KINDS`
    row: int  # its north-west cell
    column: int  # its north-west cell
    rows: int  # its extent
    columns: int  # its extent
    height: float  # height in metres

    @property
    def cells(self) -> tuple[slice, slice]:
        """Its cells, as an index of arrays [H, W]."""
        return slice(self.row, self.row + self.rows), slice(self.column, self.column + self.columns)


@dataclass(frozen=True, eq=False)
class Room:
    """One room of H x W cells of 0.25 m. Its arrays are read-only and may be shared."""

    name: str  # name, unique among the rooms of a split
    agent_cells: Mask  # [H, W] bool, cells for an agent's centre, before a stand is placed
    tv_cells: Mask  # [4, H, W] bool, cells for the television's centre, one mask per rotation (clockwise quarter turns)
    # H strings of W characters (`CELL_MEANINGS`) without the surrounding wall; for rendering and files
    drawing: tuple[str, ...]
    # pieces that are known one by one; others are joined from the drawing (`furnishing.py`)
    furniture: tuple[Furniture, ...] = ()

    def __post_init__(self) -> None:
        """Copy the arrays and make them read-only, because rooms are shared."""
        for field in ("agent_cells", "tv_cells"):
            array = np.array(getattr(self, field), np.bool_)
            array.flags.writeable = False
            object.__setattr__(self, field, array)

    @property
    def height(self) -> int:
        """H, cells from north to south."""
        return self.agent_cells.shape[0]

    @property
    def width(self) -> int:
        """W, cells from west to east."""
        return self.agent_cells.shape[1]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Room)
            and (self.name, self.drawing, self.furniture) == (other.name, other.drawing, other.furniture)
            and np.array_equal(self.agent_cells, other.agent_cells)
            and np.array_equal(self.tv_cells, other.tv_cells)
        )

    def __hash__(self) -> int:
        return hash((self.name, self.drawing))


def room_from_drawing(
    name: str, drawing: Sequence[str], tv_cells: Mask | None = None, furniture: Sequence[Furniture] = ()
) -> Room:
    """A room from H strings of W characters (`CELL_MEANINGS`), without the surrounding wall.

    `tv_cells` [4, H, W] bool follow from the rule by default; `furniture` are pieces that are known one by one.
    """
    if tv_cells is None:
        tv_cells = tv_cells_by_rule(drawing)
    return Room(name, characters(drawing) == FREE, tv_cells, tuple(drawing), tuple(furniture))


def tv_cells_by_rule(drawing: Sequence[str]) -> Mask:
    """Cells for the television's centre if its 13 cells must stay clear of walls and tall furniture, [4, H, W] bool."""
    clear = np.isin(characters(drawing), (FREE, LOW))
    return np.stack([cells_where_fits(clear, body) for body in TV_BODY])


def stand_cells(room: Room) -> Mask:
    """Cells for the stand's centre, [4, H, W] bool: all its 15 cells are cells for agents."""
    return np.stack([cells_where_fits(room.agent_cells, stand) for stand in STAND])


def characters(drawing: Sequence[str]) -> NDArray[np.str_]:
    """The drawing as an array of single characters, [H, W]."""
    return np.array([list(row) for row in drawing], dtype="<U1")


def drawing_of_masks(agent_cells: Mask, tv_cells: Mask) -> tuple[str, ...]:
    """H strings of W characters from masks: cells that only the television can enter become low furniture."""
    cells = np.where(agent_cells, FREE, np.where(tv_cells.any(0), LOW, WALL))
    return tuple("".join(row) for row in cells.tolist())


_SIDE = 2 * HOLD_REACH + 1


def largest_part(cells: Mask) -> Mask:
    """The largest connected part of a mask, [H, W] or [4, H, W] bool, same shape; the first of equally large ones.

    With a leading axis of four rotations, poses that differ by a quarter turn are neighbours too.
    """
    # The mask becomes one long integer with one bit per cell, so a shift moves all cells at once. A closed row and
    # column at the end separate rows from each other. This costs a tenth of shifting arrays.
    framed = np.pad(cells, [(0, 0)] * (cells.ndim - 2) + [(0, 1), (0, 1)])
    row, plane = framed.shape[-1], framed.shape[-1] * framed.shape[-2]
    shifts = (1, row) if cells.ndim == 2 else (1, row, plane, (ROTATIONS - 1) * plane)
    left = int.from_bytes(np.packbits(framed, bitorder="little").tobytes(), "little")
    best = 0
    while left.bit_count() > best.bit_count():
        part = _part_around(left & -left, left, shifts)
        left ^= part
        best = max(best, part, key=int.bit_count)
    bits = np.frombuffer(best.to_bytes((framed.size + 7) // 8, "little"), np.uint8)
    found = np.unpackbits(bits, count=framed.size, bitorder="little").view(np.bool_)
    return found.reshape(framed.shape)[..., :-1, :-1].copy()


def _part_around(start: int, cells: int, shifts: tuple[int, ...]) -> int:
    """The connected part of `cells` that contains `start`; bits that differ by one of the shifts are neighbours."""
    part, grown = 0, start
    while grown != part:
        part = grown
        for shift in shifts:
            grown |= part << shift | part >> shift
        grown &= cells
    return part


def holdable_poses(room: Room) -> Mask:
    """Poses of the television [4, H, W] in which two agents can hold it, far enough apart."""
    padded = np.pad(room.agent_cells, HOLD_REACH)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (_SIDE, _SIDE))
    rotation, row, column = np.nonzero(room.tv_cells)
    wanted = room.tv_cells.any(0)
    around = windows[wanted].reshape(-1, _SIDE * _SIDE).astype(np.float32)
    has_agent = np.greater(around @ _line_sums(), 0).reshape(-1, ROTATIONS, 2, _SIDE)
    # Two cells at least 2 apart exist exactly if the occupied rows or the occupied columns span at least 2.
    seen: Mask = np.logical_or.accumulate(has_agent[..., :-MIN_AGENT_SEPARATION], axis=-1)
    holdable = (seen & has_agent[..., MIN_AGENT_SEPARATION:]).any(axis=(-1, -2))
    number = np.cumsum(wanted).reshape(wanted.shape) - 1
    poses = np.zeros_like(room.tv_cells)
    poses[rotation, row, column] = holdable[number[row, column], rotation]
    return poses


def carry_poses(room: Room) -> Mask:
    """Poses among which the television can be carried, [4, H, W]: the largest connected part of `holdable_poses`."""
    return largest_part(holdable_poses(room))


@cache
def _line_sums() -> NDArray[np.float32]:
    """[121, 4 * 2 * 11] float32, matrix that sums the hold cells of a window by row, then by column."""
    sums = np.zeros((_SIDE, _SIDE, ROTATIONS, 2, _SIDE), np.float32)
    for rotation, mask in enumerate(HOLD_MASKS):
        for row, column in np.argwhere(mask):
            sums[row, column, rotation, 0, row] = 1
            sums[row, column, rotation, 1, column] = 1
    return sums.reshape(_SIDE * _SIDE, -1)
