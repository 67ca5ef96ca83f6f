"""First-person frames of B worlds: rooms and goals are loaded once an episode, frames are rendered on request.

A Cordial Sync (Jain et al., ECCV 2020), section 6. A frame is a pure function of the state, so it needs no snapshot,
and it does not depend on the other worlds of a batch.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rl_envs.core.spec import Array
from rl_envs.furnmove.frame_camera import camera
from rl_envs.furnmove.frame_palette import (
    FIRST_KIND,
    SHADE_METRES,
    SHADES,
    STAND_METRES,
    STAND_SIDE,
    STAND_TOP,
    WALL,
    room_palette,
)
from rl_envs.furnmove.furnishing import FINE, FINE_METRES, FIRST_PIECE, RING_CELLS, WALL_CODE, WALL_METRES, furnish_room
from rl_envs.furnmove.geometry import CELL_METRES
from rl_envs.furnmove.kinds import CARRY_METRES
from rl_envs.furnmove.room import Room
from rl_envs.furnmove.splits import bounds

STAND_CODE = 2
FRAME_PIXELS = (42, 84)
"""Frame sizes: 84 is the paper's."""

_STAND_HALF = (np.array(STAND_METRES[1::-1]) / FINE_METRES / 2).astype(np.int64)
"""Half of the stand along rows and columns, [2] fine cells."""


class FrameRenderer:
    """The rooms of B worlds as fine cells, and their frames."""

    def __init__(self, num_worlds: int, height: int, width: int, pixels: int, agents_visible: bool = True) -> None:
        """Allocate B rooms of at most `height` x `width` cells, for frames with a side of 42 or 84 pixels."""
        if pixels not in FRAME_PIXELS:
            raise ValueError(f"frame_pixels must be one of {', '.join(map(str, FRAME_PIXELS))}, got {pixels}")
        _kernel()  # refuses here where Numba is not installed
        self._pixels, self._agents_visible = pixels, agents_visible
        rows, self._row_length = (FINE * (cells + 2 * RING_CELLS) for cells in (height, width))
        self._codes = np.full((num_worlds, rows, self._row_length), WALL_CODE, np.uint8)
        self._looks = np.zeros((num_worlds, 256, 3), np.float32)
        self._palettes = np.zeros((num_worlds, 256, 3), np.uint8)
        found = camera(pixels, math.hypot(height + 2, width + 2) * CELL_METRES)
        offsets = found.steps.astype(np.int32) @ np.array([self._row_length, 1], np.int32)
        shades = np.minimum(found.floor_metres / SHADE_METRES, SHADES - 1).astype(np.uint8)
        self._places = found.places
        self._tables = (
            found.slopes,
            found.floor_metres,
            shades,
            found.first,
            found.directions,
            offsets,
            found.distances,
            found.crosses_ahead,
        )

    def load(self, world: int, room: Room, stand: Array | None = None) -> None:
        """Put a room into one world, and a stand [3] (row, column, rotation) if there is one."""
        furnishing = furnish_room(room)
        rows, columns = furnishing.codes.shape
        self._codes[world] = WALL_CODE
        self._codes[world, :rows, :columns] = furnishing.codes
        if stand is not None:
            centre = FINE * (stand[:2] + RING_CELLS) + 1
            half = _STAND_HALF if stand[2] % 2 == 0 else _STAND_HALF[::-1]
            first, last = centre - half, centre + half
            self._codes[world, first[0] : last[0], first[1] : last[1]] = STAND_CODE
        looks = self._looks[world]
        looks[:, 0] = furnishing.heights
        looks[WALL_CODE], looks[STAND_CODE] = (WALL_METRES, WALL, WALL), (STAND_METRES[2], STAND_SIDE, STAND_TOP)
        looks[FIRST_PIECE:, 1] = FIRST_KIND + 2 * furnishing.kinds[FIRST_PIECE:].astype(np.float32)
        looks[FIRST_PIECE:, 2] = looks[FIRST_PIECE:, 1] + 1
        self._palettes[world] = room_palette(room.name)

    def draw(
        self, rows: Array, cells: Array, headings: Array, tv: Array | None, tv_base: float = CARRY_METRES
    ) -> NDArray[np.uint8]:
        """Frames of worlds `rows` [K] as bytes, 4 * class + shade (`frame_palette.py`), [K, N, P, P] uint8.

        `cells` [K, N, 2] and `headings` [K, N] are those of the agents; `tv` [K, 3] is row, column, rotation of the
        television, None for none; `tv_base` the height of its base, metres.
        """
        lines = self._lines(rows, cells, headings, tv, tv_base)
        return lines[..., self._places].reshape(*headings.shape, self._pixels, self._pixels)

    def frames(
        self, rows: Array, cells: Array, headings: Array, tv: Array | None, tv_base: float = CARRY_METRES
    ) -> NDArray[np.uint8]:
        """Frames of worlds `rows` [K] in colour, [K, N, P, P, 3] uint8.

        From cells [K, N, 2], headings [K, N] and television [K, 3] or None as in `draw`.
        """
        lines = self._lines(rows, cells, headings, tv, tv_base)
        out = np.empty((*lines.shape, 3), np.uint8)
        _kernel().coloured(lines, self._places, self._palettes[rows], out)
        return out.reshape(*headings.shape, self._pixels, self._pixels, 3)

    def _lines(self, rows: Array, cells: Array, headings: Array, tv: Array | None, tv_base: float) -> NDArray[np.uint8]:
        """Bytes of the frames by column, [K, N, P * P] uint8."""
        out = np.empty((*headings.shape, self._pixels**2), np.uint8)
        poses = np.zeros((len(rows), 3), np.int64) if tv is None else np.ascontiguousarray(tv, np.int64)
        codes, looks = self._codes.reshape(len(self._codes), -1), self._looks
        if not np.array_equal(rows, np.arange(len(codes))):  # all worlds in order are not copied
            codes, looks = codes[rows], looks[rows]
        _kernel().draw(
            codes,
            self._row_length,
            looks,
            np.ascontiguousarray(cells, np.int64),
            np.ascontiguousarray(headings, np.int8),
            poses,
            tv is not None,
            float(tv_base),
            self._agents_visible,
            self._tables,
            out,
        )
        return out


def _kernel() -> Any:
    """The compiled loops. Numba is loaded only here; renderers do not keep the module, because worlds are pickled."""
    from rl_envs.furnmove import frame_kernel

    return frame_kernel


class AgentCameras:
    """The camera frames of one of B worlds."""

    def __init__(self, world: Any, index: int = 0, pixels: int = 84, agents_visible: bool = True) -> None:
        """Watch one of B worlds of FurnMove or FurnLift; frames have a side of 42 or 84 pixels."""
        self._world, self._index = world, index
        self._renderer = FrameRenderer(1, *bounds(world.rooms), pixels, agents_visible)

    def frames(self) -> NDArray[np.uint8]:
        """Present frame of each agent's camera, [N, P, P, 3] uint8."""
        state = {name: values[[self._index]] for name, values in self._world.state.items()}
        is_lifted = "stand" in state
        room, stand = self._world.rooms[int(state["room"][0])], state["stand"][0] if is_lifted else None
        self._renderer.load(0, room, stand)
        poses = state["agent_cells"], state["agent_headings"], state["tv"]
        return self._renderer.frames(np.zeros(1, np.int64), *poses, CARRY_METRES if is_lifted else 0.0)[0]
