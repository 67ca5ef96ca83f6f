"""Checks that a room is playable; every fault is one sentence.

Task of "A Cordial Sync" (Jain et al., ECCV 2020, section 3): the stand must fit, two agents must be able to hold the
television, and the floor must be connected. Positions in messages count the surrounding wall as row 0 and column 0, as
in a room file.
"""

import re
from collections.abc import Sequence

import numpy as np

from rl_envs.furnmove.kinds import CARRY_METRES, KINDS
from rl_envs.furnmove.room import (
    CELL_MEANINGS,
    FREE,
    LOW,
    OUTSIDE,
    TALL,
    WALL,
    Mask,
    Room,
    carry_poses,
    characters,
    largest_part,
    stand_cells,
)

MAX_CELLS = 64
"""Largest height and width of a room, in cells inside the surrounding wall."""

MAX_HEIGHT_METRES = 2.6
"""Largest height of furniture; walls have 2.7 m."""

MAX_PIECES = 200
"""Largest number of pieces of furniture in a room."""

MIN_FLOOR_SHARE = 0.8
"""Least share of the free floor in its largest connected part."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_KNOWN = tuple(CELL_MEANINGS)


class RoomError(ValueError):
    """A room that is not playable; the message names the fault, its position and a remedy."""


def validate_room(room: Room) -> None:
    """Refuse (RoomError) a room that is not playable."""
    check_name(room.name)
    check_drawing(ringed(room.drawing))
    _check_masks(room)
    check_furniture(room)
    _check_floor(room.agent_cells)
    if not stand_cells(room).any():
        raise RoomError("the stand fits nowhere: leave a free rectangle of 3 x 5 cells ('.') somewhere on the floor")
    if not carry_poses(room).any():
        raise RoomError(
            "the television and two agents fit nowhere: it needs about 3 x 5 cells without '#' or 'X' and "
            "free floor ('.') around them"
        )


def check_name(name: object) -> None:
    """Refuse (RoomError) names that are not suitable for tables and file names."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        shown = repr(name[:80]) if isinstance(name, str) else f"no text but {type(name).__name__}"
        raise RoomError(f"name is {shown}: use 1 to 64 letters, digits, '_', '-', '.'; begin with a letter or digit")


def ringed(drawing: Sequence[str]) -> list[str]:
    """The drawing with a wall of one cell around it: H strings of W characters -> H + 2 of W + 2."""
    full_wall = WALL * (len(drawing[0]) + 2 if drawing else 2)
    return [full_wall, *(WALL + row + WALL for row in drawing), full_wall]


def check_drawing(floor: Sequence[str]) -> None:
    """Refuse a floor drawing, surrounding wall included, that is ragged, too large, misspelt or not closed."""
    check_rectangle(floor, "floor")
    cells = characters(floor)
    legend = ", ".join(f"{character!r} ({meaning})" for character, meaning in CELL_MEANINGS.items())
    _refuse_cells(~np.isin(cells, _KNOWN), floor, f"is not a character of a floor: use one of {legend}")
    inner = np.isin(cells, (FREE, LOW, TALL))
    at_border = inner.copy()
    at_border[1:-1, 1:-1] = False
    _refuse_cells(at_border, floor, "lies on the border: close the wall there with '#'")
    outside = np.pad(cells == OUTSIDE, 1)
    height, width = cells.shape
    touching = np.zeros_like(inner)
    for row in range(3):
        for column in range(3):
            touching |= outside[row : row + height, column : column + width]
    _refuse_cells(inner & touching, floor, "touches the outside (' '), a hole in the wall: put '#' between them")


def check_rectangle(rows: Sequence[str], what: str) -> None:
    """Refuse (RoomError) rows of unequal length and drawings that are too small or too large."""
    width = len(rows[0]) if rows else 0
    for number, row in enumerate(rows):
        if len(row) != width:
            raise RoomError(
                f"{what}: row {number} has {len(row)} characters but row 0 has {width}; make all rows equally long"
            )
    if not (3 <= len(rows) <= MAX_CELLS + 2 and 3 <= width <= MAX_CELLS + 2):
        raise RoomError(
            f"{what} is {len(rows)} rows x {width} columns: draw between 3 and {MAX_CELLS + 2} of each, walls included"
        )


def _check_masks(room: Room) -> None:
    cells = characters(room.drawing)
    if room.agent_cells.shape != cells.shape or room.tv_cells.shape != (4, *cells.shape):
        raise RoomError(
            f"agent_cells {room.agent_cells.shape} and tv_cells {room.tv_cells.shape} do not belong to a drawing of "
            f"{cells.shape[0]} x {cells.shape[1]} cells: make all three from the same drawing"
        )
    differs = room.agent_cells != (cells == FREE)
    _refuse_cells(np.pad(differs, 1), ringed(room.drawing), "disagrees with agent_cells: exactly '.' is for agents")
    solid = ~np.isin(cells, (FREE, LOW))
    for rotation, mask in enumerate(room.tv_cells):
        fault = f"cannot hold the television's centre (rotation {90 * rotation}): remove it from the television mask"
        _refuse_cells(np.pad(mask & solid, 1), ringed(room.drawing), fault)


def check_furniture(room: Room) -> None:
    """Refuse (RoomError) a piece of an unknown kind, outside of the room, or not on its cells of the drawing."""
    cells, used = characters(room.drawing), np.zeros(room.agent_cells.shape, np.bool_)
    if len(room.furniture) > MAX_PIECES:
        raise RoomError(f"there are {len(room.furniture)} pieces of furniture: at most {MAX_PIECES} are possible")
    for number, piece in enumerate(room.furniture):
        where = f"furniture {number} ({piece.kind[:40]!r}, row {piece.row + 1}, column {piece.column + 1})"
        if piece.kind not in KINDS:
            raise RoomError(f"{where} is of no known kind: use one of {', '.join(KINDS)}")
        is_inside = 0 <= piece.row <= room.height - piece.rows and 0 <= piece.column <= room.width - piece.columns
        if min(piece.rows, piece.columns) < 1 or not is_inside:
            raise RoomError(f"{where} lies outside of the room: correct its place or its extent")
        wanted = LOW if piece.height < CARRY_METRES else TALL
        if not 0 < piece.height <= MAX_HEIGHT_METRES or (cells[piece.cells] != wanted).any() or used[piece.cells].any():
            raise RoomError(
                f"{where} does not fit its cells: below {CARRY_METRES} m it stands on {LOW!r}, from there to "
                f"{MAX_HEIGHT_METRES} m on {TALL!r}, and no two pieces overlap"
            )
        used[piece.cells] = True


def _check_floor(agent_cells: Mask) -> None:
    largest = largest_part(agent_cells)
    free, kept = int(agent_cells.sum()), int(largest.sum())
    if kept < MIN_FLOOR_SHARE * free:
        row, column = np.argwhere(agent_cells & ~largest)[0] + 1
        raise RoomError(
            f"the free floor falls apart: its largest connected part has only {kept} of {free} cells; join it with the "
            f"part at row {row}, column {column}, or fill that part with 'o'"
        )


def _refuse_cells(faulty: Mask, rows: Sequence[str], fault: str) -> None:
    if faulty.any():
        row, column = np.argwhere(faulty)[0]
        raise RoomError(f"floor, row {row}, column {column}: {rows[row][column]!r} {fault}")
