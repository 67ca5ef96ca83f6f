"""Frames of an episode of the mention-matching reader: lines join things with the words that mention them.

On the left the room, on the right the goal and the document, a sentence a line. A line goes from each thing in the
room, and from the goal, to the words that the network attends to; its strength shows the weight. A monster and the item
that beats it have one colour, so lines of one colour should meet in one sentence. Attention is the network's; colours
are the environment's, so errors of reading are visible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from rl_envs.core.render import BACKGROUND, FOREGROUND, MUTED, Colour
from tune_experiments.rtfm.attention import Mention, Moment

Point: TypeAlias = tuple[float, float]
GOAL_COLOUR: Colour = (191, 138, 20)
NEITHER: Colour = (150, 154, 162)
"""Colour of all other things."""
MONSTER_COLOURS: tuple[Colour, ...] = ((196, 62, 46), (34, 128, 84), (126, 58, 172), (16, 116, 150))
MIN_WEIGHT = 0.1
"""Attention below this is not drawn."""
_TEXT, _LINE, _MARGIN, _WIDTH, _SPACE = 18, 27, 64, 640, 7
_INDENT, _UNDERLINE = 20, 3
_RING, _GAP = 4, 3
"""Width of a ring around a cell, and its distance from the cell's edge."""
_MAX_WIDTH = 5
"""Width of a line that has all attention, in pixels."""
_OVERSAMPLING = 2


@dataclass(frozen=True)
class Page:
    """The text beside a room: an image, the box of each word (left, top, right, bottom), and the place of the goal."""

    image: Image.Image
    words: Sequence[tuple[int, int, int, int]]
    goal: Point


def frames_with_lines(moments: Sequence[Moment], cell_pixels: int) -> list[np.ndarray]:
    """One frame a moment, [H, W, 3] uint8, of one size; in its image the room is in the upper left corner."""
    return [_frame(moment, cell_pixels) for moment in moments]


def _frame(moment: Moment, cell_pixels: int) -> np.ndarray:
    height = moment.picture.shape[0]
    room = Image.fromarray(moment.picture[:, : moment.size * cell_pixels])
    page = _page(moment, height)
    whole = Image.new("RGB", (room.width + _WIDTH, height), BACKGROUND)
    whole.paste(room, (0, 0))
    whole.paste(page.image, (room.width, 0))
    over = Image.new("RGBA", (whole.width * _OVERSAMPLING, height * _OVERSAMPLING), (*BACKGROUND, 0))
    pen = ImageDraw.Draw(over)
    # The most important is drawn last, above the rest.
    for mention in sorted(moment.mentions, key=lambda one: one.monster is not None):
        _draw_mention(pen, mention, page, (room.width, cell_pixels))
    over = over.resize(whole.size, Image.Resampling.BOX)
    return np.asarray(Image.alpha_composite(whole.convert("RGBA"), over).convert("RGB"))


def _page(moment: Moment, height: int) -> Page:
    """Goal, action, and the document with a line a sentence."""
    image = Image.new("RGB", (_WIDTH, height), BACKGROUND)
    pen, font = ImageDraw.Draw(image), ImageFont.load_default(_TEXT)
    title = f"chooses {moment.action}" if moment.action else f"the end, reward {moment.reward:+.2f}"
    for line, (text, colour) in enumerate(((title, FOREGROUND), (f"goal: {moment.goal}", GOAL_COLOUR))):
        pen.text((_MARGIN, (line + 0.5) * _LINE), text, fill=colour, font=font)
    boxes = _word_boxes(moment.words, 3.5 * _LINE)
    for word, (left, top, *_) in zip(moment.words, boxes, strict=True):
        pen.text((left, top), word, fill=FOREGROUND, font=font)
    note = "one colour: a monster and the item that beats it; lines: attention to words"
    pen.text((_MARGIN, height - _LINE), note, fill=MUTED, font=ImageFont.load_default(_TEXT - 4))
    return Page(image, boxes, (_MARGIN, 2 * _LINE))


def _word_boxes(words: Sequence[str], first_top: float) -> list[tuple[int, int, int, int]]:
    """Left, top, right and bottom of each word; a sentence begins a line, and a long one continues below, indented."""
    font = ImageFont.load_default(_TEXT)
    boxes, left, top = [], float(_MARGIN), first_top
    for word in words:
        width = font.getlength(word)
        if left + width > _WIDTH - _SPACE:
            left, top = float(_MARGIN + _INDENT), top + _LINE
        boxes.append((round(left), round(top), round(left + width), round(top) + _TEXT + 3))
        left += width + _SPACE
        if word == ".":
            left, top = float(_MARGIN), top + _LINE
    return boxes


def _draw_mention(pen: ImageDraw.ImageDraw, mention: Mention, page: Page, room: tuple[int, int]) -> None:
    """Rings a thing, underlines the words that mention it, and joins them; `room`: width and cell side in pixels."""
    colour, (width, side) = _colour(mention), room
    start = (width + page.goal[0] - _SPACE, page.goal[1])
    if mention.cell is not None:
        row, column = mention.cell
        ring = column * side + _GAP, row * side + _GAP, (column + 1) * side - _GAP, (row + 1) * side - _GAP
        pen.rounded_rectangle(_scaled(*ring), side // 4, outline=(*colour, 255), width=_RING * _OVERSAMPLING)
        start = (column + 1) * side - _GAP, (row + 0.5) * side
    for weight, (left, _, right, bottom) in zip(mention.weights.tolist(), page.words, strict=True):
        if weight < MIN_WEIGHT:
            continue
        strength = (*colour, round(90 + 165 * weight))
        line = _scaled(*start, width + left, bottom)
        pen.line(line, fill=strength, width=round((1 + (_MAX_WIDTH - 1) * weight) * _OVERSAMPLING))
        underline = _scaled(width + left, bottom, width + right, bottom)
        pen.line(underline, fill=(*colour, 255), width=_UNDERLINE * _OVERSAMPLING)


def _scaled(*numbers: float) -> tuple[float, ...]:
    return tuple(number * _OVERSAMPLING for number in numbers)


def _colour(mention: Mention) -> Colour:
    if mention.cell is None:
        return GOAL_COLOUR
    return NEITHER if mention.monster is None else MONSTER_COLOURS[mention.monster % len(MONSTER_COLOURS)]
