"""Top-down rendering of FurnMove: room, television, agents, goal and the TV's path, in the style of the paper.

"A Cordial Sync" (Jain et al., ECCV 2020, figures 1 and 6) shows its gridworld like this. Shapes are drawn at twice the
size and then reduced, so that edges are smooth.
"""

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image, ImageDraw, ImageFont

from rl_envs.core.render import BACKGROUND, FOREGROUND, caption_strip
from rl_envs.furnmove.frame_palette import AGENT_COLOURS
from rl_envs.furnmove.furnishing import shown_characters
from rl_envs.furnmove.geometry import HOLD_MASKS, HOLD_REACH, STAND, STEPS, TV_BODY
from rl_envs.furnmove.room import FREE, LOW, OUTSIDE, TALL, WALL, Room, characters, drawing_of_masks

Colour: TypeAlias = tuple[int, ...]
Cells: TypeAlias = Iterable[tuple[int, int]]
Point: TypeAlias = tuple[float, float]

GRID: Colour = (233, 226, 213)
CELL_COLOURS: dict[str, Colour] = {
    FREE: (247, 242, 232),
    LOW: (214, 196, 166),
    TALL: (142, 112, 84),
    WALL: (84, 90, 103),
    OUTSIDE: BACKGROUND,
}
EDGES: dict[str, Colour] = {LOW: (176, 154, 120), TALL: (94, 71, 51)}
TELEVISION: Colour = (38, 42, 52)
GOAL: Colour = (26, 150, 98)
REACH: Colour = (74, 144, 226)
PATH: Colour = (126, 50, 160)
_OLD_PATH: Colour = (214, 188, 230)
_OVERSAMPLING = 2
_TEXT_PIXELS = 12
BORDER_PIXELS = 4
"""Width of the edge of an agent's frame, in the agent's colour."""


def draw(
    room: Room,
    agent_cells: ArrayLike,
    agent_headings: ArrayLike,
    tv: ArrayLike,
    stand: ArrayLike,
    *,
    path: ArrayLike = (),
    caption: str = "",
    cell_pixels: int = 24,
    has_legend: bool = True,
) -> NDArray[np.uint8]:
    """Image of one state, north up, [height, width, 3] uint8: (H + 1) x (W + 1) cells plus caption and legend.

    `agent_cells` [N, 2] (row, column), `agent_headings` [N] (clockwise quarter turns from north), `tv` [3] and `stand`
    [3] (row, column, rotation); `path` [T, 2] holds the cells of the television's centre so far, oldest first. The
    caption is one line above the image, which is cut if it does not fit.
    """
    agents, headings = np.asarray(agent_cells, int).reshape(-1, 2), np.asarray(agent_headings, int).reshape(-1)
    tv, stand = np.asarray(tv, int), np.asarray(stand, int)
    canvas = Canvas(room, cell_pixels)
    canvas.draw_room()
    canvas.draw_goal(stand)
    canvas.draw_television(tv)
    canvas.draw_path(np.asarray(path, int).reshape(-1, 2))
    for number, (cell, heading) in enumerate(zip(agents, headings, strict=True)):
        canvas.draw_agent(cell, int(heading), AGENT_COLOURS[number % len(AGENT_COLOURS)])
    image = canvas.finished()
    strips = [caption_strip(caption, image.width)] if caption else []
    strips.append(np.asarray(image))
    if has_legend:
        strips.append(legend_strip(len(agents), image.width))
    return np.concatenate(strips)


class Canvas:
    """An image of a room under construction, with half a cell of wall around it."""

    def __init__(self, room: Room, cell_pixels: int) -> None:
        masks = room.agent_cells, room.tv_cells
        self.drawing = (shown_characters(room) if room.drawing else characters(drawing_of_masks(*masks))).tolist()
        self.cell = cell_pixels * _OVERSAMPLING
        self.height, self.width = room.height, room.width
        self.image = Image.new("RGB", ((self.width + 1) * self.cell, (self.height + 1) * self.cell), CELL_COLOURS[WALL])
        self.pen = ImageDraw.Draw(self.image, "RGBA")

    def draw_room(self) -> None:
        """Draw floor with its grid, furniture and walls."""
        kinds: dict[str, list[tuple[int, int]]] = {}
        for row, line in enumerate(self.drawing):
            for column, kind in enumerate(line):
                kinds.setdefault(kind, []).append((row, column))
        for kind, cells in kinds.items():
            self._fill(cells, CELL_COLOURS[kind])
        self._grid(kinds.get(FREE, []))
        for row, column in kinds.get(TALL, []):
            left, top, right, bottom = self._box(row, column)
            self.pen.line((left, bottom, right, top), fill=EDGES[TALL], width=self._stroke(0.06))
        for kind, colour in EDGES.items():
            self._outline(kinds.get(kind, []), colour, 0.08)

    def draw_goal(self, stand: NDArray[Any]) -> None:
        """Draw the stand [3] (row, column, rotation), with a target in the middle."""
        cells = self._inside(stand[:2] + STAND[stand[2] % 4])
        self._fill(cells, (*GOAL, 90))
        self._outline(cells, GOAL, 0.12)
        x, y = self._centre(stand)
        for radius in (0.34, 0.14):
            self._disc(x, y, radius, outline=GOAL, stroke=0.1)

    def draw_television(self, tv: NDArray[Any]) -> None:
        """Draw the 13 cells of the television [3] and, in a light colour, the cells from which agents can hold it."""
        around = np.argwhere(HOLD_MASKS[tv[2] % 4]) - HOLD_REACH
        reach = [(row, column) for row, column in self._inside(tv[:2] + around) if self.drawing[row][column] == FREE]
        self._fill(reach, (*REACH, 60))
        self._outline(reach, (*REACH, 120), 0.05)
        self.draw_box(tv[:2] + TV_BODY[tv[2] % 4], tv)

    def draw_box(self, cells: NDArray[Any], centre: NDArray[Any]) -> None:
        """Draw the cells [K, 2] that a television covers, with a dot in the middle; `centre` [3] is the television."""
        body = self._inside(cells)
        self._fill(body, (*TELEVISION, 205))
        self._outline(body, TELEVISION, 0.12)
        self._disc(*self._centre(centre), 0.14, fill=PATH)

    def draw_path(self, path: NDArray[Any]) -> None:
        """Draw the path [T, 2] of the television's centre, from a ring at its start to a dot at its end."""
        if not len(path):
            return
        moves = np.flatnonzero((path[1:] != path[:-1]).any(1))
        for number, move in enumerate(moves):
            colour = _between(_OLD_PATH, PATH, (number + 1) / len(moves))
            self._draw_move(self._centre(path[move]), self._centre(path[move + 1]), colour, number % 3 == 1)
        self._disc(*self._centre(path[0]), 0.24, fill=BACKGROUND, outline=PATH, stroke=0.1)

    def _draw_move(self, start: Point, end: Point, colour: Colour, has_arrow: bool) -> None:
        """Draw one move of the path, with round ends and perhaps an arrow head in its direction."""
        self.pen.line((*start, *end), fill=colour, width=self._stroke(0.14))
        for point in (start, end):
            self._disc(*point, 0.07, fill=colour)
        if has_arrow:
            x, y, across, down = (*start, end[0] - start[0], end[1] - start[1])
            scale = 0.9 * self.cell / max(abs(across), abs(down))
            self._arrow(x + across / 2, y + down / 2, scale * down, scale * across, colour)

    def draw_agent(self, cell: NDArray[Any], heading: int, colour: Colour) -> None:
        """Draw an agent as a disc in its cell [2] with a white arrow in its heading."""
        x, y = self._centre(cell)
        self._disc(x, y, 0.47, fill=colour, outline=BACKGROUND, stroke=0.06)
        down, right = STEPS[heading % 4] * self.cell
        self._arrow(x, y, down, right, (255, 255, 255))

    def _arrow(self, x: float, y: float, down: float, right: float, colour: Colour) -> None:
        """Draw an arrow head around a point, as large as the vector (down, right)."""
        shape = ((0.36, 0.0), (-0.22, 0.26), (-0.1, 0.0), (-0.22, -0.26))
        self.pen.polygon(
            [(x + ahead * right - side * down, y + ahead * down + side * right) for ahead, side in shape], fill=colour
        )

    def finished(self) -> Image.Image:
        """The image in its final size."""
        size = (self.image.width // _OVERSAMPLING, self.image.height // _OVERSAMPLING)
        return self.image.resize(size, Image.Resampling.BOX)

    def _grid(self, cells: Cells) -> None:
        for row, column in cells:
            left, top, right, bottom = self._box(row, column)
            self.pen.line((left, bottom, right, bottom, right, top), fill=GRID, width=_OVERSAMPLING)

    def _fill(self, cells: Cells, colour: Colour) -> None:
        for row, column in cells:
            left, top, right, bottom = self._box(row, column)
            self.pen.rectangle((left, top, right - 1, bottom - 1), fill=colour)

    def _outline(self, cells: Cells, colour: Colour, stroke: float) -> None:
        """Draw the outline of a set of cells."""
        members = set(cells)
        for row, column in members:
            left, top, right, bottom = self._box(row, column)
            sides = ((left, top, right, top), (right, top, right, bottom), (left, bottom, right, bottom))
            for (down, along), side in zip(STEPS.tolist(), (*sides, (left, top, left, bottom)), strict=True):
                if (row + down, column + along) not in members:
                    self.pen.line(side, fill=colour, width=self._stroke(stroke))

    def _disc(
        self,
        x: float,
        y: float,
        radius: float,
        *,
        fill: Colour | None = None,
        outline: Colour | None = None,
        stroke: float = 0.0,
    ) -> None:
        """Draw a disc around a point in pixels; radius and stroke in cells."""
        reach = radius * self.cell
        width = self._stroke(stroke) if outline else 0
        self.pen.ellipse((x - reach, y - reach, x + reach, y + reach), fill=fill, outline=outline, width=width)

    def _inside(self, cells: NDArray[Any]) -> list[tuple[int, int]]:
        pairs = [(int(row), int(column)) for row, column in cells]
        return [(row, column) for row, column in pairs if 0 <= row < self.height and 0 <= column < self.width]

    def _box(self, row: int, column: int) -> tuple[int, int, int, int]:
        left, top = self.cell // 2 + column * self.cell, self.cell // 2 + row * self.cell
        return left, top, left + self.cell, top + self.cell

    def _centre(self, cell: NDArray[Any]) -> Point:
        left, top, right, bottom = self._box(int(cell[0]), int(cell[1]))
        return (left + right) / 2, (top + bottom) / 2

    def _stroke(self, cells: float) -> int:
        return max(1, round(cells * self.cell))


def legend_strip(num_agents: int, width: int, text_pixels: int = _TEXT_PIXELS) -> NDArray[np.uint8]:
    """Legend of the colours as an image [height, width, 3] uint8, in as many lines as the width needs."""
    agents = [(f"agent_{number}", AGENT_COLOURS[number % len(AGENT_COLOURS)]) for number in range(num_agents)]
    entries: list[tuple[str, Colour]] = [
        *agents,
        ("television", TELEVISION),
        ("its way (old: pale)", PATH),
        ("stand (goal)", GOAL),
        ("cells to hold it from", (205, 222, 240)),
    ]
    entries += [("low furniture", CELL_COLOURS[LOW]), ("tall furniture", CELL_COLOURS[TALL])]
    font = ImageFont.load_default(text_pixels)
    line_pixels, square = text_pixels * 3 // 2, text_pixels * 5 // 6
    x, line, positions = 8, 0, []
    for text, colour in entries:
        needed = square + 6 + round(font.getlength(text)) + text_pixels
        if x > 8 and x + needed > width:
            x, line = 8, line + 1
        positions.append((x, line * line_pixels + 4, text, colour))
        x += needed
    strip = Image.new("RGB", (width, (line + 1) * line_pixels + 4), BACKGROUND)
    pen = ImageDraw.Draw(strip)
    for x, y, text, colour in positions:
        pen.rounded_rectangle((x, y + 2, x + square, y + 2 + square), radius=2, fill=colour, outline=FOREGROUND)
        pen.text((x + square + 5, y), text, fill=FOREGROUND, font=font)
    return np.asarray(strip)


def framed(frame: NDArray[np.uint8], agent: int, side_pixels: int) -> NDArray[np.uint8]:
    """An agent's frame [P, P, 3], enlarged without smoothing, with an edge in the agent's colour on the map.

    The result is [side_pixels, side_pixels, 3] uint8, edge included.
    """
    inner = side_pixels - 2 * BORDER_PIXELS
    picture = Image.new("RGB", (side_pixels, side_pixels), AGENT_COLOURS[agent % len(AGENT_COLOURS)])
    picture.paste(Image.fromarray(frame).resize((inner, inner), Image.Resampling.NEAREST), (BORDER_PIXELS,) * 2)
    return np.asarray(picture)


def _between(start: Colour, end: Colour, share: float) -> Colour:
    return tuple(round(a + share * (b - a)) for a, b in zip(start, end, strict=True))
