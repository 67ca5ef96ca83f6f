"""Checks of numbers and flags that a caller gives; each refusal is one sentence."""

import math
import operator
from collections.abc import Iterable
from numbers import Real
from typing import Any

import numpy as np

MOST_STEPS = 2**30
"""Longest time limit: `episode_length` is int32."""


def whole(name: str, value: Any, least: int | None = None, most: int | None = None) -> int:
    """A whole number that a caller gives, of Python or NumPy.

    Raises ValueError where it is something else, a bool too, or too small or too large.
    """
    try:
        number = operator.index(value)
    except TypeError:
        raise ValueError(f"{name} must be a whole number, got {value!r} ({type(value).__name__})") from None
    if isinstance(value, bool):
        raise ValueError(f"{name} must be a whole number, got {value!r} (bool)")
    if least is not None and number < least:
        raise ValueError(f"{name} must be at least {least}, got {number}")
    if most is not None and number > most:
        raise ValueError(f"{name} must be at most {most}, got {number}")
    return number


def steps(max_episode_steps: Any) -> int:
    """A time limit in env steps, as `whole`."""
    return whole("max_episode_steps", max_episode_steps, 1, MOST_STEPS)


def one_of(known: Iterable[str], **given: Any) -> None:
    """Require known names, by argument; raises ValueError."""
    names = tuple(known)
    for name, value in given.items():
        if not isinstance(value, str) or value not in names:
            raise ValueError(f"{name} must be one of {', '.join(names)}, got {value!r}")


def finite(**given: Any) -> None:
    """Require finite numbers of Python or NumPy, by name; raises ValueError."""
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
            raise ValueError(f"{name} must be a finite number, got {value!r} ({type(value).__name__})")


def flags(**given: Any) -> None:
    """Require True or False, by name; raises ValueError, because a text such as "False" would count as true."""
    for name, value in given.items():
        if not isinstance(value, bool | np.bool_):
            raise ValueError(f"{name} must be True or False, got {value!r} ({type(value).__name__})")
