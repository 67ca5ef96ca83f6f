"""Palette of frames: sizes of things, classes of pixels and their colours.

Sizes are in metres, from A Cordial Sync's engine (AI2-THOR) where they are known: the television is the engine's
Television_1, an agent is a cylinder with a ring in its colour, the stand has a yellow top.

A pixel's class says what it shows: floor, wall, a side or a top of a kind of furniture, television, stand, or a part of
an agent. A frame is drawn as bytes: 4 * class + shade, where shade 0 is the nearest. Each room has its own light and
its own colours of walls and floor, drawn from its name (`room_palette`).
"""

import zlib

import numpy as np
from numpy.typing import NDArray

from rl_envs.furnmove.kinds import KINDS

SHADES = 4
CEILING, WALL, FLOOR, OTHER_FLOOR, STAND_SIDE, STAND_TOP, TELEVISION, AGENT_BODY, AGENT_HEAD, FIRST_RING = range(10)
MAX_RINGS = 6
FIRST_KIND = FIRST_RING + MAX_RINGS
"""Class of the sides of the first kind; its tops follow, then the next kind."""

NUM_CLASSES = FIRST_KIND + 2 * len(KINDS)

AGENT_COLOURS = ((70, 150, 235), (232, 178, 70), (40, 190, 80), (220, 50, 50), (210, 60, 200), (120, 120, 120))
"""Rings in frames, and agents on maps: blue, yellow, green, red, magenta, grey, which is the engine's order."""

_FIXED = {
    STAND_SIDE: (44, 38, 36),
    STAND_TOP: (255, 226, 0),
    TELEVISION: (24, 26, 34),
    AGENT_BODY: (236, 238, 240),
    AGENT_HEAD: (196, 202, 210),
}
_SHADE_LIGHT = (1.0, 0.88, 0.76, 0.66)


def room_palette(name: str) -> NDArray[np.uint8]:
    """Colours of a room, drawn from its name, [256, 3] uint8: byte of a frame -> red, green, blue.

    Rooms of all splits draw from one range, so test rooms do not differ from training rooms in the kind of their light
    and colours, as the paper's do: 23 of 25 values of iTHOR's test rooms lie within the range of its training rooms.
    """
    drawn = np.random.Generator(np.random.PCG64(zlib.crc32(name.encode())))
    wall, wood = drawn.uniform(150, 225, 3), np.array((150, 110, 74)) * drawn.uniform(0.75, 1.2)
    colours = np.zeros((NUM_CLASSES, 3))
    colours[[CEILING, WALL, FLOOR, OTHER_FLOOR]] = (235, 235, 230), wall, wood, wood * 0.82
    for number, colour in _FIXED.items():
        colours[number] = colour
    colours[FIRST_RING:FIRST_KIND] = AGENT_COLOURS
    for number, kind in enumerate(KINDS.values()):
        colours[FIRST_KIND + 2 * number] = kind.colour
        colours[FIRST_KIND + 2 * number + 1] = 0.7 * np.array(kind.colour) + 0.3 * 255 * np.array((0.9, 0.9, 0.9))
    shaded = colours[:, None] * np.array(_SHADE_LIGHT)[:, None] * drawn.uniform(0.8, 1.0)
    palette = np.zeros((256, 3), np.uint8)
    palette[: NUM_CLASSES * SHADES] = np.clip(shaded.round(), 0, 255).reshape(-1, 3)
    return palette


TELEVISION_METRES = (1.07, 0.41, 0.75)
"""Width, depth and height of the television with its foot, carried or on the floor, drawn or looked for."""

STAND_METRES = (1.0, 0.5, 0.9)
"""Width, depth and height of the stand. In the authors' pictures its top has about 0.73 m x 0.44 m; trained teams and
the results of `furnmove_visual` saw this larger one."""

AGENT_RADIUS, AGENT_METRES = 0.2, 1.8
RING_LOW_METRES, RING_HIGH_METRES, HEAD_METRES = 1.1, 1.35, 1.4
CHECK_METRES = 0.5
"""Side of a square of the floor's pattern."""

SHADE_METRES = 2.0
"""Colours get one shade darker every so many metres."""
