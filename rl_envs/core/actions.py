"""Checks of the actions and recorded draws that a world is given in a step."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from rl_envs.core.array_library import NUMPY, ArrayLibrary
from rl_envs.core.spec import Actions, ActionSpec, Array, Arrays, NumbersSpec, deciding


def checked_actions(
    actions: Actions, spec: ActionSpec, shape: tuple[int, int], xp: ArrayLibrary, observe: Callable[[], Arrays]
) -> Actions:
    """The actions of all worlds, [B, N] int64 or a dict of such arrays, as `World.action_spec` declares them.

    `observe` gives the present observations, which say who chooses; entries of others may be any number. The range is
    not checked where the host would wait for a device. Raises ValueError for wrong names, shape, type or range.
    """
    if not isinstance(spec, dict):
        return _in_range(actions, spec, shape, xp, observe)
    if not isinstance(actions, dict) or set(actions) != set(spec):
        raise ValueError(f"actions must be a dict with keys {sorted(spec)}")
    return {
        name: _in_range(actions[name], size, shape, xp, observe)
        if isinstance(size, int)
        else _in_bounds(actions[name], size, shape, observe)
        for name, size in spec.items()
    }


def check_recorded(
    world: str,
    recorded: Arrays,
    known: Sequence[str],
    get_bounds: Callable[[], Mapping[str, tuple[tuple[int, ...], int, int]]],
) -> None:
    """Refuse (ValueError) recorded outcomes of draws that a world does not make, or of wrong shape, type or range.

    `recorded` is the name of a draw -> its outcomes [...]. `known` names the world's draws; `get_bounds` gives the
    shape, lowest and highest value of integer draws, 0 and 1 of bools.
    """
    unknown = sorted(set(recorded) - set(known))
    if unknown:
        raise ValueError(f"{world} makes no draw called {unknown}; its draws: {sorted(known) or 'none'}")
    bounds = get_bounds() if recorded else {}
    for name in bounds.keys() & recorded.keys():
        draws, (shape, low, high) = np.asarray(recorded[name]), bounds[name]
        kinds = "iub" if (low, high) == (0, 1) else "iu"
        if draws.shape != shape or draws.dtype.kind not in kinds or draws.min() < low or draws.max() > high:
            raise ValueError(
                f"the draw {name} must be integers {low} .. {high} of shape {shape}, got {draws.dtype} {draws.shape}"
            )


def _in_range(
    actions: Any, size: int, shape: tuple[int, int], xp: ArrayLibrary, observe: Callable[[], Arrays]
) -> Array:
    actions = xp.asarray(actions)
    if actions.shape != shape or actions.dtype not in xp.integers:
        raise ValueError(f"actions must be integers of shape {shape}, got {actions.dtype} {tuple(actions.shape)}")
    if not xp.can_read_values:
        return xp.astype(actions, xp.int64)
    if actions.min() < 0 or actions.max() >= size:
        actions = _without_ignored(actions, observe(), xp)
    if actions.min() < 0 or actions.max() >= size:
        raise ValueError(f"actions must lie in 0 .. {size - 1}, got {actions.min()} .. {actions.max()}")
    return xp.astype(actions, xp.int64)  # rules that subtract would wrap around in uint8 and make floats of uint64


def _in_bounds(actions: Any, spec: NumbersSpec, shape: tuple[int, int], observe: Callable[[], Arrays]) -> Array:
    actions = np.asarray(actions)
    if actions.shape != (wanted := (*shape, *spec.low.shape[1:])) or actions.dtype.kind not in "fiu":
        raise ValueError(f"actions must be numbers of shape {wanted}, got {actions.dtype} {actions.shape}")
    if not spec.contains(actions):
        actions = _without_ignored(actions, observe(), NUMPY, spec.low)
    if not spec.contains(actions):
        low, high = spec.low.min(), spec.high.max()
        raise ValueError(f"actions must lie in {low} .. {high}, got {actions.min()} .. {actions.max()}")
    return actions


def _without_ignored(actions: Array, obs: Arrays, xp: ArrayLibrary, instead: Array | int = 0) -> Array:
    """The same actions, [B, N] or [B, N, D], with others instead for agents that do not choose now."""
    decides = deciding(obs)
    if decides is None:
        return actions
    counts = decides.reshape(*decides.shape, *[1] * (actions.ndim - 2))
    return xp.where(counts, actions, instead)
