"""Frames with each agent's instruction above the map."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from rl_envs.core.spec import Array

_LINE, _MARGIN, _TEXT = 24, 12, 15
_PAPER, _INK, _QUIET = (252, 251, 248), (52, 56, 66), (150, 150, 150)


def with_words(frame: Array, words: Sequence[str]) -> Array:
    """A frame with a line for each agent above it.

    Args:
        frame: [H, W, 3] uint8.
        words: each agent's instruction; "" for nothing.

    Returns:
        [H + 24 N, W, 3] uint8.
    """
    lines = [(f"agent {agent}: {text or 'no command'}", bool(text)) for agent, text in enumerate(words)]
    return with_lines(frame, lines)


def with_lines(frame: Array, lines: Sequence[tuple[str, bool]]) -> Array:
    """A frame with lines above it.

    Args:
        frame: [H, W, 3] uint8.
        lines: text, and whether it matters or stands back.

    Returns:
        [H + 24 K, W, 3] uint8.
    """
    band = Image.new("RGB", (frame.shape[1], _LINE * len(lines)), _PAPER)
    pen, font = ImageDraw.Draw(band), ImageFont.load_default(_TEXT)
    for row, (text, matters) in enumerate(lines):
        pen.text((_MARGIN, row * _LINE + 3), text, fill=_INK if matters else _QUIET, font=font)
    return np.concatenate([np.asarray(band), frame])
