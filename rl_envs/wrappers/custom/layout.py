"""`Layout`: from Gymnasium spaces of each agent to arrays [K, N, ...], padded to the widest agent.

Boxes keep their shape. Discrete values become one-hot vectors, dicts and tuples become one key per entry (`a/b`), texts
stay strings until the world tokenizes them, and a tuple of texts is one key. The key of an observation that is no dict
is `observation`. If agents have a key with different shapes, arrays are padded with zeros; with different numbers of
dimensions, the key is split: `observation_1d`, `observation_3d`. Two entries with the same key are refused. An entry
called `action_mask`, at any depth, is the action mask and not an observation.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from gymnasium import spaces

from rl_envs.core.errors import CustomEnvError
from rl_envs.core.spec import Array, ArraySpec, EntitySpec
from rl_envs.wrappers.custom.values import (
    Bounds,
    Convert,
    Mismatch,
    are_within,
    box_range,
    of_bits,
    of_box,
    of_discrete,
    of_multidiscrete,
    parts,
    range_mismatch,
    short_repr,
    space_repr,
    text,
    texts,
)

MASK = "action_mask"
"""Key of an action mask in an agent's observation or infos, by PettingZoo's convention."""
ACTION_TEXTS = "action_texts"
"""Key of a tuple of texts in an agent's observation: the present text of each action, "" for an illegal one."""
ENTITIES, ENTITY_POSITIONS, AGENT_POSITIONS = "entities", "entity_positions", "agent_positions"
"""Keys of the entities that agents can divide: numbers that describe each [E, F], all 0 where there is none; rows and
columns [E, 2], in bounds; and those of the agents [N, 2], the agent's own first."""
OWN_KEYS = ("agent", "alive", "decides", "legal", "coordination", "messages", "noise")
"""Keys that a world adds, or a team to what it sees; an environment's key of this name gets a trailing underscore."""
_TABLES = ("texts/", "encoded/")
"""Prefixes of keys of text tables; an environment's key with such a prefix gets a leading underscore."""
_WHOLE = "observation"
_MAX_WIDTH = 2**20
"""Largest width of the one-hot vectors of one observation."""
_HARMLESS = 2.0**-12
"""Share of its declared range by which a number may change where networks read it as float32; never a half or more."""

Shown: TypeAlias = str | tuple[str, ...]
"""Text of one key, or several texts."""


@dataclass(frozen=True)
class Leaf:
    """One array or text within an agent's observation."""

    path: tuple[Any, ...]  # keys and indices that lead to it
    key: str  # observation key of the world
    space: spaces.Space  # space in the environment
    spec: ArraySpec | None  # declaration of the agent's array; None for a text
    convert: Any  # converter of the environment's value to that array, or to a text
    # bounds of a box with a margin for rounding; None if the type or the converter bounds the numbers
    bounds: Bounds | None = None
    length: int = 0  # largest number of characters of a text
    count: int = 0  # number of texts of a tuple of texts; 0 for a single text

    def of(self, observation: Any) -> Any:
        """Raw value in an agent's observation."""
        for step in self.path:
            observation = observation[step]
        return observation

    def value(self, observation: Any) -> Any:
        """Array or text in an agent's observation."""
        try:
            return self.convert(self.of(observation) if self.path else observation)
        except Mismatch as error:
            raise LeafMismatch(self, str(error)) from None
        except (KeyError, IndexError, TypeError):
            raise LeafMismatch(self, f"is missing in {short_repr(observation)}") from None

    @property
    def window(self) -> tuple[slice, ...]:
        """Slices of this array within one of the widest agent."""
        return () if self.spec is None else tuple(map(slice, self.spec.shape))

    def check_range(self, value: Array) -> None:
        """Refuse (LeafMismatch) numbers [...] outside of the bounds."""
        if self.bounds is not None and not are_within(value, self.bounds):
            raise LeafMismatch(self, range_mismatch(value, *self.bounds), not np.isfinite(value).all())


class LeafMismatch(Mismatch):
    """A value is not of the space of its leaf."""

    def __init__(self, leaf: Leaf, problem: str, is_not_finite: bool = False) -> None:
        super().__init__(problem)
        self.leaf, self.is_not_finite = leaf, is_not_finite


class Layout:
    """Layout of the agents' observations in arrays `[K, N, ...]`.

    Attributes:
        spec: Declarations of the padded arrays.
        bounds: Key -> lowest and highest value of each entry of each agent, numbers or [N, *shape]; 0 where padded.
        texts: Key -> largest number of characters.
        counts: Key -> number of texts of one observation; 0 for a single text.
        leaves: Arrays of each agent, in the order of the agents.
        text_leaves: Texts of each agent.
        masks: Path to the action mask of each agent; None without one.
    """

    def __init__(self, observation_spaces: Mapping[str, spaces.Space]) -> None:
        """Lay out the observations of `observation_spaces`, agent name -> space."""
        found = [list(_leaves(space, agent)) for agent, space in observation_spaces.items()]
        found = _apart_by_dimension(found)
        _refuse_collisions(dict(zip(observation_spaces, found, strict=True)))
        self.masks = [_mask_path(space, agent) for agent, space in observation_spaces.items()]
        self.leaves = [[leaf for leaf in own if leaf.spec is not None] for own in found]
        self.text_leaves = [[leaf for leaf in own if leaf.spec is None] for own in found]
        by_key: dict[str, list[ArraySpec]] = {}
        self.texts: dict[str, int] = {}
        self.counts: dict[str, int] = {}
        for leaf in (leaf for own in found for leaf in own):
            if leaf.spec is None:
                self.texts[leaf.key] = max(leaf.length, self.texts.get(leaf.key, 0))
                self.counts[leaf.key] = max(leaf.count, self.counts.get(leaf.key, 0))
            else:
                by_key.setdefault(leaf.key, []).append(leaf.spec)
        agents = len(observation_spaces)
        self.spec = {key: _widest(specs, is_padded=len(specs) < agents) for key, specs in by_key.items()}
        self._written = [
            [(leaf, leaf.spec is not None and leaf.spec.shape == self.spec[leaf.key].shape) for leaf in own]
            for own in self.leaves
        ]
        self._rounded = [
            [(leaf, most) for leaf in own if (most := _largest_rounding(leaf)) is not None] for own in self.leaves
        ]
        self.bounds = {key: self._joined(key, _declared_bounds) for key in self.spec}
        ranged = {leaf.key for own in self.leaves for leaf in own if leaf.bounds is not None}
        self._ranges = {key: self._joined(key, _range) for key in ranged}

    @property
    def entity_spec(self) -> EntitySpec | None:
        """Keys of the entities; None where the environment has no such keys, or other shapes under them."""
        shapes = [self.spec[key].shape for key in (ENTITIES, ENTITY_POSITIONS, AGENT_POSITIONS) if key in self.spec]
        if [len(shape) for shape in shapes] != [2, 2, 2] or shapes[1:] != [(shapes[0][0], 2), (len(self.leaves), 2)]:
            return None
        low, high = (np.broadcast_to(side, (len(self.leaves), *shapes[1])) for side in self.bounds[ENTITY_POSITIONS])
        height, width = (high.max((0, 1)) - low.min((0, 1))).tolist()
        if not 0 < height * width < np.inf:
            return None
        return EntitySpec(ENTITIES, ENTITY_POSITIONS, AGENT_POSITIONS, (height, width))

    def blank(self, rows: int) -> dict[str, Array]:
        """Zeros for all observations, key -> [rows, N, ...]."""
        lead = (rows, len(self.leaves))
        return {key: np.zeros((*lead, *spec.shape), spec.dtype) for key, spec in self.spec.items()}

    def blank_texts(self, rows: int) -> dict[str, list[list[Shown]]]:
        """Empty texts for all agents, key -> `rows` lists of N."""
        agents = range(len(self.leaves))
        return {key: [[("",) * count or "" for _ in agents] for _ in range(rows)] for key, count in self.counts.items()}

    def shown(self, leaf: Leaf, observation: Any) -> Shown:
        """An agent's text or texts, padded to the largest number of texts."""
        found: Shown = leaf.value(observation)
        return found if isinstance(found, str) else found + ("",) * (self.counts[leaf.key] - len(found))

    def write(self, arrays: Mapping[str, Array], row: int, agent: int, observation: Any) -> None:
        """Write one agent's observation into arrays [K, N, ...]."""
        for leaf, is_widest in self._written[agent]:
            if is_widest:
                arrays[leaf.key][row, agent] = leaf.value(observation)
            else:
                arrays[leaf.key][row, agent][leaf.window] = leaf.value(observation)

    def rounded_leaf(self, arrays: Mapping[str, Array], row: int, agent: int, observation: Any) -> Leaf | None:
        """An array of an agent that loses differences in float32, as networks read arrays [K, N, ...]; None without."""
        for leaf, most in self._rounded[agent]:
            window: Any = (row, agent, *leaf.window)
            given, kept = np.asarray(leaf.of(observation)), arrays[leaf.key][window]
            if given.dtype.kind == "b":
                continue
            with np.errstate(invalid="ignore", over="ignore"):
                if (np.abs(kept.astype(np.float32).astype(given.dtype) - given.reshape(kept.shape)) > most).any():
                    return leaf
        return None

    def is_in_range(self, arrays: Mapping[str, Array]) -> bool:
        """Whether all numbers are finite and in their boxes; zeros of agents without observations may be outside."""
        return all(are_within(arrays[key], bounds) for key, bounds in self._ranges.items())

    def check_ranges(self, arrays: Mapping[str, Array], row: int, agent: int) -> None:
        """Refuse numbers of one agent that are not finite or outside of their box."""
        for leaf in self.leaves[agent]:
            window: Any = (row, agent, *leaf.window)
            leaf.check_range(arrays[leaf.key][window])

    def _joined(self, key: str, bounds_of: Any) -> Bounds:
        """Bounds of all agents under one key: two numbers where they are all the same, else two [N, *shape]."""
        leaves = [next((leaf for leaf in own if leaf.key == key), None) for own in self.leaves]
        own = [(0.0, 0.0) if leaf is None else bounds_of(leaf) for leaf in leaves]
        spec = self.spec[key]
        is_padded = any(leaf is None or leaf.spec is None or leaf.spec.shape != spec.shape for leaf in leaves)
        if not is_padded and all(np.ndim(low) == 0 and (low, high) == own[0] for low, high in own):
            return own[0]
        dtype = np.result_type(*(np.asarray(low) for low, _ in own))
        joined = np.zeros((len(leaves), *spec.shape), dtype), np.zeros((len(leaves), *spec.shape), dtype)
        for agent, (leaf, pair) in enumerate(zip(leaves, own, strict=True)):
            window: Any = (agent, *(() if leaf is None else leaf.window))
            for side, bound in zip(joined, pair, strict=True):
                side[window] = bound
        return joined


def _leaves(space: spaces.Space, agent: str, path: tuple[Any, ...] = ()) -> Iterator[Leaf]:
    key = _key(path)
    if isinstance(space, spaces.Text):
        yield Leaf(path, key, space, None, lambda value: text(value, space), length=space.max_length)
        return
    if isinstance(space, spaces.Tuple) and space.spaces and all(isinstance(one, spaces.Text) for one in space):
        longest = max(one.max_length for one in space)  # type: ignore[attr-defined]
        yield Leaf(path, key, space, None, lambda value: texts(value, space), length=longest, count=len(space))
        return
    if isinstance(space, (spaces.Dict, spaces.Tuple)):
        for name, inner in parts(space).items():
            if name != MASK:
                yield from _leaves(inner, agent, (*path, name))
        return
    spec, convert = _numbers(space, agent, key)
    bounds = box_range(space, np.dtype(spec.dtype)) if isinstance(space, spaces.Box) else None
    yield Leaf(path, key, space, spec, convert, bounds)


def _key(path: tuple[Any, ...]) -> str:
    key = "/".join(map(str, path)) or _WHOLE
    if key in OWN_KEYS:
        return f"{key}_"
    return f"_{key}" if key.startswith(_TABLES) else key


def _mask_path(space: spaces.Space, agent: str) -> tuple[Any, ...] | None:
    found = list(_mask_paths(space, ()))
    if len(found) > 1:
        raise CustomEnvError(
            f"the observation of {agent!r} has {len(found)} entries called {MASK} "
            f"({', '.join('/'.join(map(str, path)) for path in found)}): leave one of them"
        )
    return found[0] if found else None


def _mask_paths(space: spaces.Space, path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    if isinstance(space, (spaces.Dict, spaces.Tuple)):
        for name, inner in parts(space).items():
            if name == MASK:
                yield (*path, name)
            else:
                yield from _mask_paths(inner, (*path, name))


def _refuse_collisions(found: Mapping[str, Sequence[Leaf]]) -> None:
    """Refuse two entries with one key, of one agent or of two."""
    origins: dict[str, tuple[str, tuple[Any, ...]]] = {}
    for agent, own in found.items():
        mine: dict[str, tuple[Any, ...]] = {}
        for leaf in own:
            path = leaf.path or (_WHOLE,)
            first, other = origins.setdefault(leaf.key, (agent, path))
            if leaf.key in mine:  # such as 1 and "1"
                first, other = agent, mine[leaf.key]
            is_known = leaf.key in mine
            mine[leaf.key] = path
            if is_known or list(map(str, other)) != list(map(str, path)):
                names = " and ".join(f"{'['.join(map(repr, one))}{']' * (len(one) - 1)}" for one in (other, path))
                whose = repr(agent) if first == agent else f"{first!r} and {agent!r}"
                raise CustomEnvError(
                    f"the entries {names} in the observations of {whose} would both be called {leaf.key!r}: rename one"
                )


def _numbers(space: spaces.Space, agent: str, key: str) -> tuple[ArraySpec, Convert]:
    meaning = f"{key} of the environment"
    if isinstance(space, spaces.Box) and space.dtype is not None and space.dtype.kind in "fiub":
        is_wide = space.dtype.kind == "f" and space.dtype.itemsize > 4
        dtype = np.dtype(np.float32) if is_wide else np.dtype(space.dtype)
        low, high = (float(space.low.min()), float(space.high.max())) if space.low.size else (0.0, 0.0)
        return ArraySpec(space.shape, dtype.name, low, high, meaning), of_box(space, dtype)
    if isinstance(space, spaces.MultiBinary):
        shape = (int(space.n),) if isinstance(space.n, (int, np.integer)) else tuple(map(int, space.n))
        return ArraySpec(shape, "uint8", 0, 1, meaning), of_bits(shape)
    width = spaces.flatdim(space) if isinstance(space, (spaces.Discrete, spaces.MultiDiscrete)) else 0
    if width > _MAX_WIDTH:
        raise CustomEnvError(
            f"the observation {key!r} of {agent!r} is {space_repr(space)}, and as one-hot vectors it would have "
            f"{width} entries: let it be a Box of numbers, or a MultiDiscrete of smaller parts"
        )
    if isinstance(space, spaces.Discrete):
        return ArraySpec((int(space.n),), "uint8", 0, 1, f"{meaning}, one-hot"), of_discrete(space)
    if isinstance(space, spaces.MultiDiscrete):
        return ArraySpec((int(space.nvec.sum()),), "uint8", 0, 1, f"{meaning}, one-hot"), of_multidiscrete(space)
    raise CustomEnvError(
        f"the observation {key!r} of {agent!r} is a {type(space).__name__} space ({space_repr(space)}), which is "
        "not understood: Box of numbers, Discrete, MultiDiscrete, MultiBinary, Text, Dict and Tuple are; wrap the "
        "environment so that it gives those"
    )


def _range(leaf: Leaf) -> Bounds:
    assert leaf.spec is not None
    return leaf.bounds or (leaf.spec.low, leaf.spec.high)


def _largest_rounding(leaf: Leaf) -> Array | None:
    """Largest harmless change of each entry in the cast to float32; None where no number changes by more."""
    space = leaf.space
    if not isinstance(space, spaces.Box) or space.dtype is None:
        return None
    if space.dtype.kind == "f" and space.dtype.itemsize <= 4:
        return None
    low, high = (side.astype(np.float64) for side in (space.low, space.high))
    with np.errstate(over="ignore"):
        width = high - low
    most = np.where(width > 0, np.minimum(width * _HARMLESS, 0.5), 0.5)
    return most if (np.maximum(abs(low), abs(high)) * np.finfo(np.float32).eps / 2 > most).any() else None


def _declared_bounds(leaf: Leaf) -> Bounds:
    """Lowest and highest value of each entry, as the environment declares it."""
    assert leaf.spec is not None
    if not isinstance(leaf.space, spaces.Box):
        return 0.0, 1.0
    if not leaf.space.low.size:
        return 0.0, 0.0
    low, high = (one.astype(np.float64) for one in (leaf.space.low, leaf.space.high))
    if (low == low.flat[0]).all() and (high == high.flat[0]).all():
        return float(low.flat[0]), float(high.flat[0])
    return low, high


def _apart_by_dimension(found: Sequence[list[Leaf]]) -> list[list[Leaf]]:
    """Split keys that are text for one agent and numbers for another, or have different numbers of dimensions."""
    kinds: dict[str, set[str]] = {}
    for leaf in (leaf for own in found for leaf in own):
        kinds.setdefault(leaf.key, set()).add(_kind(leaf))
    return [
        [replace(leaf, key=f"{leaf.key}_{_kind(leaf)}") if len(kinds[leaf.key]) > 1 else leaf for leaf in own]
        for own in found
    ]


def _kind(leaf: Leaf) -> str:
    if leaf.spec is None:
        return "texts" if leaf.count else "text"
    return f"{len(leaf.spec.shape)}d"


def _widest(specs: Sequence[ArraySpec], is_padded: bool) -> ArraySpec:
    shape = tuple(int(size) for size in np.max([spec.shape for spec in specs], axis=0)) if specs[0].shape else ()
    is_padded = is_padded or any(spec.shape != shape for spec in specs)
    dtype = np.result_type(*(np.dtype(spec.dtype) for spec in specs))
    bounds = [spec.low for spec in specs] + [0.0] * is_padded, [spec.high for spec in specs] + [0.0] * is_padded
    return ArraySpec(shape, dtype.name, min(bounds[0]), max(bounds[1]), specs[0].meaning)
