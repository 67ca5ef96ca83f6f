"""Gymnasium's spaces as declarations of a world: what each agent of a foreign environment sees, padded to the widest.

Boxes keep their shape. Discrete numbers become one-hot vectors, dicts and tuples become one key an entry (`a/b`), texts
stay strings until the world gives them tokens, and a tuple of texts is one key with several of them. The key of an
observation that is no dict is `observation`. Agents that see one key in several shapes get arrays as wide as the widest
of them, with zeros behind; of several dimensions (a vector and an image), keys of their own: `observation_1d`,
`observation_3d`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from gymnasium import spaces

from rl_envs.core.errors import ForeignEnvError
from rl_envs.core.spec import Array, ArraySpec

MASK = "action_mask"
"""Key of a legality mask in an agent's observation or infos, by PettingZoo's convention."""
ACTION_TEXTS = "action_texts"
"""Key of a tuple of texts in an agent's observation: what each of its actions is called now, "" where there is none."""
OWN_KEYS = ("agent", "alive", "decides", "legal", "coordination")
"""Keys that a world has itself; a foreign key of such a name gets an underscore behind it."""
_WHOLE = "observation"


Shown: TypeAlias = str | tuple[str, ...]
"""Text that an agent reads under one key, or several texts."""


@dataclass(frozen=True)
class Leaf:
    """One array or text within an agent's observation.

    Attributes:
        path: keys and indices that lead to it.
        key: observation key of the world.
        spec: declaration of the agent's own array; None for a text.
        convert: from the environment's value to an array of that declaration.
        length: for a text: largest number of its characters.
        count: for a tuple of texts: how many there are; 0 for a single text.
    """

    path: tuple[Any, ...]
    key: str
    spec: ArraySpec | None
    convert: Callable[[Any], Array]
    length: int = 0
    count: int = 0

    def of(self, observation: Any) -> Any:
        """Its value within an agent's observation."""
        for step in self.path:
            observation = observation[step]
        return observation


class Layout:
    """Layout of the agents' observations in arrays `[K, N, ...]`.

    Attributes:
        spec: declarations of the padded arrays.
        texts: key -> largest number of characters.
        counts: key -> how many texts an agent sees under it at once; 0 for a single one.
        leaves: arrays of each agent, in the order of the agents.
        text_leaves: texts of each agent.
    """

    def __init__(self, observation_spaces: Mapping[str, spaces.Space]) -> None:
        """Read the spaces, agent name -> space.

        Raises:
            ForeignEnvError: a space is not understood.
        """
        found = [list(_leaves(space, agent)) for agent, space in observation_spaces.items()]
        found = _apart_by_dimension(found)
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

    def blank(self, rows: int) -> dict[str, Array]:
        """Zeros for everything that the agents see, key -> [rows, N, ...]."""
        lead = (rows, len(self.leaves))
        return {key: np.zeros((*lead, *spec.shape), spec.dtype) for key, spec in self.spec.items()}

    def blank_texts(self, rows: int) -> dict[str, list[list[Shown]]]:
        """Empty texts for all agents, key -> `rows` lists of N."""
        agents = range(len(self.leaves))
        return {key: [[("",) * count or "" for _ in agents] for _ in range(rows)] for key, count in self.counts.items()}

    def shown(self, leaf: Leaf, observation: Any) -> Shown:
        """An agent's text or texts, as many as the agent with the most has."""
        if not leaf.count:
            return str(leaf.of(observation))
        texts = tuple(map(str, leaf.of(observation)))
        return texts + ("",) * (self.counts[leaf.key] - len(texts))

    def write(self, arrays: Mapping[str, Array], row: int, agent: int, observation: Any) -> None:
        """Write one agent's observation into arrays [K, N, ...]."""
        for leaf in self.leaves[agent]:
            value = leaf.convert(leaf.of(observation))
            window: Any = (row, agent, *map(slice, value.shape))
            arrays[leaf.key][window] = value


def num_actions(space: spaces.Space, agent: str) -> int:
    """Number of actions of a discrete space.

    Raises:
        ForeignEnvError: the actions are not discrete.
    """
    if isinstance(space, spaces.Discrete):
        return int(space.n)
    raise ForeignEnvError(
        f"the actions of {agent!r} are {space}, and a world has one discrete action an agent: ask the environment for "
        "discrete actions (often continuous_actions=False) or wrap it so that its action space is Discrete"
    )


def _leaves(space: spaces.Space, agent: str, path: tuple[Any, ...] = ()) -> Iterator[Leaf]:
    key = "/".join(map(str, path)) or _WHOLE
    key = f"{key}_" if key in OWN_KEYS else key
    if isinstance(space, spaces.Text):
        yield Leaf(path, key, None, np.asarray, space.max_length)
        return
    if isinstance(space, spaces.Tuple) and space.spaces and all(isinstance(one, spaces.Text) for one in space):
        longest = max(one.max_length for one in space)  # type: ignore[attr-defined]
        yield Leaf(path, key, None, np.asarray, longest, len(space))
        return
    if isinstance(space, (spaces.Dict, spaces.Tuple)):
        entries = space.items() if isinstance(space, spaces.Dict) else enumerate(space)
        for name, inner in entries:
            if name != MASK:
                yield from _leaves(inner, agent, (*path, name))
        return
    spec, convert = _numbers(space, agent, key)
    yield Leaf(path, key, spec, convert)


def _numbers(space: spaces.Space, agent: str, key: str) -> tuple[ArraySpec, Callable[[Any], Array]]:
    if isinstance(space, spaces.Box):
        dtype = np.float32 if space.dtype == np.float64 else np.dtype(space.dtype)
        low, high = (float(space.low.min()), float(space.high.max())) if space.low.size else (0.0, 0.0)
        spec = ArraySpec(space.shape, np.dtype(dtype).name, low, high, f"{key} of the environment")
        return spec, lambda value: np.asarray(value, dtype)
    if isinstance(space, spaces.MultiBinary):
        shape = (space.n,) if isinstance(space.n, (int, np.integer)) else tuple(space.n)
        return ArraySpec(shape, "uint8", 0, 1, f"{key} of the environment"), lambda value: np.asarray(value, np.uint8)
    if isinstance(space, (spaces.Discrete, spaces.MultiDiscrete)):
        sizes, start = np.atleast_1d(getattr(space, "nvec", getattr(space, "n", 0))).ravel(), np.ravel(space.start)
        first = np.cumsum(sizes) - sizes - start
        total = int(sizes.sum())

        def one_hot(value: Any) -> Array:
            row = np.zeros(total, np.uint8)
            row[first + np.ravel(value)] = 1
            return row

        return ArraySpec((total,), "uint8", 0, 1, f"{key} of the environment, one-hot"), one_hot
    raise ForeignEnvError(
        f"the observation {key!r} of {agent!r} is a {type(space).__name__} space, which is not understood: Box, "
        "Discrete, MultiDiscrete, MultiBinary, Text, Dict and Tuple are; wrap the environment so that it gives those"
    )


def _apart_by_dimension(found: Sequence[list[Leaf]]) -> list[list[Leaf]]:
    """Keys of their own where agents see one key as text and numbers, or with several numbers of dimensions."""
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
