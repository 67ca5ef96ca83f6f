"""Rendering of MESSENGER: the grid on the left, the manual on the right.

The image shows more than an agent observes: sprites have the colour of their true role, their names, and their exact
positions, also between cells. Shapes are drawn at twice the size and then reduced, so that edges are smooth; text is
drawn afterwards.
"""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from rl_envs.core.render import BACKGROUND, FOREGROUND, MUTED, Colour, Line, Panel, with_text_panel
from rl_envs.core.spec import Array, Arrays
from rl_envs.messenger.symbols import AGENT_COLOURS, LEGEND, SIDE, SYMBOLS

Place: TypeAlias = tuple[float, float]

FLOOR: Colour = (247, 242, 232)
GRID: Colour = (226, 218, 203)
ROLE_COLOURS: tuple[Colour, ...] = tuple(LEGEND.values())
LETTER: Colour = (255, 255, 255)
"""Mark of an avatar that has the message."""
_OVERSAMPLING = 2
_SMALL_PIXELS, _PANEL_COLUMNS = 10, 50
_CHIP_PIXELS, _MAX_CHIPS = 9, 5
"""Width of one sprite's attention square, and largest number of sprites. Text starts to the right of all
squares, so that it does not move in a video."""
_PANEL = Panel(width=390, least_lines=28, corner=(12 + _MAX_CHIPS * _CHIP_PIXELS, 8))
"""The panel has room for six long sentences."""


@dataclass(frozen=True)
class Sprite:
    """An entity in the image."""

    name: str  # name of the entity
    role: int  # its true role, in the order of `ROLE_COLOURS`; a decoy is an enemy
    place: Place  # row and column of its cell, halves between cells


@dataclass(frozen=True)
class Scene:
    """One state of a world."""

    sprites: Sequence[Sprite]  # present entities, in the order in which agents observe them
    avatars: Sequence[Place]  # row and column of each avatar
    is_alive: Sequence[bool]  # whether each avatar is alive
    has_message: Sequence[bool]  # whether each avatar has the message
    manual: Sequence[str]  # sentences of the manual
    # weight of each sentence for each sprite, [sprites, sentences] in 0 to 1; nothing is drawn if empty
    attention: Sequence[Sequence[float]] = ()


def make_scene(state: Arrays, roles: Sequence[int], manual: Sequence[str]) -> Scene:
    """The content of the image of one world's state, name -> [...], with true roles and the manual's sentences."""
    places = [(row / 2, column / 2) for row, column in state["entity_places"].tolist()]
    there = [
        (symbol, Sprite(SYMBOLS[symbol], role, place))
        for symbol, role, place, is_here in zip(
            state["entity_symbols"].tolist(), roles, places, state["entity_here"], strict=True
        )
        if is_here
    ]
    there.sort(key=lambda one: (*map(int, one[1].place), one[0]), reverse=True)
    return Scene(
        sprites=[sprite for _, sprite in there],
        avatars=[(row / 2, column / 2) for row, column in state["avatar_places"].tolist()],
        is_alive=state["avatar_alive"].tolist(),
        has_message=state["has_message"].tolist(),
        manual=manual,
    )


def draw(scene: Scene, *, caption: str = "", cell_pixels: int = 52) -> Array:
    """Image of one state, [height, width, 3] uint8; the grid is 10 * cell_pixels wide, the manual stands to its right.

    A caption of one or two lines, for example the actions, stands above the manual.
    """
    above = textwrap.wrap(caption, _PANEL_COLUMNS)
    # Two lines whether both are needed or not, so that the manual stays where it is from frame to frame.
    lines: list[Line] = [(text, FOREGROUND) for text in [*above, *[""] * (3 - len(above))]] if caption else []
    manual, begins = _lines(scene.manual)
    begins = {len(lines) + number: sentence for number, sentence in begins.items()}

    def mark(pen: ImageDraw.ImageDraw, number: int, place: tuple[int, int]) -> None:
        if scene.attention and number in begins:
            corner = (place[0] - 4 - len(scene.sprites) * _CHIP_PIXELS, place[1])
            _draw_chips(pen, corner, scene, begins[number])

    return np.asarray(with_text_panel(_grid(scene, cell_pixels), lines + manual, _PANEL, mark))


def _grid(scene: Scene, cell_pixels: int) -> Image.Image:
    side = cell_pixels * _OVERSAMPLING
    image = Image.new("RGB", (SIDE * side, SIDE * side), FLOOR)
    pen = ImageDraw.Draw(image)
    for line in range(SIDE + 1):
        for ends in (((line * side, 0), (line * side, SIDE * side)), ((0, line * side), (SIDE * side, line * side))):
            pen.line(ends, fill=GRID, width=_OVERSAMPLING)
    for sprite in scene.sprites:
        box = _box(sprite.place, side, side // 16)
        pen.rounded_rectangle(box, radius=side // 6, fill=ROLE_COLOURS[sprite.role], outline=FOREGROUND, width=3)
    for number, place in enumerate(scene.avatars):
        box = _box(place, side, side // 5 + number * side // 16)
        _draw_avatar(pen, box, AGENT_COLOURS[number], scene.is_alive[number], scene.has_message[number])
    image = image.resize((SIDE * cell_pixels,) * 2, Image.Resampling.BOX)
    pen, font = ImageDraw.Draw(image), ImageFont.load_default(_SMALL_PIXELS)
    for sprite in scene.sprites:
        row, column = sprite.place
        pen.text(((column + 0.5) * cell_pixels, (row + 0.8) * cell_pixels), sprite.name, FOREGROUND, font, anchor="mm")
    return image


def _draw_avatar(pen: ImageDraw.ImageDraw, box: tuple[int, ...], colour: Colour, alive: bool, holds: bool) -> None:
    """Draw a living avatar as a disc, with a letter if it has the message; a dead one as a cross."""
    left, top, right, bottom = box
    if not alive:
        for line in ((left, top, right, bottom), (left, bottom, right, top)):
            pen.line(line, fill=colour, width=10)
        return
    pen.ellipse(box, fill=colour, outline=BACKGROUND, width=4)
    if holds:
        wide, high = (right - left) // 4, (bottom - top) // 3
        letter = (left + wide, top + high, right - wide, bottom - high)
        pen.rectangle(letter, fill=LETTER, outline=FOREGROUND)
        middle = ((left + right) // 2, (top + bottom) // 2)
        pen.line((letter[:2], middle, (letter[2], letter[1])), fill=FOREGROUND, width=2)


def _lines(manual: Sequence[str]) -> tuple[list[Line], dict[int, int]]:
    """The manual as lines, and line -> sentence for lines in which a sentence begins."""
    lines: list[Line] = [("MANUAL", MUTED)]
    begins = {}
    for number, sentence in enumerate(manual):
        begins[len(lines)] = number
        wrapped = textwrap.wrap(sentence, _PANEL_COLUMNS, subsequent_indent="   ") or [""]
        lines += [(text, FOREGROUND) for text in wrapped]
    return lines, begins


def _draw_chips(pen: ImageDraw.ImageDraw, corner: tuple[int, int], scene: Scene, sentence: int) -> None:
    """Draw one square per sprite in its colour, stronger for a larger attention weight."""
    left, top = corner
    for number, (sprite, weights) in enumerate(zip(scene.sprites, scene.attention, strict=True)):
        share, colour = min(max(weights[sentence], 0.0), 1.0), ROLE_COLOURS[sprite.role]
        red, green, blue = (
            round(share * own + (1 - share) * bare) for own, bare in zip(colour, BACKGROUND, strict=True)
        )
        x = left + number * _CHIP_PIXELS
        pen.rectangle((x, top + 4, x + _CHIP_PIXELS - 3, top + 4 + _CHIP_PIXELS - 3), (red, green, blue), outline=MUTED)


def _box(place: Place, side: int, margin: int) -> tuple[int, int, int, int]:
    left, top = round(place[1] * side) + margin, round(place[0] * side) + margin
    return left, top, left + side - 2 * margin, top + side - 2 * margin
