"""Rendering of a kitchen: counters, stores, pots with onions and cooking time, chefs with the things that they hold.

Shapes are drawn at twice the size and then reduced, so that edges are smooth; text is drawn afterwards.
"""

from typing import TypeAlias

import numpy as np
from PIL import Image, ImageDraw

from rl_envs.core.render import FOREGROUND, Colour, caption_strip
from rl_envs.core.spec import Array, Arrays
from rl_envs.overcooked.kitchen import Kitchen
from rl_envs.overcooked.words import (
    CHEF_COLOURS,
    COOK_STEPS,
    DISH,
    DISH_STORE,
    FLOOR,
    FULL,
    HATCH,
    LEGEND,
    NOTHING,
    ONION,
    ONION_STORE,
    POT,
    POT_ONIONS,
    READY,
    SOUP,
    STEPS,
)

Point: TypeAlias = tuple[float, float]

FLOOR_COLOUR: Colour = (247, 242, 232)
WOOD: Colour = (214, 196, 166)
EDGE: Colour = (176, 154, 120)
ONION_COLOUR, DISH_COLOUR, SOUP_COLOUR, STEEL, HATCH_COLOUR = LEGEND.values()
FIRE: Colour = (219, 62, 50)
_OVERSAMPLING = 2
_STORES = {ONION_STORE: ONION, DISH_STORE: DISH}


def draw(kitchen: Kitchen, state: Arrays, *, caption: str = "", cell_pixels: int = 56) -> Array:
    """Image of one state, [height, width, 3] uint8; H * cell_pixels high plus the strip, W * cell_pixels wide.

    The state is name -> [...]. The caption is below the image, by default the step and the served soups.
    """
    canvas = _Canvas(kitchen, cell_pixels)
    for cell, contents in enumerate(state["contents"].tolist()):
        canvas.draw_cell(cell, contents)
    chefs = zip(*(state[name].tolist() for name in ("agent_cells", "headings", "held")), strict=True)
    for number, (cell, heading, held) in enumerate(chefs):
        canvas.draw_chef(cell, heading, held, CHEF_COLOURS[number])
    text = caption or f"step {int(state['episode_length'])}, soups served: {int(state['soups'])}"
    return np.concatenate([canvas.finished(), caption_strip(text, kitchen.width * cell_pixels)])


class _Canvas:
    """An image of a kitchen under construction."""

    def __init__(self, kitchen: Kitchen, cell_pixels: int) -> None:
        self._kitchen, self._pixels = kitchen, cell_pixels
        self._side = cell_pixels * _OVERSAMPLING
        size = (kitchen.width * self._side, kitchen.height * self._side)
        self._image = Image.new("RGB", size, FLOOR_COLOUR)
        self._pen = ImageDraw.Draw(self._image)

    def draw_cell(self, cell: int, contents: int) -> None:
        """Draw the fixture of a cell and its contents."""
        centre = self._centre(cell)
        if contents == FLOOR:
            self._square(centre, 0.5, FLOOR_COLOUR, (233, 226, 213))
            return
        self._square(centre, 0.5, HATCH_COLOUR if contents == HATCH else WOOD, EDGE)
        if contents >= POT:
            self._draw_pot(centre, contents)
        elif contents in _STORES:
            self._square(centre, 0.36, STEEL, FOREGROUND)
            for shift in (-0.16, 0.16):
                self._draw_thing((centre[0] + shift * self._side, centre[1]), _STORES[contents], 0.15)
        elif contents != HATCH:
            self._draw_thing(centre, contents, 0.26)

    def draw_chef(self, cell: int, heading: int, held: int, colour: Colour) -> None:
        """Draw a chef as a disc with a nose in its heading and the held thing before it."""
        x, y = self._centre(cell)
        down, right = (part * self._side for part in STEPS[heading])
        self._disc((x + 0.26 * right, y + 0.26 * down), 0.14, colour)
        self._disc((x, y), 0.32, colour)
        self._draw_thing((x + 0.14 * right, y + 0.14 * down), held, 0.2)

    def finished(self) -> Array:
        """[H * cell_pixels, W * cell_pixels, 3] uint8."""
        size = (self._kitchen.width * self._pixels, self._kitchen.height * self._pixels)
        return np.asarray(self._image.resize(size, Image.Resampling.BOX))

    def _draw_pot(self, centre: Point, contents: int) -> None:
        self._disc(centre, 0.4, STEEL)
        if contents < FULL:
            for number in range(contents - POT):
                shift = (number - (POT_ONIONS - 1) / 2) * 0.22 * self._side
                self._draw_thing((centre[0] + shift, centre[1]), ONION, 0.12)
            return
        self._disc(centre, 0.3, SOUP_COLOUR)
        cooked = (contents - FULL) / COOK_STEPS
        box = self._box(centre, 0.4)
        colour = HATCH_COLOUR if contents == READY else FIRE
        self._pen.arc(box, -90, -90 + 360 * cooked, fill=colour, width=self._side // 14)

    def _draw_thing(self, centre: Point, thing: int, radius: float) -> None:
        if thing == NOTHING:
            return
        self._disc(centre, radius, ONION_COLOUR if thing == ONION else DISH_COLOUR)
        if thing == SOUP:
            self._disc(centre, 0.68 * radius, SOUP_COLOUR)

    def _disc(self, centre: Point, radius: float, colour: Colour) -> None:
        self._pen.ellipse(self._box(centre, radius), fill=colour, outline=FOREGROUND, width=2)

    def _square(self, centre: Point, half: float, colour: Colour, edge: Colour) -> None:
        self._pen.rectangle(self._box(centre, half), fill=colour, outline=edge, width=2)

    def _box(self, centre: Point, half: float) -> tuple[float, float, float, float]:
        reach = half * self._side
        return centre[0] - reach, centre[1] - reach, centre[0] + reach, centre[1] + reach

    def _centre(self, cell: int) -> Point:
        row, column = self._kitchen.place(cell)
        return (column + 0.5) * self._side, (row + 0.5) * self._side
