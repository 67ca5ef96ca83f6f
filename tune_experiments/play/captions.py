"""Lines of text above or below the frames of a video, and frames of larger pixels."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from rl_envs.core.render import BACKGROUND, FOREGROUND, Colour
from rl_envs.core.spec import Array

QUIET: Colour = (150, 150, 150)
MIN_WIDTH = 320
"""Pixels that a line of text needs; narrower frames are enlarged."""
_LINE, _MARGIN, _TEXT, _MARK, _LETTER = 24, 12, 15, 10, 8
_MESSAGE_LINES = 2


@dataclass(frozen=True)
class Line:
    """A line of text, perhaps after a square of the colour `mark`."""

    text: str
    colour: Colour = FOREGROUND
    mark: Colour | None = None


@dataclass(frozen=True)
class Caption:
    """What an agent did last: its action in words, and the text that it wrote to the others; empty for none."""

    name: str
    colour: Colour | None = None
    action: str = ""
    message: str = ""


def agent_captions(world: Any, actions: Sequence[str] = (), messages: Sequence[str] = ()) -> list[Caption]:
    """A caption for each agent of a world, with its colour if it has one."""
    rows = zip_longest(world.agents, world.agent_colours(), actions, messages)
    return [Caption(name, colour, action or "", message or "") for name, colour, action, message in rows]


def _font(text: str) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """Pillow's font, or for letters that it lacks matplotlib's."""
    if text.isascii():
        return ImageFont.load_default(_TEXT)
    from matplotlib import get_data_path  # slow to import

    return ImageFont.truetype(f"{get_data_path()}/fonts/ttf/DejaVuSans.ttf", _TEXT)


def with_lines(frame: Array, lines: Sequence[Line], below: bool = False) -> Array:
    """A frame `[H, W, 3]` uint8 with K lines above or below it, `[H + 24 K, W, 3]` uint8."""
    band = Image.new("RGB", (frame.shape[1], _LINE * len(lines)), BACKGROUND)
    pen = ImageDraw.Draw(band)
    for row, line in enumerate(lines):
        left, top = _MARGIN, row * _LINE
        if line.mark is not None:
            middle = top + (_LINE - _MARK) // 2
            pen.rectangle((left, middle, left + _MARK, middle + _MARK), fill=line.mark)
            left += 2 * _MARK
        pen.text((left, top + 3), line.text, fill=line.colour, font=_font(line.text))
    return np.concatenate([frame, np.asarray(band)] if below else [np.asarray(band), frame])


def with_captions(frames: Sequence[Array], captions: Sequence[Sequence[Caption]]) -> list[Array]:
    """Frames `[H, W, 3]` uint8 with lines below, `[H', W', 3]` uint8 each; narrow ones are enlarged.

    There is a line for each agent, and its message if any agent writes in the episode. `captions` has one for each
    agent, for each frame.
    """
    writes = any(one.message for agents in captions for one in agents)
    found = []
    for frame, agents in zip(frames, captions, strict=True):
        large = enlarged(frame, -(-MIN_WIDTH // frame.shape[1]))
        lines = []
        for one in agents:
            lines.append(Line(f"{one.name}: {one.action}" if one.action else one.name, mark=one.colour))
            lines += _message_lines(one.message, large.shape[1]) if writes else []
        found.append(with_lines(large, lines, below=True))
    return found


def enlarged(frame: Array, factor: int) -> Array:
    """`[H, W, 3]` with each pixel repeated, `[factor H, factor W, 3]`."""
    return frame.repeat(factor, axis=0).repeat(factor, axis=1)


def _message_lines(message: str, width: int) -> list[Line]:
    letters = (width - 2 * _MARGIN) // _LETTER
    lines = textwrap.wrap(f'"{message}"' if message else "", letters, max_lines=_MESSAGE_LINES, placeholder=" …")
    return [Line(text, QUIET) for text in [*lines, *[""] * (_MESSAGE_LINES - len(lines))]]
