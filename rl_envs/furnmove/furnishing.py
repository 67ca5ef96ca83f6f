"""The furniture that stands in a room, and heights on a grid of 0.125 m: what blocks a line of sight.

Rooms say where the centre of an agent may be (A Cordial Sync, Jain et al., ECCV 2020, section 6.1), so their furniture
and walls are wider than the real ones by the radius of an agent. So the cells are eroded by one fine cell at each edge.
Cells of furniture that no listed piece covers are joined to pieces, whose kind follows from the room's name. Where a
room's cells for the television are inferred, such cells outside of the enclosed floor are wall: nothing is known there.
"""

import zlib
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rl_envs.furnmove.geometry import STEPS
from rl_envs.furnmove.ithor import between, has_inferred_tv_cells
from rl_envs.furnmove.kinds import KINDS, LOW_KINDS, TALL_KINDS
from rl_envs.furnmove.room import FREE, LOW, TALL, WALL, Mask, Room, characters

FINE = 2
"""Fine cells along the side of a cell."""

FINE_METRES = 0.125
RING_CELLS = 1
"""Cells of wall around a room."""

WALL_METRES = 2.7
EYE_METRES = 1.576
"""Height of an agent's camera above the floor."""

NOTHING, WALL_CODE, FIRST_PIECE, LAST_PIECE = 0, 1, 3, 255
"""Codes of fine cells: free floor, wall, and the pieces of furniture in their order. 2 is left for a goal."""

_KIND_NAMES = tuple(KINDS)


@dataclass(frozen=True)
class Furnishing:
    """Furniture of a room of H x W cells: kind and height of the piece on each fine cell."""

    # [2 H + 4, 2 W + 4] uint8, code of each fine cell, with a wall of one cell around the room
    codes: NDArray[np.uint8]
    heights: NDArray[np.float32]  # [256] float32, height of each code above the floor, metres
    kinds: NDArray[np.uint8]  # [256] uint8, index of each piece's kind in `KINDS`


def furnish_room(room: Room) -> Furnishing:
    """Fine cells, heights and kinds of a room."""
    shown = shown_characters(room)
    cells = np.pad(shown, RING_CELLS, constant_values=WALL)
    heights, kinds = np.zeros(256, np.float32), np.zeros(256, np.uint8)
    heights[WALL_CODE] = WALL_METRES
    codes = np.where(cells == FREE, NOTHING, WALL_CODE)
    inner = codes[RING_CELLS:-RING_CELLS, RING_CELLS:-RING_CELLS]
    for code, (kind, height, where) in enumerate(_pieces(room, shown), start=FIRST_PIECE):
        code = min(code, LAST_PIECE)
        inner[where] = code
        heights[code], kinds[code] = height, _KIND_NAMES.index(kind)
    return Furnishing(np.where(eroded(cells != FREE), enlarged(codes), NOTHING).astype(np.uint8), heights, kinds)


def shown_characters(room: Room) -> NDArray[np.str_]:
    """The drawing as frames and maps show it, [H, W] single characters.

    A drawing must have low furniture wherever only the television may be. Where its cells are inferred (`ithor.py`),
    that is a strip along every wall, so cells outside of the enclosed floor are shown as wall, but for listed pieces.
    """
    cells = characters(room.drawing)
    if has_inferred_tv_cells(room):
        cells[np.isin(cells, (LOW, TALL)) & ~_is_listed(room) & ~between(room.agent_cells)] = WALL
    return cells


@lru_cache(512)
def fine_heights(room: Room) -> NDArray[np.float32]:
    """Height of each fine cell above the floor, [2 H + 4, 2 W + 4] float32, metres; 0 is free floor."""
    found = furnish_room(room)
    return found.heights[found.codes]


def enlarged(cells: NDArray[np.generic]) -> NDArray[np.generic]:
    """Each cell as 2 x 2 fine cells: [H, W] -> [2 H, 2 W], same type."""
    return cells.repeat(FINE, axis=0).repeat(FINE, axis=1)


def eroded(solid: Mask) -> Mask:
    """Fine cells that are solid with all eight neighbours: [H, W] bool -> [2 H, 2 W] bool; outside is solid."""
    kept = enlarged(solid).astype(np.bool_)
    padded, (height, width) = np.pad(kept, 1, constant_values=True), kept.shape
    for row in range(3):
        for column in range(3):
            kept &= padded[row : row + height, column : column + width]
    return kept


def _pieces(room: Room, shown: NDArray[np.str_]) -> list[tuple[str, float, tuple[Any, ...]]]:
    """Kind, height in metres and cells (an index of arrays [H, W]) of each piece, listed ones first."""
    pieces: list[tuple[str, float, tuple[Any, ...]]] = [(p.kind, p.height, p.cells) for p in room.furniture]
    for part, is_tall in _unlisted(room, shown):
        kind = _drawn_kind(room.name, part, is_tall)
        pieces.append((kind, KINDS[kind].height, tuple(part.T)))
    return pieces


def _is_listed(room: Room) -> Mask:
    """Cells that a listed piece covers, [H, W] bool."""
    covered = np.zeros(room.agent_cells.shape, np.bool_)
    for piece in room.furniture:
        covered[piece.cells] = True
    return covered


def _unlisted(room: Room, shown: NDArray[np.str_]) -> list[tuple[NDArray[np.int64], bool]]:
    """Connected parts of low and of tall cells that no piece covers: [K, 2] cells of each, and whether it is tall."""
    parts, is_listed = [], _is_listed(room)
    for character in (LOW, TALL):
        left = {tuple(cell) for cell in np.argwhere((shown == character) & ~is_listed).tolist()}
        while left:
            part = _get_part(min(left), left)
            left -= part
            parts.append((np.array(sorted(part)), character == TALL))
    return parts


def _get_part(start: tuple[int, ...], cells: set[tuple[int, ...]]) -> set[tuple[int, ...]]:
    part, wave = {start}, [start]
    while wave:
        row, column = wave.pop()
        near = {(row + int(down), column + int(right)) for down, right in STEPS} & cells - part
        part |= near
        wave += near
    return part


def _drawn_kind(name: str, part: NDArray[np.int64], is_tall: bool) -> str:
    """A kind that is the same in every process: drawn from the room's name and the part's first cell."""
    kinds = TALL_KINDS if is_tall else LOW_KINDS
    return kinds[zlib.crc32(f"{name} {part[0].tolist()}".encode()) % len(kinds)]
