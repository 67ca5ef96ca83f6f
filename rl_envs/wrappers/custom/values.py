"""Conversion of a custom environment's values to arrays, one converter per kind of space.

A converter raises `Mismatch` if a value is not in its space: another shape, another kind of number (a float for
integers), a number beyond the space or the type, a text that is too long. Bounds of boxes and NaN are checked for many
agents at once (`Layout`). Python numbers and lists, NumPy scalars and arrays with one entry are accepted.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from gymnasium import spaces
from gymnasium.spaces.text import alphanumeric

from rl_envs.core.spec import Array

Convert: TypeAlias = Callable[[Any], Array]
Bounds: TypeAlias = tuple[Any, Any]
"""Lowest and highest value: numbers, or arrays of the same shape as what they bound."""
_KINDS = {"f": "fiub", "i": "iub", "u": "iub", "b": "iub"}
"""Kinds of numbers that an array of each kind holds without loss."""
_MAX_LENGTH = 120


class Mismatch(ValueError):
    """A value is not in its space; the message is a predicate: `has shape (4,)`."""


def short_repr(value: Any) -> str:
    """A short description of a value in one line."""
    if isinstance(value, np.ndarray):
        numbers = f", {_clipped(value.tolist())}" if value.size <= 8 else ""
        return f"an array of shape {value.shape} and type {value.dtype}{numbers}"
    return f"{_clipped(value)} ({type(value).__name__})"


def space_repr(space: Any) -> str:
    """A space in one line."""
    return _clipped(space)


def _clipped(value: Any) -> str:
    try:
        text = " ".join(repr(value).split())
    except Exception:  # an object of the environment's own
        text = f"{type(value).__name__} object"
    return text if len(text) <= _MAX_LENGTH else f"{text[:_MAX_LENGTH]}..."


def number(value: Any) -> float:
    """A reward: one number, also as an array with one entry."""
    single = value if isinstance(value, float) else _single(value)
    if not isinstance(single, (bool, int, float, np.floating)):
        raise Mismatch(f"is {short_repr(value)}")
    try:
        return float(single)
    except OverflowError:
        raise Mismatch(f"is {short_repr(value)}, which is too large") from None


def flag(value: Any) -> bool:
    """A termination or truncation: true or false, also as 0 or 1 or an array with one entry."""
    single = _single(value)
    if isinstance(single, (bool, int)) and single in (0, 1):
        return bool(single)
    raise Mismatch(f"is {short_repr(value)}")


def is_true(value: Any) -> bool:
    """Whether a termination or truncation is true; one that is no flag is not, and `CheckedEnv` refuses it."""
    if value is True or value is False:  # the quick way
        return value
    try:
        return flag(value)
    except Mismatch:
        return False


def integer(value: Any) -> int:
    """An integer, also as an array with one entry."""
    single = _single(value)
    if isinstance(single, (bool, int)):
        return int(single)
    raise Mismatch(f"is {short_repr(value)}")


def _single(value: Any) -> Any:
    """A number out of an array or tensor with one entry; anything else as it is."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        return None
    if hasattr(value, "item") and math.prod(getattr(value, "shape", (0,))) == 1:
        return value.item()
    return value


def as_numbers(value: Any, shape: tuple[int, ...], kinds: str) -> Array:
    """A value as an array [...] of this shape; raises Mismatch where it is none."""
    given = to_array(value)
    if given is None:
        raise Mismatch(f"is {short_repr(value)}, which is no array")
    if given.dtype.kind not in kinds:
        raise Mismatch(f"is {short_repr(value)}")
    if given.shape != shape:
        if given.size == 1 == math.prod(shape):  # a number for an array of one, or the other way round
            return given.reshape(shape)
        raise Mismatch(f"has shape {given.shape}")
    return given


def to_array(value: Any) -> Array | None:
    """A value as an array [...]; None where it is none: rows of unequal length, tensors elsewhere, masked entries."""
    try:
        given = np.asanyarray(value)
    except Exception:  # whatever an object of the environment's own raises
        return None
    return None if np.ma.is_masked(given) else np.asarray(given)


def of_box(space: spaces.Box, dtype: np.dtype[Any]) -> Convert:
    """Converter of a box: shape and kind, and numbers that the type of the world holds."""
    shape, kinds = space.shape, _KINDS.get(dtype.kind, "")
    limits = (0, 1) if dtype.kind == "b" else None
    if dtype.kind in "iu":
        limits = (np.iinfo(dtype).min, np.iinfo(dtype).max)

    def convert(value: Any) -> Array:
        if type(value) is np.ndarray and value.dtype == dtype and value.shape == shape:  # the quick way
            return value
        given = as_numbers(value, shape, kinds)
        if given.dtype == dtype:
            return given
        if limits is not None and given.size and not (limits[0] <= given.min() and given.max() <= limits[1]):
            raise Mismatch(f"holds {given.min()} to {given.max()}")
        with np.errstate(over="ignore"):  # what becomes infinite is refused with its range
            return given.astype(dtype)

    return convert


def of_bits(shape: tuple[int, ...]) -> Convert:
    """Converter of a MultiBinary space."""

    def convert(value: Any) -> Array:
        given = as_numbers(value, shape, "fiub")
        if not ((given == 0) | (given == 1)).all():
            raise Mismatch(f"is {short_repr(value)}")
        return given.astype(np.uint8)

    return convert


def of_discrete(space: spaces.Discrete) -> Convert:
    """Converter of a Discrete space, to a one-hot vector."""
    count, start = int(space.n), int(space.start)

    def convert(value: Any) -> Array:
        place = integer(value) - start
        if not 0 <= place < count:
            raise Mismatch(f"is {short_repr(value)}")
        row = np.zeros(count, np.uint8)
        row[place] = 1
        return row

    return convert


def of_multidiscrete(space: spaces.MultiDiscrete) -> Convert:
    """Converter of a MultiDiscrete space, to one-hot vectors side by side."""
    sizes, start = space.nvec.ravel().astype(np.int64), np.ravel(space.start).astype(np.int64)
    first, total, shape = np.cumsum(sizes) - sizes, int(sizes.sum()), space.nvec.shape

    def convert(value: Any) -> Array:
        places = as_numbers(value, shape, "iub").ravel().astype(np.int64) - start
        if not ((places >= 0) & (places < sizes)).all():
            raise Mismatch(f"is {short_repr(value)}")
        row = np.zeros(total, np.uint8)
        row[first + places] = 1
        return row

    return convert


def text(value: Any, space: spaces.Text) -> str:
    """A text of a Text space.

    A charset is compared where the space names one: Gymnasium's own, of letters and digits without a space, is what
    somebody has who names none.
    """
    if not isinstance(value, str):
        raise Mismatch(f"is {short_repr(value)}")
    if not space.min_length <= len(value) <= space.max_length:
        raise Mismatch(f"has {len(value)} characters: {_clipped(str(value))}")
    if space.character_set != _DEFAULT_CHARSET and (strange := set(value) - space.character_set):
        raise Mismatch(f"has the character {min(strange)!r}: {_clipped(str(value))}")
    return str(value)


_DEFAULT_CHARSET = frozenset(alphanumeric)


def texts(value: Any, space: spaces.Tuple) -> tuple[str, ...]:
    """The texts of a Tuple of Text spaces."""
    if isinstance(value, str) or not isinstance(value, Sequence) or len(value) != len(space):
        raise Mismatch(f"is {short_repr(value)}")
    return tuple(text(one, inner) for one, inner in zip(value, space, strict=True))  # type: ignore[arg-type]


def parts(space: spaces.Space) -> dict[Any, spaces.Space]:
    """Spaces within a Dict or a Tuple, by key; none within another space."""
    if isinstance(space, spaces.Dict):
        return dict(space.spaces)
    return dict(enumerate(space.spaces)) if isinstance(space, spaces.Tuple) else {}


def structure_mismatch(
    space: spaces.Space, value: Any, path: tuple[Any, ...] = ()
) -> tuple[tuple[Any, ...], str] | None:
    """Path to a part of a nested value that has other entries than its space, and what is there; None without one."""
    inner: Iterable[tuple[Any, spaces.Space, Any]]
    if isinstance(space, spaces.Dict):
        if not isinstance(value, Mapping):
            return path, f"is {short_repr(value)}"
        if set(value) != set(space.spaces):
            more, less = sorted(map(str, value.keys() - set(space))), sorted(map(str, set(space) - value.keys()))
            problems = [f"lacks {', '.join(less)}"] * bool(less) + [f"has {', '.join(more)}, too"] * bool(more)
            return path, " and ".join(problems)
        inner = ((name, one, value[name]) for name, one in space.items())
    elif isinstance(space, spaces.Tuple):
        is_array = isinstance(value, np.ndarray) and value.ndim
        if isinstance(value, str) or not (isinstance(value, Sequence) or is_array):
            return path, f"is {short_repr(value)}"
        if len(value) != len(space):
            return path, f"has {len(value)} entries"
        inner = ((place, one, value[place]) for place, one in enumerate(space))
    else:
        return None
    return next((found for name, one, own in inner if (found := structure_mismatch(one, own, (*path, name)))), None)


def range_mismatch(value: Array, low: Any, high: Any) -> str:
    """Description of what lies outside of the bounds, or is not finite."""
    with np.errstate(invalid="ignore"):
        wrong = ~((value >= low) & (value <= high))
    place = tuple(int(index) for index in np.argwhere(wrong)[0])
    found = value[place]
    where = f" at {list(place)}" if place else ""
    return f"has {found!s}{where}" if math.isfinite(found) else f"has {found!s}{where}, which is not finite"


def box_range(space: spaces.Box, dtype: np.dtype[Any]) -> Bounds | None:
    """Bounds for comparison, with room for rounding and without infinity; None where the type has no others."""
    if dtype.kind == "b" or not space.low.size:
        return None
    low, high = (one.flat[0] if (one == one.flat[0]).all() else one for one in (space.low, space.high))
    if np.ndim(low) != np.ndim(high):
        low, high = space.low, space.high
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return None if np.ndim(low) == 0 and (low, high) == (limits.min, limits.max) else (low, high)
    largest = np.finfo(dtype).max
    low, high = (np.clip(one.astype(np.float64), -largest, largest) for one in (low, high))
    room = 8 * np.finfo(dtype).eps * np.maximum(abs(low), abs(high))
    return (low - room).clip(-largest, largest).astype(dtype), (high + room).clip(-largest, largest).astype(dtype)


def are_within(values: Array, bounds: Bounds) -> bool:
    """Whether all numbers lie within bounds, which NaN does not."""
    low, high = bounds
    if not values.size:
        return True
    if np.ndim(low) == 0:
        return bool(low <= values.min() and values.max() <= high)
    return bool(((values >= low) & (values <= high)).all())


def has_other_numbers(space: spaces.Space, value: Any, other: Any) -> bool:
    """Whether two values of a space have different numbers; False where one has not the form of the space."""
    try:
        numbers, others = (np.asarray(spaces.flatten(space, one)) for one in (value, other))
    except Exception:  # of the space, on a value of another form
        return False
    is_comparable = value is not None and numbers.shape == others.shape
    return is_comparable and not np.allclose(numbers, others, rtol=1e-5, atol=1e-5)
