"""Figures and videos of a run on RTFM: curves, attention (RTFM, figure 5), and an episode of each method.

Frames show the environment's image and the attention: each word of the document has a line, and each query a column of
squares, darker for more attention. Shades are square roots of weights, so that attention over many words is visible.
For the mention-matching reader, lines join each thing in the room, and the goal, with the words that it attends to,
stronger for more attention. A monster and the item that beats it have one colour, the environment's, so lines of one
colour should meet in one sentence, and errors of reading are visible.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from rl_envs.core.render import BACKGROUND, FOREGROUND, MUTED, Colour
from rl_envs.rtfm.render import CELL_PIXELS
from tune_experiments.core.drawing import Drawn, attempt
from tune_experiments.play.loading import LoadedPolicy
from tune_experiments.play.trial_figures import Trials, draw_curves, draw_teams
from tune_experiments.play.video import write_gif
from tune_experiments.rtfm.attention import Mention, Moment, draw_attention, watch_reading

Point: TypeAlias = tuple[float, float]
GOAL_COLOUR: Colour = (191, 138, 20)
NEITHER: Colour = (150, 154, 162)
"""Colour of all other things."""
MONSTER_COLOURS: tuple[Colour, ...] = ((196, 62, 46), (34, 128, 84), (126, 58, 172), (16, 116, 150))
MIN_WEIGHT = 0.1
"""Attention below this is not drawn."""
_PAGE_TEXT, _PAGE_LINE, _PAGE_MARGIN, _WIDTH, _SPACE = 18, 27, 64, 640, 7
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


def _frame(moment: Moment) -> np.ndarray:
    height = moment.picture.shape[0]
    room = Image.fromarray(moment.picture[:, : moment.size * CELL_PIXELS])
    page = _page(moment, height)
    whole = Image.new("RGB", (room.width + _WIDTH, height), BACKGROUND)
    whole.paste(room, (0, 0))
    whole.paste(page.image, (room.width, 0))
    over = Image.new("RGBA", (whole.width * _OVERSAMPLING, height * _OVERSAMPLING), (*BACKGROUND, 0))
    pen = ImageDraw.Draw(over)
    # The most important is drawn last, above the rest.
    for mention in sorted(moment.mentions, key=lambda one: one.monster is not None):
        _draw_mention(pen, mention, page, (room.width, CELL_PIXELS))
    over = over.resize(whole.size, Image.Resampling.BOX)
    return np.asarray(Image.alpha_composite(whole.convert("RGBA"), over).convert("RGB"))


def _page(moment: Moment, height: int) -> Page:
    """Goal, action, and the document with a line a sentence."""
    image = Image.new("RGB", (_WIDTH, height), BACKGROUND)
    pen, font = ImageDraw.Draw(image), ImageFont.load_default(_PAGE_TEXT)
    title = f"chooses {moment.action}" if moment.action else f"the end, reward {moment.reward:+.2f}"
    for line, (text, colour) in enumerate(((title, FOREGROUND), (f"goal: {moment.goal}", GOAL_COLOUR))):
        pen.text((_PAGE_MARGIN, (line + 0.5) * _PAGE_LINE), text, fill=colour, font=font)
    boxes = _word_boxes(moment.words, 3.5 * _PAGE_LINE)
    for word, (left, top, *_) in zip(moment.words, boxes, strict=True):
        pen.text((left, top), word, fill=FOREGROUND, font=font)
    note = "one colour: a monster and the item that beats it; lines: attention to words"
    pen.text((_PAGE_MARGIN, height - _PAGE_LINE), note, fill=MUTED, font=ImageFont.load_default(_PAGE_TEXT - 4))
    return Page(image, boxes, (_PAGE_MARGIN, 2 * _PAGE_LINE))


def _word_boxes(words: Sequence[str], first_top: float) -> list[tuple[int, int, int, int]]:
    """Left, top, right and bottom of each word; a sentence begins a line, and a long one continues below, indented."""
    font = ImageFont.load_default(_PAGE_TEXT)
    boxes, left, top = [], float(_PAGE_MARGIN), first_top
    for word in words:
        width = font.getlength(word)
        if left + width > _WIDTH - _SPACE:
            left, top = float(_PAGE_MARGIN + _INDENT), top + _PAGE_LINE
        boxes.append((round(left), round(top), round(left + width), round(top) + _PAGE_TEXT + 3))
        left += width + _SPACE
        if word == ".":
            left, top = float(_PAGE_MARGIN), top + _PAGE_LINE
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


CURVES = {
    "episode/win_rate": "win rate",
    "valid/unseen_win_rate": "win rate, unseen assignments (validation)",
    "valid/shuffled_win_rate": "the same with another game's document",
    "episode/length": "episode length (env steps)",
    "policy/entropy": "entropy (nats)",
}
BINS = 40
_FRAME_SECONDS = 0.6
PAPER, INK, EDGE = (252, 251, 248), (52, 56, 66), (226, 218, 203)
DARKEST = np.array([8, 48, 107])
_NARROWEST = 380
_LINE, _SQUARE, _WORD, _MARGIN, _TEXT = 15, 14, 92, 14, 11
_HEAD_LINES = 3
"""Lines above the words: the action, and the names of the columns."""


def video(policy: LoadedPolicy, seed: int) -> list[np.ndarray]:
    """Frames of one episode with the network's attention, [H, W, 3] uint8 each."""
    return draw_frames(watch_reading(policy, seed))


def draw(out: Path, trials: Trials) -> Sequence[Drawn]:
    """Draw all figures that have data; returns their paths."""

    def draw_episode(method: str, policy: LoadedPolicy) -> Iterator[Drawn]:
        """One episode, and a figure of the team's attention if its network has one."""
        moments = watch_reading(policy)
        yield from attempt(
            f"video of {method}",
            lambda: write_gif(draw_frames(moments), out / f"videos/{method}.gif", _FRAME_SECONDS),
        )
        if moments[0].attention:
            yield draw_attention(moments, out / f"plots/attention_{method}.png", method)

    return [*draw_curves(out, trials, CURVES, BINS), *draw_teams(trials, {"attention": draw_episode})]


def draw_frames(moments: Sequence[Moment]) -> list[np.ndarray]:
    """One frame a moment, [H, W, 3] uint8, all of one size; for a mention-matching reader with lines."""
    if moments[0].mentions:
        return [_frame(moment) for moment in moments]
    heads = ["g" if name == "goal" else name.removeprefix("layer ") for name in moments[0].attention]
    if not heads:
        return [moment.picture for moment in moments]
    height = moments[0].picture.shape[0]
    lines = height // _LINE - _HEAD_LINES
    columns = max(-(-len(moment.words) // lines) for moment in moments)
    width = max(columns * _column_width(heads) + _MARGIN, _NARROWEST)
    return [
        np.concatenate([moment.picture, _panel(moment, heads, (width, height), lines)], axis=1) for moment in moments
    ]


def _panel(moment: Moment, heads: list[str], size: tuple[int, int], lines: int) -> np.ndarray:
    image = Image.new("RGB", size, PAPER)
    pen, font = ImageDraw.Draw(image), ImageFont.load_default(_TEXT)
    end = f"the end, reward {moment.reward:+.2f}"
    title = f"chooses {moment.action}; attention of the goal (g) and the layers" if moment.action else end
    pen.text((_MARGIN, 6), title, fill=INK, font=font)
    for number, word in enumerate(moment.words):
        column, line = divmod(number, lines)
        left, top = _MARGIN + column * _column_width(heads), (line + _HEAD_LINES) * _LINE - 4
        pen.text((left, top), word, fill=INK, font=font)
        for place, weights in enumerate(moment.attention.values()):
            x = left + _WORD + place * _SQUARE
            if not line:
                pen.text((x + _SQUARE / 2 - 1, top - _LINE / 2), heads[place], fill=INK, font=font, anchor="mm")
            shade = _shade(float(weights[number]))
            pen.rectangle((x, top, x + _SQUARE - 3, top + _LINE - 4), fill=shade, outline=EDGE)
    return np.asarray(image)


def _column_width(heads: list[str]) -> int:
    return _WORD + len(heads) * _SQUARE + _MARGIN


def _shade(weight: float) -> tuple[int, int, int]:
    """Background colour for weight 0, the darkest colour for weight 1."""
    share = weight**0.5
    red, green, blue = (np.array(PAPER) * (1 - share) + DARKEST * share).round().astype(int).tolist()
    return red, green, blue
