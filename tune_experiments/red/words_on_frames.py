"""Frames with what each agent is told, above the map."""

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
        words: what each agent is told; "" for nothing.

    Returns:
        [H + 24 N, W, 3] uint8.
    """
    band = Image.new("RGB", (frame.shape[1], _LINE * len(words)), _PAPER)
    pen, font = ImageDraw.Draw(band), ImageFont.load_default(_TEXT)
    for agent, said in enumerate(words):
        text = f"agent {agent} is told: {said or 'nothing'}"
        pen.text((_MARGIN, agent * _LINE + 3), text, fill=_INK if said else _QUIET, font=font)
    return np.concatenate([np.asarray(band), frame])
