"""Which key does which action: arrows for directions, the space bar for waiting, then digits and letters."""

from __future__ import annotations

import string
from collections.abc import Sequence

_USUAL = {
    "up": "ArrowUp",
    "north": "ArrowUp",
    "moveahead": "ArrowUp",
    "down": "ArrowDown",
    "south": "ArrowDown",
    "left": "ArrowLeft",
    "west": "ArrowLeft",
    "rotateleft": "ArrowLeft",
    "right": "ArrowRight",
    "east": "ArrowRight",
    "rotateright": "ArrowRight",
    "stay": " ",
    "wait": " ",
    "pass": " ",
    "interact": "e",
}
_OTHERS = string.digits[1:] + string.ascii_lowercase


def keys_of(names: Sequence[str]) -> list[str]:
    """A key for each action, as the browser calls it; "" for actions beyond all keys, which have buttons."""
    usual = [_USUAL.get(name.lower(), "") for name in names]
    taken, keys = set(usual), list(usual)
    others = iter([key for key in _OTHERS if key not in taken])
    for number, key in enumerate(usual):
        if not key or key in usual[:number]:
            keys[number] = next(others, "")
    return keys
