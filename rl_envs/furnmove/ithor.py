"""The floors of all 30 living rooms of iTHOR, with inferred cells for the television.

"A Cordial Sync" (Jain et al., ECCV 2020, section 6) trains in FloorPlan201-220, validates in 221-225 and tests in
226-230. The cells for agents come from the layouts of ALFRED (MIT; `ithor_living_room_floors.LICENSE.txt`). The cells
for the lifted television are not public and are inferred here: results must be called "iTHOR floors, inferred
television masks". In FloorPlan229, whose true masks are known, they share 88 % of the cells of either (mean over the
four rotations).
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from rl_envs.furnmove.geometry import CELL_METRES, STEPS, TV_BAR, cells_where_fits
from rl_envs.furnmove.room import FREE, LOW, Mask, Room, characters, drawing_of_masks

PREFIX, EXPORTED_PREFIX = "ithor_", "thor_"
"""Prefixes of the names of this file's rooms, and of rooms that `rl_envs.thor.exporter` writes."""

SPLITS = ("train", "valid", "test")
LABEL = "ithor_floors_inferred_television_masks"
"""Label of results on these rooms in tables."""

_FLOORS = Path(__file__).with_name("ithor_living_room_floors.json")
_AIR_CELLS, _MARGIN = 2, 1


def ithor_rooms(split: str) -> tuple[Room, ...]:
    """The rooms `ithor_FloorPlan201` and so on of a split: `train` (20 rooms), `valid` (5) or `test` (5)."""
    return tuple(room for room, of_split in _all_rooms() if of_split == split)


def is_ithor(room: Room) -> bool:
    """Whether this is one of the rooms of this file, also after it was read from a file of starts."""
    return room.name.startswith(PREFIX) and any(room == known for known, _ in _all_rooms())


def has_inferred_tv_cells(room: Room) -> bool:
    """Whether the television's cells were inferred by the rule of this file: in iTHOR's and in exported rooms.

    Tables must say so. Such cells say nothing about furniture outside of the enclosed floor.
    """
    return is_ithor(room) or room.name.startswith(EXPORTED_PREFIX)


def first_cell(room: str) -> tuple[float, float]:
    """Centre of cell (0, 0) of a room such as `ithor_FloorPlan201` in its scene: x and z in metres.

    x grows to the east and z to the north, so rows go towards smaller z.
    """
    floor = _floors()[room.removeprefix(PREFIX)]
    margin = _MARGIN * CELL_METRES
    return floor["x_of_first_column"] - margin, floor["z_of_first_row"] + margin


@cache
def _floors() -> dict[str, Any]:
    floors: dict[str, Any] = json.loads(_FLOORS.read_text(encoding="utf-8"))
    return floors


@cache
def _all_rooms() -> tuple[tuple[Room, str], ...]:
    return tuple((room_of_floor(PREFIX + name, floor["floor"]), floor["split"]) for name, floor in _floors().items())


def room_of_floor(name: str, floor: list[str]) -> Room:
    """A room with one more cell on each side than its floor drawing, and inferred cells for the television.

    The drawing has H strings of W characters, `.` where an agent may be; the room has (H + 2) x (W + 2) cells. Low
    furniture is what is enclosed, and what only the television may use; the latter is shown as wall where it is not
    enclosed (`furnishing.py`).
    """
    agent_cells = np.pad(characters(floor) == FREE, _MARGIN)
    enclosed = between(agent_cells)
    tv_cells = inferred_tv_cells(enclosed)
    drawing = characters(drawing_of_masks(agent_cells, tv_cells))
    drawing[enclosed & ~agent_cells] = LOW
    return Room(name, agent_cells, tv_cells, tuple("".join(row) for row in drawing.tolist()))


def between(cells: Mask) -> Mask:
    """The cells, and all cells between two of them in a row or in a column: [H, W] -> [H, W]."""
    return cells | _spans(cells) | _spans(cells.T).T


def inferred_tv_cells(inside: Mask, tall: Mask | None = None) -> Mask:
    """Cells for the centre of the lifted television, [4, H, W] bool.

    Its bar of 5 x 1 cells lies within two steps of the inside [H, W] of the room, and its centre within one. Where tall
    furniture is known, [H, W] bool, the bar does not meet it.
    """
    air = _dilated(np.pad(inside, _AIR_CELLS), _AIR_CELLS)
    if tall is not None:
        air &= ~np.pad(tall, _AIR_CELLS)
    fits = [cells_where_fits(air, bar) for bar in TV_BAR]
    inner = slice(_AIR_CELLS, -_AIR_CELLS)
    return np.stack(fits)[:, inner, inner] & _dilated(inside, 1)


def _spans(cells: Mask) -> Mask:
    """Cells between the first and the last one of their row."""
    from_west = np.logical_or.accumulate(cells, axis=1)
    from_east = np.logical_or.accumulate(cells[:, ::-1], axis=1)[:, ::-1]
    return from_west & from_east


def _dilated(cells: Mask, steps: int) -> Mask:
    """The cells and those within so many steps of them, [H, W] bool."""
    for _ in range(steps):
        padded = np.pad(cells, 1)
        height, width = cells.shape
        cells = cells.copy()
        for row, column in STEPS + 1:
            cells |= padded[row : row + height, column : column + width]
    return cells
