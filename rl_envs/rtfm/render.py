"""Rendering of RTFM: the room on the left; goal, inventories and document on the right.

Shapes are drawn at twice the size and then reduced, so that edges are smooth; text is drawn afterwards.
"""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from rl_envs.core.render import BACKGROUND, FOREGROUND, MUTED, Colour, Line, Panel, with_text_panel
from rl_envs.core.spec import Array
from rl_envs.rtfm.grid import AGENT_COLOURS
from rl_envs.rtfm.words import LEGEND

Cell: TypeAlias = tuple[int, int]

FLOOR: Colour = (247, 242, 232)
GRID: Colour = (226, 218, 203)
WALL: Colour = (84, 90, 103)
ITEM: Colour = LEGEND["item"]
MONSTER: Colour = (196, 186, 204)
"""Colour of a monster whose first word is no element."""
CELL_PIXELS = 84
"""Side of a cell."""
_OVERSAMPLING = 2
_NAME_PIXELS = 16
_NAME_LINE_PIXELS, _NAME_MARGIN = 17, 22
_PANEL_COLUMNS = 46
_PANEL = Panel(width=410, least_lines=25, text_pixels=15, line_pixels=19)
"""The panel has room for the longest document."""


@dataclass(frozen=True)
class Scene:
    """One state of a world, in words and cells."""

    size: int  # side of the room in cells, walls included
    agents: Sequence[Cell]  # (row, column) of each agent
    is_agent_alive: Sequence[bool]  # whether each agent is alive
    carried: Sequence[str]  # name of the item that each agent holds
    monsters: Sequence[tuple[str, Cell]]  # name and (row, column) of each living monster
    items: Sequence[tuple[str, Cell]]  # name and (row, column) of each item on the floor
    document: str  # the texts
    goal: str  # the texts


def draw(scene: Scene, *, caption: str = "", cell_pixels: int = CELL_PIXELS, has_texts: bool = True) -> Array:
    """Image of one state, [height, width, 3] uint8; the room is size * cell_pixels wide, texts on its right."""
    if not has_texts:
        return np.asarray(_room(scene, cell_pixels))
    return np.asarray(with_text_panel(_room(scene, cell_pixels), _lines(scene, caption), _PANEL))


def _room(scene: Scene, cell_pixels: int) -> Image.Image:
    side = cell_pixels * _OVERSAMPLING
    image = Image.new("RGB", (scene.size * side, scene.size * side), WALL)
    pen = ImageDraw.Draw(image)
    for row in range(1, scene.size - 1):
        for column in range(1, scene.size - 1):
            pen.rectangle(_box((row, column), side, 0), fill=FLOOR, outline=GRID, width=_OVERSAMPLING)
    for _, cell in scene.items:
        pen.rounded_rectangle(_box(cell, side, side // 24), radius=side // 12, fill=ITEM, outline=FOREGROUND, width=3)
    for name, cell in scene.monsters:
        fill = LEGEND.get(f"{name.split()[0]} monster", MONSTER)
        pen.polygon(_spikes(_box(cell, side, side // 20)), fill=fill, outline=FOREGROUND)
    for number, (cell, alive) in enumerate(zip(scene.agents, scene.is_agent_alive, strict=True)):
        here = [other for other, place in enumerate(scene.agents) if place == cell]
        box = _get_square(_box(cell, side, side // 5), here.index(number), len(here))
        _draw_agent(pen, box, AGENT_COLOURS[number % len(AGENT_COLOURS)], alive)
    image = image.resize((scene.size * cell_pixels,) * 2, Image.Resampling.BOX)
    pen = ImageDraw.Draw(image)
    for name, cell in (*scene.items, *scene.monsters):
        _write_into(pen, cell, cell_pixels, name)
    return image


def _draw_agent(pen: ImageDraw.ImageDraw, box: tuple[int, ...], colour: Colour, alive: bool) -> None:
    """Draw a living agent as a disc, a dead one as a cross."""
    left, top, right, bottom = box
    if alive:
        pen.ellipse(box, fill=colour, outline=BACKGROUND, width=4)
        return
    for line in ((left, top, right, bottom), (left, bottom, right, top)):
        pen.line(line, fill=colour, width=10)


def _write_into(pen: ImageDraw.ImageDraw, cell: Cell, side: int, name: str) -> None:
    """Write the words of a name, one per line, into the middle of a cell."""
    words = name.split()
    font = _fitting_font(words, side - _NAME_MARGIN)
    x, y = (cell[1] + 0.5) * side, (cell[0] + 0.5) * side
    for number, word in enumerate(words):
        pen.text(
            (x, y + (number - (len(words) - 1) / 2) * _NAME_LINE_PIXELS), word, fill=FOREGROUND, font=font, anchor="mm"
        )


def _fitting_font(words: Sequence[str], width: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """The font of names, reduced until the longest word fits."""
    longest = max(ImageFont.load_default(_NAME_PIXELS).getlength(word) for word in words)
    return ImageFont.load_default(_NAME_PIXELS * min(1, width / longest))


def _lines(scene: Scene, caption: str) -> list[Line]:
    """The lines of the text panel."""
    lines: list[Line] = [(caption, FOREGROUND), ("", FOREGROUND)] if caption else []
    lines += [("GOAL", MUTED), *_wrapped(_readable(scene.goal)), ("", FOREGROUND)]
    lines.append(("INVENTORY" if len(scene.carried) == 1 else "INVENTORIES", MUTED))
    lines += [
        (_readable(held), AGENT_COLOURS[number % len(AGENT_COLOURS)]) for number, held in enumerate(scene.carried)
    ]
    lines += [("", FOREGROUND), ("DOCUMENT", MUTED)]
    for sentence in scene.document.removesuffix(" .").split(" . "):
        lines += _wrapped(_readable(f"{sentence} ."))
    return lines


def _wrapped(text: str) -> list[Line]:
    return [(line, FOREGROUND) for line in textwrap.wrap(text, _PANEL_COLUMNS, subsequent_indent="   ")]


def _readable(text: str) -> str:
    """The text without spaces before punctuation."""
    for mark in (".", ",", ":", ";"):
        text = text.replace(f" {mark}", mark)
    return text


def _box(cell: Cell, side: int, margin: int) -> tuple[int, int, int, int]:
    row, column = cell
    left, top = column * side + margin, row * side + margin
    return left, top, left + side - 2 * margin, top + side - 2 * margin


def _get_square(box: tuple[int, int, int, int], part: int, parts: int) -> tuple[int, int, int, int]:
    """One of several equal squares, side by side in the middle of a square."""
    left, top, right, bottom = box
    width = (right - left) // parts
    high = (top + bottom - width) // 2
    return left + part * width, high, left + (part + 1) * width, high + width


def _spikes(box: tuple[int, int, int, int]) -> list[tuple[float, float]]:
    """Corners of a star with twelve points that fills a box."""
    left, top, right, bottom = box
    angle = np.arange(24) * np.pi / 12
    radius = np.where(np.arange(24) % 2 == 0, 1.0, 0.86) / 2
    x = (left + right) / 2 + np.cos(angle) * radius * (right - left)
    y = (top + bottom) / 2 + np.sin(angle) * radius * (bottom - top)
    return list(zip(x.tolist(), y.tolist(), strict=True))
