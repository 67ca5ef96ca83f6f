"""A frozen lake from above: ice, holes, targets and the two agents."""

from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw

from rl_envs.core.render import Colour
from rl_envs.core.spec import Array
from rl_envs.frozen_lake_spread.maps import LEGEND, Lake

_PIXELS = 40
_ICE: Colour = (226, 240, 248)
_EDGE: Colour = (188, 208, 222)
_RADIUS = 8
_HOLE, _TARGET = LEGEND["hole"], LEGEND["target"]


def draw_lake(lake: Lake, cells: Array, target: Array, out: Array, colours: Sequence[Colour]) -> Array:
    """Image [H, W, 3] uint8 of agents in `cells` [2], one smaller if it is `out` [2] bool (fell in).

    The disc of an agent whose `target` [2] is not 0 (it has taken a target) gets a ring.
    """
    side = lake.side * _PIXELS
    image = Image.new("RGB", (side, side), _ICE)
    pen = ImageDraw.Draw(image)
    for cell in range(lake.side**2):
        row, column = divmod(cell, lake.side)
        box = (column * _PIXELS, row * _PIXELS, (column + 1) * _PIXELS - 1, (row + 1) * _PIXELS - 1)
        pen.rectangle(box, fill=_HOLE if lake.holes[cell] else _ICE, outline=_EDGE)
        if cell in lake.targets:
            pen.rectangle((box[0] + 5, box[1] + 5, box[2] - 5, box[3] - 5), outline=_TARGET, width=4)
    for agent, cell in enumerate(cells.tolist()):
        row, column = divmod(cell, lake.side)
        x, y = column * _PIXELS + 13 + 14 * agent, row * _PIXELS + _PIXELS // 2
        radius = _RADIUS // 2 if out[agent] else _RADIUS
        ring = _TARGET if target[agent] else _ICE
        pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=colours[agent], outline=ring, width=2)
    return np.asarray(image)
