"""Rings in agents' colours around the entities that each takes on itself (EnDi, figure 3), over a world's picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from PIL import Image, ImageDraw

Colour: TypeAlias = tuple[int, int, int]
_OVERSAMPLING = 3
_WIDTH = 3
"""Of a ring, in pixels; the next agent's ring lies within."""


def ringed(
    picture: np.ndarray,
    owners: Sequence[tuple[tuple[int, int], Sequence[int]]],
    cell_pixels: int,
    colours: Sequence[Colour],
) -> np.ndarray:
    """The picture with rings.

    Args:
        picture: of a world whose grid begins in the upper left corner, [H, W, 3] uint8.
        owners: row and column of each entity, and the agents that take it.
        cell_pixels: side of a cell.
        colours: of the agents.

    Returns:
        [H, W, 3] uint8.
    """
    image = Image.fromarray(picture)
    for (row, column), agents in owners:
        box = (column * cell_pixels, row * cell_pixels, (column + 1) * cell_pixels, (row + 1) * cell_pixels)
        cell = image.crop(box).resize((cell_pixels * _OVERSAMPLING,) * 2, Image.Resampling.NEAREST)
        pen = ImageDraw.Draw(cell)
        for agent in agents:
            margin = (1 + agent * (_WIDTH + 1)) * _OVERSAMPLING
            inside = (margin, margin, cell.width - 1 - margin, cell.height - 1 - margin)
            pen.rounded_rectangle(inside, cell.width // 5, outline=colours[agent], width=_WIDTH * _OVERSAMPLING)
        image.paste(cell.resize((cell_pixels, cell_pixels), Image.Resampling.BOX), box[:2])
    return np.asarray(image)
