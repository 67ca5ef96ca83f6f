"""`ActionLayout`: from each agent's action space to the parts of one action, and back to what the environment takes.

If all spaces are Discrete, an action is one number. Else it has parts: one of choices for each Discrete, and for each
entry of a MultiDiscrete or MultiBinary, named by its path (`move`, `hands/0`; `action` where there is none), and one
vector `continuous` of the numbers of all boxes. Agents of different spaces share the parts of the same name, and the
legal choices are an agent's own; of a part that it lacks, the first.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from gymnasium import spaces

from rl_envs.core.errors import CustomEnvError
from rl_envs.core.spec import CONTINUOUS, Actions, ActionSpec, Array, NumbersSpec
from rl_envs.wrappers.custom.values import parts, space_repr, to_array

_TAKEN = (CONTINUOUS, "before_tanh")
_ALONE = "action"
_MAX_CHOICES = 2**20
"""Largest number of choices of one part."""

Native: TypeAlias = Callable[[Any], Any]
"""From an agent's row, one number or [P] float, to an action of its space."""


@dataclass(frozen=True)
class _Choice:
    """A part of choices of one agent."""

    path: tuple[Any, ...]
    size: int
    start: int = 0

    @property
    def name(self) -> str:
        name = "/".join(map(str, self.path)) or _ALONE
        return f"{name}_" if name in _TAKEN else name


class ActionLayout:
    """Parts of the agents' actions.

    Attributes:
        spec: `action_spec` of the world.
        counts: number of choices of each agent, of all its parts together.
        own: [N, W] bool, choices of all parts side by side that an agent has.
        starts: for each agent, its parts and the number of its space's first choice, 0 for `continuous`.
        native: for each agent, what turns its row of `pack` into its action.
        is_plain: whether all spaces are Discrete.
    """

    def __init__(self, action_spaces: Mapping[Any, spaces.Space]) -> None:
        """Lay out the spaces of the agents.

        Raises CustomEnvError for an action that no policy can choose.
        """
        self._spaces = list(action_spaces.values())
        found = [list(_leaves(space, str(agent))) for agent, space in action_spaces.items()]
        choices = [[one for one in leaves if isinstance(one, _Choice)] for leaves in found]
        boxes = [[one for one in leaves if isinstance(one, spaces.Box)] for leaves in found]
        self.counts = [sum(one.size for one in own) for own in choices]
        for agent, own in zip(action_spaces, choices, strict=True):
            _check_names(str(agent), [one.name for one in own])
        self.starts = [
            {one.name: one.start for one in own} | ({CONTINUOUS: 0} if numbers else {})
            for own, numbers in zip(choices, boxes, strict=True)
        ]
        self.is_plain = all(isinstance(space, spaces.Discrete) for space in self._spaces)
        sizes: dict[str, int] = {}
        for one in (one for own in choices for one in own):
            sizes[one.name] = max(sizes.get(one.name, 0), one.size)
        self.own_sizes = np.array([[_size(own, name) for name in sizes] for own in choices]).reshape(len(found), -1)
        places = [np.arange(size) < self.own_sizes[:, [part]] for part, size in enumerate(sizes.values())]
        self.own = np.concatenate([np.zeros((len(found), 0), bool), *places], axis=1)
        self._sizes = sizes
        ends = np.cumsum([0, *sizes.values()]).tolist()
        self._spans = list(itertools.pairwise(ends))
        starts = dict(zip(sizes, ends, strict=False))
        self._slots = [_places([starts[o.name] + n for o in own for n in range(o.size)]) for own in choices]
        self._numbers = _numbers(boxes)
        self.spec: ActionSpec = max(self.counts) if self.is_plain else dict(sizes)
        if isinstance(self.spec, dict) and self._numbers.low.shape[1]:
            self.spec[CONTINUOUS] = self._numbers
        self._maskable = [_Maskable.of(space) for space in self._spaces]
        self.native = [self._native(index) for index in range(len(found))]

    @property
    def row_shape(self) -> tuple[int, ...]:
        """Shape of an agent's packed action: () or (P,)."""
        return () if self.is_plain else (len(self._sizes) + self._numbers.low.shape[1],)

    def pack(self, actions: Actions, counts: Array) -> Array:
        """Actions as one array, [B, N] or [B, N, P] float32: choices, then numbers.

        Choices that an agent lacks, and all of agents whose actions do not count (`counts` [B, N]), become 0.
        """
        if not isinstance(actions, dict):
            return np.where(counts & (actions < self.own_sizes[:, 0]), actions, 0)
        numbers = [actions[CONTINUOUS]] if CONTINUOUS in actions else []
        chosen = np.stack([actions[name] for name in self._sizes], -1) if self._sizes else np.zeros((*counts.shape, 0))
        packed = np.concatenate([np.where(chosen < self.own_sizes, chosen, 0), *numbers], -1)
        return np.where(counts[..., None], packed, 0).astype(np.float32)

    def is_packed(self, rows: Array) -> bool:
        """Whether rows [..., N] or [..., N, P] can be packed actions."""
        if self.is_plain:
            return bool(((rows >= 0) & (rows < self.spec)).all())
        chosen = rows[..., : len(self._sizes)]
        possible = (chosen >= 0) & (chosen < [*self._sizes.values()]) & (chosen == np.floor(chosen))
        return bool(possible.all() and np.isfinite(rows).all())

    def mask(self, agent: int, given: Any) -> Array:
        """An action mask as [own choices] bool: one array, or nested as Gymnasium's `sample(mask)` takes it.

        Raises MaskMismatch where it has another form.
        """
        flat = _flags(given, self.counts[agent])  # the usual form, which is the quickest to read
        return np.concatenate([np.zeros(0, bool), *self._maskable[agent].legal(given)]) if flat is None else flat

    def restrict(self, legal: Array, agent: int, mask: Array) -> None:
        """Apply a mask of `mask` to an agent's row `legal` [W] bool, in place; the mask is [count] bool."""
        legal[self._slots[agent]] &= mask

    def can_choose(self, legal: Array) -> bool:
        """Whether each part has a legal choice: [W] bool."""
        return all(legal[start:end].any() for start, end in self._spans)

    def _native(self, agent: int) -> Native:
        space = self._spaces[agent]
        if self.is_plain:
            return int(space.start).__add__  # type: ignore[attr-defined]  # Discrete
        columns = {name: column for column, name in enumerate(self._sizes)}
        return _native(space, (), columns, iter(range(len(columns), len(columns) + self._numbers.low.shape[1])))


def _sizes(space: spaces.Space) -> list[int]:
    """Numbers of choices of the parts of a Discrete, MultiDiscrete or MultiBinary; none of another space."""
    if isinstance(space, spaces.Discrete):
        return [int(space.n)]
    if isinstance(space, spaces.MultiDiscrete):
        return [int(size) for size in space.nvec.flat]
    return [2] * int(np.prod(space.shape)) if isinstance(space, spaces.MultiBinary) else []


def _starts(space: spaces.Space) -> list[int]:
    """First choice of each of these parts."""
    return [int(start) for start in np.broadcast_to(getattr(space, "start", 0), space.shape or ()).flat]


def _leaves(space: spaces.Space, agent: str, path: tuple[Any, ...] = ()) -> Iterator[_Choice | spaces.Box]:
    sizes = _sizes(space)
    if sizes and max(sizes) <= _MAX_CHOICES:
        is_one = isinstance(space, spaces.Discrete)
        for number, (size, start) in enumerate(zip(sizes, _starts(space), strict=True)):
            yield _Choice(path if is_one else (*path, number), size, start)
    elif isinstance(space, (spaces.Dict, spaces.Tuple)) and len(space.spaces):
        for name, inner in parts(space).items():
            yield from _leaves(inner, agent, (*path, name))
    elif isinstance(space, spaces.Box) and space.dtype is not None and space.dtype.kind == "f" and np.prod(space.shape):
        with np.errstate(over="ignore"):
            span = space.high.astype(np.float32) - space.low.astype(np.float32)
        if not np.isfinite(span).all():
            raise CustomEnvError(
                f"the actions of {agent!r} are {space_repr(space)}, a box without finite bounds: let "
                "action_space have the bounds within which an action has an effect, such as -1 and 1"
            )
        yield space
    else:
        advice = "let action_space be Discrete, MultiDiscrete, a Box of floats, or a Dict or Tuple of those"
        if sizes:
            advice = f"let each part have {_MAX_CHOICES:,} choices at most"
        if isinstance(space, spaces.Box):
            advice = "let action_space be MultiDiscrete for whole numbers, or a Box of floats"
        raise CustomEnvError(f"the actions of {agent!r} are {space_repr(space)}, which no policy can choose: {advice}")


def _check_names(agent: str, names: Sequence[str]) -> None:
    """Refuse parts of one agent that have the same name."""
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise CustomEnvError(
            f"the actions of {agent!r} have two parts called {twice!r}: rename an entry of action_space, such as one "
            "with a slash in its name"
        )


def _places(slots: Sequence[int]) -> slice | Array:
    """Index of places in a row: a slice, which is faster, where they follow each other."""
    if slots and list(slots) == list(range(slots[0], slots[-1] + 1)):
        return slice(slots[0], slots[-1] + 1)
    return np.array(slots, int)


def _size(own: Sequence[_Choice], name: str) -> int:
    """Number of choices of a part; 1 for an agent that lacks it."""
    return next((one.size for one in own if one.name == name), 1)


def _numbers(boxes: Sequence[Sequence[spaces.Box]]) -> NumbersSpec:
    """Bounds of all agents' numbers, [N, D]; both 0 where an agent has fewer."""
    width = max(sum(int(np.prod(box.shape)) for box in own) for own in boxes)
    low, high = np.zeros((len(boxes), width), np.float32), np.zeros((len(boxes), width), np.float32)
    for agent, own in enumerate(boxes):
        for array, side in ((low, "low"), (high, "high")):
            values = [np.ravel(getattr(box, side)) for box in own]
            array[agent, : sum(map(len, values))] = np.concatenate(values) if values else 0
    return NumbersSpec(low, high)


def _native(
    space: spaces.Space, path: tuple[Any, ...], columns: Mapping[str, int], numbers: Iterator[int]
) -> Callable[[Sequence[float]], Any]:
    """Function from a packed row [P] to an action of this space."""
    if isinstance(space, spaces.Discrete):
        column, start, kind = columns[_Choice(path, 0).name], int(space.start), np.dtype(space.dtype).type
        return lambda row: kind(start + int(row[column]))
    if isinstance(space, (spaces.MultiDiscrete, spaces.MultiBinary)):
        count, first = int(np.prod(space.shape)), np.ravel(getattr(space, "start", 0))
        taken = [columns[_Choice((*path, number), 0).name] for number in range(count)]
        return lambda row: (np.array([row[at] for at in taken]) + first).astype(space.dtype).reshape(space.shape)
    if isinstance(space, spaces.Box):
        own = [next(numbers) for _ in range(int(np.prod(space.shape)))]
        low, high = space.low, space.high
        return lambda row: np.clip(
            np.array([row[at] for at in own], low.dtype).reshape(low.shape), low, high, dtype=low.dtype
        )
    assert isinstance(space, (spaces.Dict, spaces.Tuple))
    inner = {name: _native(one, (*path, name), columns, numbers) for name, one in parts(space).items()}
    if isinstance(space, spaces.Tuple):
        return lambda row: tuple(convert(row) for convert in inner.values())
    return lambda row: {name: convert(row) for name, convert in inner.items()}


class MaskMismatch(ValueError):
    """The mask `given` for part `path` of an action is not of the form that its space has, `form`."""

    def __init__(self, path: tuple[Any, ...], given: Any, form: str) -> None:
        super().__init__(form)
        self.path, self.given, self.form = path, given, form


@dataclass(frozen=True)
class _Maskable:
    """A space, the number of choices of all of its parts, and the spaces whose masks are nested in its own."""

    space: spaces.Space
    count: int
    inner: Mapping[Any, _Maskable]

    @classmethod
    def of(cls, space: spaces.Space) -> _Maskable:
        nested: dict[Any, spaces.Space] = {}
        if isinstance(space, spaces.MultiDiscrete):
            is_row = space.nvec.ndim == 1
            nested = dict(enumerate(map(spaces.Discrete if is_row else spaces.MultiDiscrete, space.nvec)))
        elif isinstance(space, (spaces.Dict, spaces.Tuple)):
            nested = parts(space)
        inner = {name: cls.of(one) for name, one in nested.items()}
        return cls(space, sum(_sizes(space)) or sum(one.count for one in inner.values()), inner)

    def legal(self, given: Any, path: tuple[Any, ...] = ()) -> Iterator[Array]:
        """Legal choices of the parts, in order; None leaves all of them."""
        if given is None:
            yield np.ones(self.count, bool)
        elif (flags := _flags(given, self.count)) is not None:
            yield flags
        elif isinstance(self.space, spaces.MultiBinary):
            bits = to_array(given)
            if bits is None or bits.shape != self.space.shape or not np.isin(bits, (0, 1, 2)).all():
                raise MaskMismatch(path, given, self.form())
            yield np.stack([bits != 1, bits != 0], -1).ravel()
        else:
            is_named = isinstance(given, Mapping)
            named = given if is_named else dict(enumerate(given if isinstance(given, (tuple, list)) else ()))
            has_all = all(name in named for name, one in self.inner.items() if one.count)
            is_known = all(name in self.inner for name in named)
            if is_named != isinstance(self.space, spaces.Dict) or not (self.inner and has_all and is_known):
                raise MaskMismatch(path, given, self.form())
            for name, one in self.inner.items():
                yield from one.legal(named.get(name), (*path, name))

    def form(self) -> str:
        """The forms of a mask."""
        flat = f"an array of {self.count} entries of 0 and 1"
        if isinstance(self.space, spaces.MultiBinary):
            return f"{flat}, or one of shape {self.space.shape} of 0, 1, and 2 where both are legal"
        if isinstance(self.space, spaces.MultiDiscrete):
            return f"{flat}, or a tuple of {len(self.inner)} arrays, one a number"
        if isinstance(self.space, spaces.Tuple):
            return f"{flat}, or a tuple of {len(self.inner)} masks, None where all is legal"
        if isinstance(self.space, spaces.Dict):
            return (
                f"{flat}, or a dict of masks with the keys {', '.join(map(str, self.inner))}, None where all is legal"
            )
        return flat if self.count else "None, for numbers have no mask"


def _flags(given: Any, count: int) -> Array | None:
    """An array of this many entries of 0 and 1 as [count] bool; None where it is none."""
    array = to_array(given)
    if array is None or array.dtype.kind not in "biuf" or array.size != count:
        return None
    return array.ravel().astype(bool) if ((array == 0) | (array == 1)).all() else None
