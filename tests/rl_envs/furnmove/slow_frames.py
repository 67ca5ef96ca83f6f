"""A slow, exact caster of first-person frames: each pixel's own ray against fine cells, a box and cylinders.

It shares the description of the room (`furnishing.py`) and sizes with the fast renderer, and none of its tables.
"""

import numpy as np

from rl_envs.furnmove import frame_palette as palette
from rl_envs.furnmove.furnishing import EYE_METRES, FINE_METRES, WALL_METRES, furnish_room
from rl_envs.furnmove.geometry import STAND

SOUTH_OF_HEADING = np.array([-1.0, 0.0, 1.0, 0.0])
EAST_OF_HEADING = np.array([0.0, 1.0, 0.0, -1.0])
STAND_CODE, WALL_CODE = 2, 1
TV_BASE_METRES = 1.3


def rays(pixels, heading):
    """Unit vectors over the ground (south, east) and slopes of all pixels, [P * P] each."""
    row, column = np.divmod(np.arange(pixels**2), pixels)
    x, y = (2 * column + 1) / pixels - 1, 1 - (2 * row + 1) / pixels
    forward = np.array([np.cos(np.pi / 6), -np.sin(np.pi / 6)])
    upward = np.array([np.sin(np.pi / 6), np.cos(np.pi / 6)])
    ahead, rise = forward[0] + y * upward[0], forward[1] + y * upward[1]
    right = (heading + 1) % 4
    south = ahead * SOUTH_OF_HEADING[heading] + x * SOUTH_OF_HEADING[right]
    east = ahead * EAST_OF_HEADING[heading] + x * EAST_OF_HEADING[right]
    length = np.sqrt(south**2 + east**2)
    return south / length, east / length, rise / length


def fine_cells(room, stand):
    """Codes of fine cells with the stand's inner cells, heights, and class of side and top of each code."""
    found = furnish_room(room)
    codes, heights = found.codes.copy(), found.heights.astype(float)
    rows, columns = (stand[:2, None] + STAND[stand[2]].T)[:2]
    inner = codes[2:-2, 2:-2]
    inner[2 * rows.min() + 1 : 2 * rows.max() + 1, 2 * columns.min() + 1 : 2 * columns.max() + 1] = STAND_CODE
    heights[STAND_CODE], heights[WALL_CODE] = palette.STAND_METRES[2], WALL_METRES
    side = palette.FIRST_KIND + 2 * found.kinds.astype(int)
    top = side + 1
    side[WALL_CODE] = top[WALL_CODE] = palette.WALL
    side[STAND_CODE], top[STAND_CODE] = palette.STAND_SIDE, palette.STAND_TOP
    return codes, heights, side, top


def slow_classes(room, stand, cells, headings, agent, tv, pixels):
    """Classes of one agent's frame, [P, P]."""
    south, east, slope = rays(pixels, headings[agent])
    seen, distance = static_scene(fine_cells(room, stand), cells[agent], south, east, slope)
    away = (np.array(tv[:2]) - cells[agent]) * 0.25
    half = (0.205, 0.535) if tv[2] % 2 == 0 else (0.535, 0.205)
    hit = box_entry(away, half, TV_BASE_METRES, south, east, slope)
    seen, distance = np.where(hit < distance, palette.TELEVISION, seen), np.minimum(hit, distance)
    for other in range(len(cells)):
        if other != agent:
            hit = cylinder_entry((cells[other] - cells[agent]) * 0.25, south, east, slope)
            part = parts_of_an_agent(EYE_METRES + slope * np.where(np.isfinite(hit), hit, 0), other)
            seen, distance = np.where(hit < distance, part, seen), np.minimum(hit, distance)
    return seen.reshape(pixels, pixels)


def static_scene(scene, cell, south, east, slope):
    """Class and horizontal distance of what each ray meets of floor, ceiling, walls, furniture and stand."""
    codes, heights, side, top = scene
    count = 2 * max(codes.shape) + 8
    lines = np.arange(1, count) * FINE_METRES
    with np.errstate(divide="ignore"):
        crossings = np.concatenate([lines / abs(south)[:, None], lines / abs(east)[:, None]], axis=1)
    crossings = np.sort(crossings, axis=1)[:, :count]
    enter = np.pad(crossings, ((0, 0), (1, 0)))[:, :-1]
    middle = (enter + crossings) / 2
    row = np.floor((cell[0] * 0.25 + 0.375 + middle * south[:, None]) / FINE_METRES).astype(int)
    column = np.floor((cell[1] * 0.25 + 0.375 + middle * east[:, None]) / FINE_METRES).astype(int)
    inside = (row >= 0) & (row < codes.shape[0]) & (column >= 0) & (column < codes.shape[1])
    code = np.where(inside, codes[row.clip(0, codes.shape[0] - 1), column.clip(0, codes.shape[1] - 1)], WALL_CODE)
    height, first_rise = heights[code], EYE_METRES + slope[:, None] * enter
    last_rise = EYE_METRES + slope[:, None] * crossings
    meets = {
        "side": (code != 0) & (first_rise < height),
        "top": (code != 0) & (first_rise >= height) & (last_rise < height),
        "floor": (code == 0) & (last_rise < 0),
        "ceiling": last_rise > WALL_METRES,
    }
    first = np.logical_or.reduce(list(meets.values())).argmax(1)
    at = np.arange(len(slope)), first
    floor = floor_pattern(cell, south, east, slope)
    kinds = {"side": side[code[at]], "top": top[code[at]], "floor": floor, "ceiling": palette.CEILING}
    seen = np.select(
        [meets[name][at] for name in kinds], [np.broadcast_to(kind, len(slope)) for kind in kinds.values()]
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        reached = {
            "side": enter[at],
            "top": (height[at] - EYE_METRES) / slope,
            "floor": -EYE_METRES / slope,
            "ceiling": np.full(len(slope), np.inf),
        }
    return seen, np.select([meets[name][at] for name in kinds], [reached[name] for name in kinds])


def floor_pattern(cell, south, east, slope):
    """Class of the floor where each ray would meet it: a chessboard of 0.5 m, from the corner of cell (0, 0)."""
    with np.errstate(divide="ignore"):
        reached = np.where(slope < 0, -EYE_METRES / slope, 0)
    row = np.floor((cell[0] * 0.25 + 0.125 + reached * south) / 0.5)
    column = np.floor((cell[1] * 0.25 + 0.125 + reached * east) / 0.5)
    return np.where((row + column) % 2 == 0, palette.FLOOR, palette.OTHER_FLOOR)


def box_entry(away, half, base, south, east, slope):
    """Horizontal distance at which a ray meets the television, a box in three dimensions; else infinite."""
    low, high = np.zeros(len(slope)), np.full(len(slope), np.inf)
    centre = (*away, base + 0.375 - EYE_METRES)
    with np.errstate(divide="ignore", invalid="ignore"):
        for middle, reach, ray in zip(centre, (*half, 0.375), (south, east, slope), strict=True):
            ends = np.sort([(middle - reach) / ray, (middle + reach) / ray], axis=0)
            low, high = np.maximum(low, ends[0]), np.minimum(high, ends[1])
    return np.where((low < high) & (low > 0), low, np.inf)


def cylinder_entry(away, south, east, slope):
    """Horizontal distance at which a ray meets an upright cylinder of 0.2 m x 1.8 m; else infinite."""
    along, aside = away[0] * south + away[1] * east, away[0] * east - away[1] * south
    with np.errstate(invalid="ignore"):
        near = along - np.sqrt(0.2**2 - aside**2)
    height = EYE_METRES + slope * near
    return np.where((abs(aside) < 0.2) & (near > 0) & (height >= 0) & (height < 1.8), near, np.inf)


def parts_of_an_agent(height, number):
    part = np.where(height >= 1.4, palette.AGENT_HEAD, palette.AGENT_BODY)
    return np.where((height >= 1.1) & (height < 1.35), palette.FIRST_RING + number, part)
