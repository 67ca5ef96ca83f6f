"""Frames of an episode: the world's own picture with goal, inventory and document, and beside it what is attended to.

Each word of the document has a line, and each thing that attends a column of squares: the darker, the more attention.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from tune_experiments.common.rtfm.attention import Moment

PAPER, INK = (252, 251, 248), (52, 56, 66)
DARKEST = np.array([8, 48, 107])
_NARROWEST = 360
_LINE, _SQUARE, _WORD, _MARGIN, _TEXT = 15, 13, 96, 12, 11


def frames_of(moments: Sequence[Moment]) -> list[np.ndarray]:
    """One frame a moment, [H, W, 3] uint8, all of one size."""
    if not moments[0].attention:
        return [moment.picture for moment in moments]
    height = moments[0].picture.shape[0]
    lines = height // _LINE - 2
    columns = max(-(-len(moment.words) // lines) for moment in moments)
    column_width = _WORD + len(moments[0].attention) * _SQUARE + _MARGIN
    width = max(columns * column_width + _MARGIN, _NARROWEST)
    return [
        np.concatenate([moment.picture, _panel(moment, (width, height), column_width, lines)], axis=1)
        for moment in moments
    ]


def _panel(moment: Moment, size: tuple[int, int], column_width: int, lines: int) -> np.ndarray:
    image = Image.new("RGB", size, PAPER)
    pen, font = ImageDraw.Draw(image), ImageFont.load_default(_TEXT)
    said = f"attention by {', '.join(moment.attention)}; chooses {moment.action}" if moment.action else "the end"
    pen.text((_MARGIN, 6), said, fill=INK, font=font)
    for number, word in enumerate(moment.words):
        column, line = divmod(number, lines)
        left, top = _MARGIN + column * column_width, (line + 2) * _LINE - 4
        pen.text((left, top), word, fill=INK, font=font)
        for place, weights in enumerate(moment.attention.values()):
            x = left + _WORD + place * _SQUARE
            pen.rectangle((x, top, x + _SQUARE - 2, top + _LINE - 3), fill=_shade(float(weights[number])))
    return np.asarray(image)


def _shade(weight: float) -> tuple[int, int, int]:
    """Paper for no attention, the darkest colour for all of it."""
    mixed = np.array(PAPER) * (1 - weight) + DARKEST * weight
    red, green, blue = mixed.round().astype(int).tolist()
    return red, green, blue
