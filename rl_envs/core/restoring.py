"""Checks of a state that a world is asked to restore; they change nothing."""

from collections.abc import Mapping

import numpy as np

from rl_envs.core.spec import Array, Arrays, exactly
from rl_envs.core.texts import TextStore

TEXTS = "texts/"
"""Prefix of the token tables in a state."""


def given_arrays(state: Arrays, targets: Arrays) -> Arrays:
    """The arrays that a caller restores, name -> [B, ...], with the type of the target [B, ...] of the same name.

    Names without a target are left out. Raises ValueError where an array has another shape than its target, or numbers
    that the target's type cannot hold.
    """
    given = {}
    for name in targets.keys() & state.keys():
        value, target = np.asarray(state[name]), targets[name]
        if value.shape != target.shape:
            raise ValueError(f"restore: {name} must have shape {target.shape}, got {value.shape}")
        given[name] = exactly(f"restore: {name}", value, target.dtype)
    return given


def check_bounds(given: Arrays, bounds: Mapping[str, tuple[int, int]]) -> None:
    """Refuse (ValueError) numbers [B, ...] beyond the lowest and highest value of their name."""
    for name in bounds.keys() & given.keys():
        values, (low, high) = given[name], bounds[name]
        if values.size and (values.min() < low or values.max() > high):
            raise ValueError(f"restore: {name} must lie in {low} .. {high}, got {values.min()} .. {values.max()}")


def given_texts(state: Arrays, given: Arrays, stores: Mapping[str, TextStore]) -> dict[str, Array]:
    """The token tables that a caller restores, key -> [D, L] int32.

    `given` has the checked arrays, of which those named as a store hold rows of its table. Raises ValueError for a
    table that the store refuses or that has a text twice, or rows without their table or beyond it.
    """
    tables = {}
    for key, store in stores.items():
        name, rows = f"{TEXTS}{key}", given.get(key, np.empty(0, np.int32))
        if name in state:
            tables[key] = exactly(f"restore: {name}", np.asarray(state[name]), np.int32)
            if len(np.unique(TextStore(store.spec).add(tables[key]))) < len(tables[key]):
                raise ValueError(f"restore: {name} must have each text once, as in a snapshot: the rows have numbers")
        elif key in given:
            raise ValueError(f"restore: {key} has rows of {name}: give that table, too, or leave {key} out")
        if rows.size and not (rows.min() >= 0 and rows.max() < len(tables[key])):
            last = len(tables[key]) - 1
            raise ValueError(f"restore: {key} must be rows 0 .. {last} of {name}, got {rows.min()} .. {rows.max()}")
    return tables
