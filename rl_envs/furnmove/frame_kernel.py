"""The compiled loop that draws frames, column by column from near to far.

In a column of azimuth the pixels are sorted by slope. Everything on the floor hides what is behind it up to the slope
of its top, so one walk along the ray fills the column from below: floor, side, top, and again behind it. What hangs or
moves (television, agents) is painted over with a test of distance. A frame is drawn in the order of columns, and a last
pass puts its pixels in their places.

Numba compiles this file at the first frame, so only `frame_renderer.py` imports it, and only for frames.
"""

from typing import Any, TypeAlias

import numpy as np

from rl_envs.core.compiled import entry, kernel
from rl_envs.core.spec import Array
from rl_envs.furnmove.frame_palette import (
    AGENT_BODY,
    AGENT_HEAD,
    AGENT_METRES,
    AGENT_RADIUS,
    CEILING,
    CHECK_METRES,
    FIRST_RING,
    FLOOR,
    HEAD_METRES,
    OTHER_FLOOR,
    RING_HIGH_METRES,
    RING_LOW_METRES,
    SHADE_METRES,
    SHADES,
    TELEVISION,
    TELEVISION_METRES,
)
from rl_envs.furnmove.furnishing import EYE_METRES, WALL_CODE
from rl_envs.furnmove.geometry import CELL_METRES

Pair: TypeAlias = tuple[Any, Any]
"""(south, east), metres or a unit vector."""

Tables: TypeAlias = tuple[Array, ...]

EYE, NONE = np.float32(EYE_METRES), np.float32(np.inf)
_LAST_SHADE = SHADES - 1
_CEILING_BYTE = CEILING * SHADES
_PER_SHADE = np.float32(1 / SHADE_METRES)
_CHECKS, _EVEN = np.float32(1 / CHECK_METRES), np.float32(256)
_TV_HALF_WIDTH, _TV_HALF_DEPTH, _TV_HEIGHT = TELEVISION_METRES[0] / 2, TELEVISION_METRES[1] / 2, TELEVISION_METRES[2]


@kernel
def shaded(kind: float, distance: float, faces_aside: int) -> Any:
    """Byte of a frame: class and shade by distance (metres) and by the direction that a side faces."""
    return np.uint8(int(kind) * SHADES + min(_LAST_SHADE, int(distance * _PER_SHADE) + faces_aside))


@kernel
def fill(
    codes: Array, base: int, looks: Array, tables: Tables, heading: int, eye: Pair, out: Array, depth: Array
) -> None:
    """Draw floor, furniture and walls of one frame, and write the horizontal distance of each pixel.

    `codes` [M] uint8: flattened fine cells of a walled room; `base`: the one to the south-east of the camera; `eye`:
    (south, east), metres from the north-west corner of cell (0, 0). `looks` [256, 3] float32 and `tables` as in `draw`,
    for one world. Written: `out` [P * P] uint8, the frame's bytes, and `depth` [P * P] float32, both by column.
    """
    slopes, floor_metres, floor_shades, first, directions, offsets, distances, crosses = tables
    from_south, from_east = eye[0] * _CHECKS + _EVEN, eye[1] * _CHECKS + _EVEN
    for column in range(len(first) - 1):
        pixel, end = first[column], first[column + 1]
        south, east = directions[heading, column, 0] * _CHECKS, directions[heading, column, 1] * _CHECKS
        for step in range(offsets.shape[2]):
            code = codes[base + offsets[heading, column, step]]
            if code == 0:
                continue
            near, rise = distances[column, step], looks[code, 0] - EYE
            foot, front = -EYE / near, rise / near
            while pixel < end and slopes[pixel] < foot:
                away = floor_metres[pixel]
                square = (int(from_south + away * south) + int(from_east + away * east)) & 1
                out[pixel] = (FLOOR + square * (OTHER_FLOOR - FLOOR)) * SHADES + floor_shades[pixel]
                depth[pixel] = away
                pixel += 1
            side = shaded(looks[code, 1], near, crosses[column, step] != (heading % 2 == 0))
            while pixel < end and slopes[pixel] < front:
                out[pixel] = side
                depth[pixel] = near
                pixel += 1
            if rise < 0:
                top, byte = rise / distances[column, step + 1], shaded(looks[code, 2], near, 0)
                while pixel < end and slopes[pixel] < top:
                    out[pixel] = byte
                    depth[pixel] = near
                    pixel += 1
            if code == WALL_CODE or pixel == end:
                break
        for rest in range(pixel, end):
            out[rest] = _CEILING_BYTE
            depth[rest] = NONE


@kernel
def through_box(away: Pair, half: Pair, ray: Pair) -> tuple[float, float, bool]:
    """Distances at which a ray enters and leaves a rectangle, and whether it enters across a line of constant row.

    `away`, `half`: centre relative to the camera and half sides, metres; `ray`: unit vector; each (south, east). Both
    are infinite if the ray misses it; the first is 0 if the camera is above or below it.
    """
    enter, leave, across_row = 0.0, np.inf, False
    for axis in range(2):
        if abs(ray[axis]) < 1e-9:
            if abs(away[axis]) > half[axis]:
                return np.inf, np.inf, False
            continue
        one, other = (away[axis] - half[axis]) / ray[axis], (away[axis] + half[axis]) / ray[axis]
        if min(one, other) > enter:
            enter, across_row = min(one, other), axis == 0
        leave = min(leave, max(one, other))
    return (enter, leave, across_row) if enter < leave else (np.inf, np.inf, False)


@kernel
def entry_of_circle(away: Pair, radius: float, ray: Pair) -> float:
    """Distance at which a ray enters a circle, infinite if it does not; centre and ray as for a rectangle."""
    along = away[0] * ray[0] + away[1] * ray[1]
    rest = along * along - away[0] * away[0] - away[1] * away[1] + radius * radius
    if rest < 0 or along <= 0:
        return np.inf
    return max(along - np.sqrt(rest), 1e-3)


@kernel
def first_above(slopes: Array, low: float, start: int, end: int) -> int:
    """First index of a rising stretch of `slopes` [P * P] with a slope of at least `low`; `end` if there is none."""
    while start < end:
        middle = (start + end) // 2
        if slopes[middle] < low:
            start = middle + 1
        else:
            end = middle
    return start


@kernel
def paint_television(
    away: Pair, rotation: int, base: float, tables: Tables, heading: int, out: Array, depth: Array
) -> None:
    """Paint the television over a frame: the sides that face the camera, and the top where it is lower than the eye.

    `away`: (south, east) of its centre relative to the camera, metres; `base`: height of its base above the floor,
    metres; the tables and the written `out` [P * P] uint8 and `depth` [P * P] float32 as in `fill`.
    """
    slopes, _, _, first, directions = tables[:5]
    half = (_TV_HALF_DEPTH, _TV_HALF_WIDTH) if rotation % 2 == 0 else (_TV_HALF_WIDTH, _TV_HALF_DEPTH)
    below, above = base - EYE_METRES, base + _TV_HEIGHT - EYE_METRES
    for column in range(len(first) - 1):
        ray, end = (directions[heading, column, 0], directions[heading, column, 1]), first[column + 1]
        near, far, across_row = through_box(away, half, ray)
        if near == np.inf or near == 0 <= above:
            continue
        low, high, behind = below / near, above / near, above / far
        byte = shaded(TELEVISION, near, int(not across_row))
        for pixel in range(first_above(slopes, low, first[column], end), end):
            slope = slopes[pixel]
            if slope >= high and (above >= 0 or slope >= behind):
                break
            distance = near if slope < high else above / slope
            if distance < depth[pixel]:
                out[pixel], depth[pixel] = (byte if slope < high else shaded(TELEVISION, distance, 0)), distance


@kernel
def paint_agent(away: Pair, number: int, tables: Tables, heading: int, out: Array, depth: Array) -> None:
    """Paint another agent, `away` (south, east) metres from the camera: a body, a ring of its colour, a head.

    The tables and the written `out` [P * P] uint8 and `depth` [P * P] float32 as in `fill`.
    """
    slopes, _, _, first, directions = tables[:5]
    for column in range(len(first) - 1):
        ray = directions[heading, column, 0], directions[heading, column, 1]
        near = entry_of_circle(away, AGENT_RADIUS, ray)
        if near == np.inf:
            continue
        low, high = -EYE_METRES / near, (AGENT_METRES - EYE_METRES) / near
        for pixel in range(first_above(slopes, low, first[column], first[column + 1]), first[column + 1]):
            if slopes[pixel] >= high:
                break
            if near < depth[pixel]:
                height = EYE_METRES + slopes[pixel] * near
                kind = AGENT_HEAD if height >= HEAD_METRES else AGENT_BODY
                if RING_LOW_METRES <= height < RING_HIGH_METRES:
                    kind = FIRST_RING + number
                out[pixel], depth[pixel] = shaded(kind, near, 0), near


@entry
def draw(
    codes: Array,
    width: int,
    looks: Array,
    cells: Array,
    headings: Array,
    tv: Array,
    has_tv: bool,
    tv_base: float,
    agents_visible: bool,
    tables: Tables,
    out: Array,
) -> None:
    """Draw the frames of all agents of all worlds into `out` [B, N, P * P] uint8, by column.

    Args:
        codes: [B, M] uint8, fine cells of the rooms with a wall of one cell around, flattened.
        width: fine cells in a row of `codes`.
        looks: [B, 256, 3] float32, height, class of sides and class of top of each code.
        cells: [B, N, 2] int64, cells of the agents.
        headings: [B, N] int8, their headings.
        tv: [B, 3] int64, row, column and rotation of the television.
        has_tv: whether there is one.
        tv_base: height of its base above the floor, metres.
        agents_visible: whether agents see each other.
        tables: slopes, floor_metres, floor_shades, first, directions, offsets, distances and crosses_ahead of the
            camera (`Camera`); the offsets [4, K, S] int32 are those of its steps in flattened fine cells.
        out: [B, N, P * P] uint8, bytes of the frames by column, written.
    """
    depth = np.empty(out.shape[2], np.float32)
    metres = np.float32(CELL_METRES)
    for world in range(codes.shape[0]):
        room, look, rotation = codes[world], looks[world], tv[world, 2]
        for agent in range(cells.shape[1]):
            image, heading = out[world, agent], headings[world, agent]
            row, column = cells[world, agent, 0], cells[world, agent, 1]
            base = (2 * row + 3) * width + 2 * column + 3
            eye = np.float32((row + 0.5) * CELL_METRES), np.float32((column + 0.5) * CELL_METRES)
            fill(room, base, look, tables, heading, eye, image, depth)
            if has_tv:
                away = (tv[world, 0] - row) * metres, (tv[world, 1] - column) * metres
                paint_television(away, rotation, tv_base, tables, heading, image, depth)
            for other in range(cells.shape[1] if agents_visible else 0):
                if other != agent:
                    away = (cells[world, other, 0] - row) * metres, (cells[world, other, 1] - column) * metres
                    paint_agent(away, other, tables, heading, image, depth)


@entry
def coloured(lines: Array, places: Array, palettes: Array, out: Array) -> None:
    """Bytes by column, `lines` [B, N, Q] uint8, as colours by row, written to `out` [B, N, Q, 3] uint8.

    `places` [Q] is where each pixel is in a line; `palettes` [B, 256, 3] uint8.
    """
    for world in range(lines.shape[0]):
        palette = palettes[world]
        for agent in range(lines.shape[1]):
            line, image = lines[world, agent], out[world, agent]
            for pixel in range(len(places)):
                byte = line[places[pixel]]
                image[pixel, 0], image[pixel, 1], image[pixel, 2] = palette[byte, 0], palette[byte, 1], palette[byte, 2]
