"""What costs little on the CPU and much on an accelerator: copies to it, and numbers that the host waits for.

An accelerator waits for each copy from the host, however small. So the arrays of a batch, or of a step, are laid side
by side in pinned memory and go over together. On the CPU nothing is copied.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from rl_models.fragment import Array

_ALIGNMENT = 16
"""Bytes. A tensor of any type can begin at a multiple of it."""


def to_device(arrays: Mapping[str, Array], device: torch.device | str) -> dict[str, Tensor]:
    """Tensors of the same names, shapes and types as the arrays.

    Args:
        arrays: name -> [...] of any type that torch has.
        device: where the tensors are to be. On the CPU they share the arrays' memory; elsewhere they are views of one
            buffer of bytes, which arrives in one copy that the host does not wait for.
    """
    device = torch.device(device)
    if device.type == "cpu" or not arrays:
        return {name: torch.from_numpy(array) for name, array in arrays.items()}
    starts = np.cumsum([0, *(-(-array.nbytes // _ALIGNMENT) * _ALIGNMENT for array in arrays.values())])
    host = torch.empty(int(starts[-1]), dtype=torch.uint8, pin_memory=device.type == "cuda")
    for start, array in zip(starts, arrays.values(), strict=False):
        host.numpy()[start : start + array.nbytes] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    there = host.to(device, non_blocking=True)
    return {
        name: there[start : start + array.nbytes].view(torch.from_numpy(array).dtype).view(array.shape)
        for start, (name, array) in zip(starts, arrays.items(), strict=False)
    }


def move(batch: Mapping[str, Tensor], device: torch.device | str) -> dict[str, Tensor]:
    """The tensors of a batch, name -> [...], on a device; those of the CPU go over together, as in `to_device`."""
    if all(value.device.type == "cpu" for value in batch.values()):
        return to_device({name: value.numpy() for name, value in batch.items()}, device)
    return {name: value.to(device) for name, value in batch.items()}


def longest(lengths: Tensor, limit: int) -> int:
    """Number of columns to compute of texts of these lengths, [...] int64.

    On the CPU it is the longest length. An accelerator would make the host wait for that number, and has arithmetic to
    spare: there it is the limit.
    """
    return int(lengths.max()) if lengths.device.type == "cpu" else limit


def steps_with_starts(is_first: Tensor) -> list[bool]:
    """For each step of [B, T] bool whether an episode may begin there in some world.

    An accelerator is not asked, for the host would have to wait: there it may be so at every step.
    """
    starts: list[bool] = is_first.any(0).tolist() if is_first.device.type == "cpu" else [True] * is_first.shape[1]
    return starts
