"""Pictures of an episode as PNG pieces: each is only the rectangle that changed since the one before.

A page draws the pieces one over another. Every `KEY_EVERY`-th picture is whole, so that a jump draws few of them.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
from PIL import Image

from rl_envs.core.spec import Array

KEY_EVERY = 32
Piece: TypeAlias = dict[str, Any] | None
"""`x`, `y`, `width`, `height` in pixels, `png` in base64, `whole`; None for a picture that is equal to the last one."""


def pieces_of(pictures: Iterable[Array | None]) -> list[Piece]:
    """One piece for each picture, [H, W, 3] uint8; None for a picture that is not there."""
    found: list[Piece] = []
    before: Array | None = None
    since_key = 0
    for picture in pictures:
        since_key += 1
        if picture is None:
            found.append(None)
            continue
        is_whole = before is None or before.shape != picture.shape or since_key >= KEY_EVERY
        found.append(_piece(picture, None if is_whole else before))
        since_key, before = 0 if is_whole else since_key, picture
    return found


def _piece(picture: Array, before: Array | None) -> Piece:
    if before is None:
        return _cut(picture, 0, 0, is_whole=True)
    changed = (picture != before).any(-1)
    rows, columns = np.flatnonzero(changed.any(1)), np.flatnonzero(changed.any(0))
    if not len(rows):
        return None
    return _cut(picture[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1], int(columns[0]), int(rows[0]))


def _cut(part: Array, x: int, y: int, is_whole: bool = False) -> dict[str, Any]:
    file = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(part)).save(file, "PNG")
    png = base64.b64encode(file.getvalue()).decode()
    return {"x": x, "y": y, "width": part.shape[1], "height": part.shape[0], "png": png, "whole": is_whole}
