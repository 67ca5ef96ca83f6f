"""Rendering that all worlds share: colours, a caption line, and a text panel next to a room."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from rl_envs.core.spec import Array

Colour: TypeAlias = tuple[int, int, int]
Line: TypeAlias = tuple[str, Colour]
"""A text and its colour."""

BACKGROUND: Colour = (252, 251, 248)
FOREGROUND: Colour = (52, 56, 66)
MUTED: Colour = (128, 132, 140)


def caption_strip(text: str, width: int, text_pixels: int = 12) -> Array:
    """One line of text as an image [height, width, 3] uint8; text that does not fit is cut."""
    strip = Image.new("RGB", (width, text_pixels * 3 // 2 + 4), BACKGROUND)
    ImageDraw.Draw(strip).text((8, 4), text, fill=FOREGROUND, font=ImageFont.load_default(text_pixels))
    return np.asarray(strip)


@dataclass(frozen=True)
class Panel:
    """Layout of the text panel to the right of a room."""

    width: int  # width in pixels
    least_lines: int = 0  # number of lines that always fit, so that all frames of a video have one size
    text_pixels: int = 13  # height of the letters in pixels
    line_pixels: int = 18  # pixels from one line to the next
    corner: tuple[int, int] = (14, 8)  # pixels from the panel's left and upper edge to the first line


Mark: TypeAlias = Callable[[ImageDraw.ImageDraw, int, tuple[int, int]], None]
"""Function that draws a mark at a line: its arguments are a pen, the line's number and the position of its text."""


def with_text_panel(room: Image.Image, lines: Sequence[Line], panel: Panel, mark: Mark | None = None) -> Image.Image:
    """An image of a room with lines of text to its right, and with `mark` drawn at each line.

    It grows in height if the lines need more than the room has.
    """
    left, top = room.width + panel.corner[0], panel.corner[1]
    height = max(room.height, max(len(lines), panel.least_lines) * panel.line_pixels + 2 * top)
    image = Image.new("RGB", (room.width + panel.width, height), BACKGROUND)
    image.paste(room, (0, 0))
    pen, font = ImageDraw.Draw(image), ImageFont.load_default(panel.text_pixels)
    for number, (text, colour) in enumerate(lines):
        place = left, top + number * panel.line_pixels
        if mark is not None:
            mark(pen, number, place)
        pen.text(place, text, fill=colour, font=font)
    return image
