"""Declarations of a world's arrays: shapes, types and bounds, in NumPy's terms only.

The wrappers translate them into Gymnasium spaces; worlds and tests use them directly.
"""

import functools
import operator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Arrays: TypeAlias = dict[str, Array]
Actions: TypeAlias = Array | Arrays


@dataclass(frozen=True, eq=False)
class NumbersSpec:
    """The part of an action that is a vector of numbers; `action_spec` has at most one, under the name `continuous`.

    Attributes:
        low, high: [N, D] float32, inclusive bounds of each agent; equal where an agent has no such number.
    """

    low: Array
    high: Array

    def contains(self, numbers: Array) -> bool:
        """Whether all numbers [B, N, D] lie within the bounds."""
        return bool(((numbers >= self.low) & (numbers <= self.high)).all())

    def is_valid(self, num_agents: int) -> bool:
        """Whether the bounds are finite, in order and of the right shape and type."""
        if not (isinstance(self.low, np.ndarray) and isinstance(self.high, np.ndarray)):
            return False
        shapes = {self.low.shape, self.high.shape}
        is_shaped = len(shapes) == 1 and self.low.ndim == 2 and len(self.low) == num_agents
        is_finite = np.isfinite(self.low).all() and np.isfinite(self.high).all()
        return bool(is_shaped and is_finite and self.low.dtype == np.float32 and (self.low <= self.high).all())


ActionSpec: TypeAlias = int | dict[str, int | NumbersSpec]
"""Number of actions of an agent, or for each part of a factored action its number of choices or its bounds."""

CONTINUOUS = "continuous"
"""Name of the part that is a vector of numbers."""

RESERVED_KEYS = ("decides", "alive")
"""Observation keys with a fixed meaning, in worlds that need them: `decides` [B, N] bool, the agent chooses an action
now; `alive` [B, N] bool, the agent is in the game (an agent that has left it gets no reward). A world without a key has
agents for which it is always true."""


def deciding(observations: Arrays) -> Array | None:
    """Mask of the agents that choose an action now and are in the game, [B, N] bool; None if all always do.

    Read from the observations, name -> [B, N, ...].
    """
    masks = [observations[key] for key in RESERVED_KEYS if key in observations]
    return functools.reduce(operator.and_, masks) if masks else None


def exactly(name: str, value: Array, dtype: np.dtype[Any] | type) -> Array:
    """Numbers or bools [...] in another type, [...], none of them changed; `name` is for the error sentence.

    Raises ValueError where a number would change, or is NaN.
    """
    if value.dtype.kind not in "biuf":
        raise ValueError(f"{name} must be numbers that {np.dtype(dtype)} holds, got {value.dtype}")
    with np.errstate(invalid="ignore", over="ignore"):
        held = value.astype(dtype)
        changed = (held != value) | (held.astype(value.dtype) != value)
    if changed.any():
        raise ValueError(f"{name} is {held.dtype}, which cannot hold {value[changed][0]} as it is")
    return held


def checked_picture(picture: Any) -> Array:
    """What a `render` returned, as [H, W, 3] uint8.

    Raises ValueError where it is no image.
    """
    if not isinstance(picture, np.ndarray):
        raise ValueError(f"render must return an array [H, W, 3] uint8, not {type(picture).__name__}")
    is_image = picture.ndim == 3 and picture.shape[2] == 3 and picture.size and picture.dtype.kind in "iu"
    if not (is_image and picture.min() >= 0 and picture.max() <= 255):
        raise ValueError(f"render must return [H, W, 3] uint8, not {list(picture.shape)} {picture.dtype}")
    return picture.astype(np.uint8, copy=False)


@dataclass(frozen=True)
class ArraySpec:
    """One observation key of one agent.

    Attributes:
        shape: shape of one agent's array; worlds deliver `[B, N, *shape]`.
        dtype: NumPy type name, the smallest that holds the values.
        low, high: inclusive bounds of every entry.
        meaning: one line for documentation.
        ids: whether the entries are numbers of kinds of things, from 0 to `high`, and no quantities.
    """

    shape: tuple[int, ...]
    dtype: str
    low: float
    high: float
    meaning: str
    ids: bool = False

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


@dataclass(frozen=True)
class EntitySpec:
    """Observation keys of the entities that agents can divide among themselves.

    Attributes:
        key: numbers of the kinds of E entities [E], or of the last T time steps [T, E], the newest last; numbers that
            describe each, [E, F], all 0 where there is none; or names in the cells of a grid, [H, W, P].
        positions: their cells, row * W + column, in the shape of `key`; or rows and columns [E, 2]; "" for a grid.
        agents: positions of the agents in the same form, [N], [T, N] or [N, 2]: agent i itself, then agents i + 1,
            i + 2, ... modulo N.
        size: H and W, by which distances are divided.
        is_entity: [K] bool, the kinds or names that are entities; None for all but 0.
    """

    key: str
    positions: str
    agents: str
    size: tuple[float, float]
    is_entity: Array | None = field(default=None, compare=False)
