"""What a world's arrays look like: shapes, types and bounds, in NumPy's words only.

The views translate these records into Gymnasium spaces; worlds and tests read them as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Arrays: TypeAlias = dict[str, Array]
Actions: TypeAlias = Array | Arrays
ActionSpec: TypeAlias = int | dict[str, int]
"""Number of actions of an agent, or one number for each factor of a factored action."""

RESERVED_KEYS = ("decides", "alive")
"""Observation keys with a fixed meaning, present only in worlds that need them: `decides` [B, N] bool, this agent
chooses an action now; `alive` [B, N] bool, this agent is in the game. Without them every agent always does."""


def deciding(observations: Arrays) -> Array | None:
    """[B, N] bool, agents that choose an action now and are in the game; None where all always do."""
    masks = [observations[key] for key in RESERVED_KEYS if key in observations]
    return np.logical_and.reduce(masks) if masks else None


def exactly(name: str, value: Array, dtype: np.dtype[Any] | type) -> Array:
    """The same numbers in another type.

    Args:
        name: whose they are, for the sentence.
        value: any shape, numbers or bools.
        dtype: type that must hold each of them as it is.

    Returns:
        same shape, of that type.

    Raises:
        ValueError: a number would change, or is NaN.
    """
    if value.dtype.kind not in "biuf":
        raise ValueError(f"{name} must be numbers that {np.dtype(dtype)} holds, got {value.dtype}")
    with np.errstate(invalid="ignore", over="ignore"):
        held = value.astype(dtype)
        changed = (held != value) | (held.astype(value.dtype) != value)
    if changed.any():
        raise ValueError(f"{name} is {held.dtype}, which cannot hold {value[changed][0]} as it is")
    return held


@dataclass(frozen=True)
class ArraySpec:
    """One observation key of one agent.

    Attributes:
        shape: shape of one agent's array; worlds deliver `[B, N, *shape]`.
        dtype: NumPy type name, the smallest that holds the values.
        low, high: inclusive bounds of every entry.
        meaning: one line for documentation.
    """

    shape: tuple[int, ...]
    dtype: str
    low: float
    high: float
    meaning: str

    def contains(self, array: Array) -> bool:
        """Whether `array` (`[..., *shape]`) has this type, shape and bounds exactly."""
        tail = array.shape[array.ndim - len(self.shape) :]
        if array.dtype != np.dtype(self.dtype) or tail != self.shape:
            return False
        return array.size == 0 or bool((array >= self.low).all() and (array <= self.high).all())


@dataclass(frozen=True)
class TextSpec:
    """Composed text: the observation key holds rows of a token table, `[B, N, *rows]` int32.

    Attributes:
        length: L, tokens a row; shorter texts are padded with 0.
        vocabulary: V, token ids are 0 .. V - 1.
        meaning: one line for documentation.
        rows: shape of the row numbers that one agent sees at once; () is a single text.
    """

    length: int
    vocabulary: int
    meaning: str
    rows: tuple[int, ...] = ()
