"""Rendering of the salad kitchen: the room on the left; the order, macro actions and messages on the right.

Shapes are drawn at three times the size and then reduced, so that edges are smooth; text is drawn afterwards.
"""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from rl_envs.core.render import BACKGROUND, FOREGROUND, MUTED, Colour, Line, Panel, with_text_panel
from rl_envs.core.spec import Array, Arrays
from rl_envs.salad.kitchen import Kitchen
from rl_envs.salad.macro_actions import NAMES
from rl_envs.salad.symbols import (
    AGENT_COLOURS,
    AGENT_NAMES,
    BOARD,
    CHOPS,
    COUNTER,
    DELIVERY,
    FOODS,
    LEGEND,
    NOTHING,
    NUM_FOODS,
    NUM_THINGS,
    RECIPES,
    SIDE,
)

Spot: TypeAlias = tuple[float, float]

FLOOR: Colour = (246, 240, 228)
TILE: Colour = (233, 224, 207)
WOOD: Colour = (196, 160, 118)
WOOD_EDGE: Colour = (166, 129, 90)
CHINA: Colour = (253, 253, 253)
*FOOD_COLOURS, BOARD_COLOUR, WINDOW = LEGEND.values()
_OVERSAMPLING = 3
_TEXT_PIXELS, _PANEL_COLUMNS = 14, 38
_PANEL = Panel(width=310, text_pixels=_TEXT_PIXELS, line_pixels=20, corner=(16, 12))


@dataclass(frozen=True)
class Item:
    """A food or a bowl."""

    food: int  # number of the food, NOTHING for a bowl
    chops: int = 0  # number of chops of a food
    contents: tuple[int, ...] = ()  # numbers of the foods in a bowl


@dataclass(frozen=True)
class Scene:
    """One state of a world."""

    fixtures: Sequence[int]  # kind of each cell, [49]
    lying: Sequence[tuple[int, Item]]  # cell and item of each thing that lies in the room
    agents: Sequence[int]  # cell of each agent
    loads: Sequence[Item | None]  # item in each agent's hand, None for nothing
    order: str  # name of the recipe
    about: Sequence[str]  # macro action of each agent
    messages: Sequence[str] = ("", "")  # last message of each agent, "" for none


def make_scene(kitchen: Kitchen, state: Arrays) -> Scene:
    """The content of the image of one world in this state, name -> [...]."""
    items = [_item(state, thing) for thing in range(NUM_THINGS)]
    return Scene(
        fixtures=kitchen.fixtures.tolist(),
        lying=[(cell, items[thing]) for cell, thing in enumerate(state["lying"].tolist()) if thing != NOTHING],
        agents=state["agent_cells"].tolist(),
        loads=[None if thing == NOTHING else items[thing] for thing in state["held"].tolist()],
        order=RECIPES[int(state["recipe"])],
        about=[NAMES[number].replace("_", " ") for number in state["macro"].tolist()],
    )


def draw(scene: Scene, *, caption: str = "", cell_pixels: int = 60) -> Array:
    """Image of one state, [height, width, 3] uint8; the room is 7 * cell_pixels wide, the text stands to its right."""
    image = with_text_panel(_room(scene, cell_pixels), _lines(scene, caption), _PANEL)
    pen, font = ImageDraw.Draw(image), ImageFont.load_default(_TEXT_PIXELS)
    for name, cell, colour in zip(AGENT_NAMES, scene.agents, AGENT_COLOURS, strict=True):
        row, column = divmod(cell, SIDE)
        place = ((column + 0.5) * cell_pixels, (row + 0.5) * cell_pixels)
        pen.text(place, name[0], fill=BACKGROUND, font=font, anchor="mm", stroke_width=1, stroke_fill=colour)
    return np.asarray(image)


def _item(state: Arrays, thing: int) -> Item:
    if thing < NUM_FOODS:
        return Item(thing, int(state["chops"][thing]))
    contents = np.flatnonzero(state["in_plate"] == thing - NUM_FOODS)
    return Item(NOTHING, contents=tuple(contents.tolist()))


def _lines(scene: Scene, caption: str) -> list[Line]:
    lines: list[Line] = [(caption, MUTED), ("", FOREGROUND)] if caption else []
    lines += [("ORDER", MUTED), (f"salad: {', '.join(scene.order.split('-'))}", FOREGROUND)]
    for name, colour, about, message in zip(AGENT_NAMES, AGENT_COLOURS, scene.about, scene.messages, strict=True):
        lines += [("", FOREGROUND), (name.upper(), colour), (about, FOREGROUND)]
        if message:
            message_lines = textwrap.wrap(f'"{message}"', _PANEL_COLUMNS)
            lines += [(text, MUTED) for text in message_lines]
    return lines


def _room(scene: Scene, cell_pixels: int) -> Image.Image:
    side = cell_pixels * _OVERSAMPLING
    image = Image.new("RGB", (SIDE * side, SIDE * side), FLOOR)
    pen = ImageDraw.Draw(image)
    for cell, fixture in enumerate(scene.fixtures):
        _draw_fixture(pen, _box(cell, side), fixture)
    for cell, item in scene.lying:
        _draw_item(pen, _middle(cell, side), item, 0.32 * side)
    for cell, load, colour in zip(scene.agents, scene.loads, AGENT_COLOURS, strict=True):
        _draw_disc(pen, _middle(cell, side), 0.36 * side, colour, BACKGROUND)
        if load is not None:
            x, y = _middle(cell, side)
            _draw_item(pen, (x + 0.26 * side, y - 0.26 * side), load, 0.21 * side)
    return image.resize((SIDE * cell_pixels,) * 2, Image.Resampling.BOX)


def _draw_fixture(pen: ImageDraw.ImageDraw, box: tuple[float, ...], fixture: int) -> None:
    left, top, right, bottom = box
    inset = (right - left) / 7
    if fixture == 0:
        pen.rectangle(box, fill=FLOOR, outline=TILE, width=3)
        return
    pen.rectangle(box, fill=WOOD, outline=WOOD_EDGE, width=4)
    inner = (left + inset, top + inset, right - inset, bottom - inset)
    if fixture == BOARD:
        pen.rounded_rectangle(inner, radius=inset, fill=BOARD_COLOUR, outline=WOOD_EDGE, width=5)
    elif fixture == DELIVERY:
        pen.rectangle(inner, fill=WINDOW, outline=FOREGROUND, width=4)
        across, middle = right - left, (top + bottom) / 2
        tip, tail = left + 0.28 * across, left + 0.72 * across
        pen.line((tail, middle, tip, middle), fill=BACKGROUND, width=8)
        pen.polygon([(tip - 8, middle), (tip + 22, middle - 22), (tip + 22, middle + 22)], fill=BACKGROUND)
    else:
        assert fixture == COUNTER


def _draw_item(pen: ImageDraw.ImageDraw, middle: Spot, item: Item, radius: float) -> None:
    if item.food != NOTHING:
        _draw_food(pen, middle, item.food, item.chops >= CHOPS, 0.8 * radius)
        return
    _draw_disc(pen, middle, radius, CHINA, FOREGROUND)
    _draw_disc(pen, middle, 0.78 * radius, CHINA, TILE)
    x, y = middle
    for place, food in enumerate(item.contents):
        turn = 2 * np.pi * place / max(len(item.contents), 1)
        away = 0.36 * radius if len(item.contents) > 1 else 0.0
        _draw_food(pen, (x + away * np.cos(turn), y + away * np.sin(turn)), food, True, 0.42 * radius)


def _draw_food(pen: ImageDraw.ImageDraw, middle: Spot, food: int, is_chopped: bool, radius: float) -> None:
    """Draw a food as a disc, or as four pieces if it is chopped."""
    assert 0 <= food < len(FOODS)
    if not is_chopped:
        _draw_disc(pen, middle, radius, FOOD_COLOURS[food], FOREGROUND)
        return
    x, y = middle
    for right, down in ((-1, -1), (1, -1), (-1, 1), (1, 1)):
        piece = (x + 0.52 * radius * right, y + 0.52 * radius * down)
        _draw_disc(pen, piece, 0.46 * radius, FOOD_COLOURS[food], FOREGROUND)


def _draw_disc(pen: ImageDraw.ImageDraw, middle: Spot, radius: float, fill: Colour, outline: Colour) -> None:
    x, y = middle
    pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=fill, outline=outline, width=3)


def _box(cell: int, side: int) -> tuple[float, ...]:
    row, column = divmod(cell, SIDE)
    return (column * side, row * side, (column + 1) * side - 1, (row + 1) * side - 1)


def _middle(cell: int, side: int) -> Spot:
    row, column = divmod(cell, SIDE)
    return ((column + 0.5) * side, (row + 0.5) * side)
