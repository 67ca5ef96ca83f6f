"""What pictures of different worlds share: paper and ink, a line of text, and text beside a room.

This file must not know any world.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from rl_envs.core.spec import Array

Colour: TypeAlias = tuple[int, int, int]
Line: TypeAlias = tuple[str, Colour]
"""Text and its colour."""

PAPER: Colour = (252, 251, 248)
INK: Colour = (52, 56, 66)
FADED: Colour = (128, 132, 140)


def caption_strip(text: str, width: int, text_pixels: int = 12) -> Array:
    """One line of text, [height, width, 3] uint8; cut where it does not fit."""
    strip = Image.new("RGB", (width, text_pixels * 3 // 2 + 4), PAPER)
    ImageDraw.Draw(strip).text((8, 4), text, fill=INK, font=ImageFont.load_default(text_pixels))
    return np.asarray(strip)


@dataclass(frozen=True)
class Panel:
    """Room for text to the right of a picture.

    Attributes:
        width: pixels.
        least_lines: for which there is always room, so that all pictures of a world are of one size and make a film.
        text_pixels: height of the letters.
        line_pixels: from one line to the next.
        corner: pixels from the panel's left and upper edge to the first line.
    """

    width: int
    least_lines: int = 0
    text_pixels: int = 13
    line_pixels: int = 18
    corner: tuple[int, int] = (14, 8)


Mark: TypeAlias = Callable[[ImageDraw.ImageDraw, int, tuple[int, int]], None]
"""Draws before a line: is given a pen, the line's number, and where its text begins."""


def beside(room: Image.Image, lines: Sequence[Line], panel: Panel, mark: Mark | None = None) -> Image.Image:
    """A room with lines of text to its right.

    Args:
        room: any picture.
        lines: one under the other; the picture grows if the room is not as high.
        panel: where they stand.
        mark: what else is drawn at each line.

    Returns:
        a picture as wide as the room and the panel.
    """
    left, top = room.width + panel.corner[0], panel.corner[1]
    height = max(room.height, max(len(lines), panel.least_lines) * panel.line_pixels + 2 * top)
    picture = Image.new("RGB", (room.width + panel.width, height), PAPER)
    picture.paste(room, (0, 0))
    pen, font = ImageDraw.Draw(picture), ImageFont.load_default(panel.text_pixels)
    for number, (text, colour) in enumerate(lines):
        place = left, top + number * panel.line_pixels
        if mark is not None:
            mark(pen, number, place)
        pen.text(place, text, fill=colour, font=font)
    return picture
