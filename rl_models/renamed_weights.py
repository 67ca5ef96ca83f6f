"""Weights that had another name in an earlier version: checkpoints of that version load as they are.

A module names them in its class attribute `renamed_weights`, old name -> present name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from torch import nn

Value = TypeVar("Value")


def with_present_names(module: nn.Module, weights: Mapping[str, Value]) -> dict[str, Value]:
    """Weights under the names that a module has now.

    Args:
        module: a team or a network.
        weights: of a checkpoint, name -> tensor or array.
    """
    found = dict(weights)
    for place, part in module.named_modules():
        renamed: Mapping[str, str] = getattr(part, "renamed_weights", {})
        for old, present in renamed.items():
            before, now = (f"{place}.{name}".removeprefix(".") for name in (old, present))
            if before in found and now not in found:
                found[now] = found.pop(before)
    return found
