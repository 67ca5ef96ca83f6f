"""Devices of networks, and copies to and from an accelerator, which are slow there and cost little on the CPU.

An accelerator waits for each copy from the host, however small. So the arrays of a batch, or of a step, are put side
by side in pinned memory and copied together. On the CPU nothing is copied.

`unique` would synchronise with the device. On an accelerator, results therefore have the
largest possible size: surplus entries repeat the largest value, and nothing refers to them. On the CPU sizes are exact.
"""

import copy
import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar, get_args

import numpy as np
import torch
from torch import Tensor, nn

from rl_models.configuration import DeviceChoice
from rl_models.team_world import Array

NO_GPU = "--device cuda needs a GPU and there is none: leave the flag out, or write --device cpu"
_CPU = torch.device("cpu")


class _Process:
    """Whether this process must not use a GPU, and whether it has found one."""

    refuses_gpu = False
    has_found_gpu = False


PROCESS = _Process()
_Module = TypeVar("_Module", bound=nn.Module)
_BUILDING_FOR: ContextVar[torch.device] = ContextVar("building_for", default=_CPU)

_ALIGNMENT = 16
"""Alignment in bytes of tensors of any type."""


def accelerator() -> torch.device | None:
    """The GPU of this machine, the first one that this process sees; None where there is none.

    When it is first found, convolutions in float32 are set to be computed in float32. By default cuDNN rounds their
    inputs to 10 bits (TF32), and acting and learning differed by 1e-4 (measured); bfloat16 is the option for speed.
    """
    if not torch.cuda.is_available():
        return None
    if not PROCESS.has_found_gpu:
        torch.backends.cudnn.allow_tf32 = False
        PROCESS.has_found_gpu = True
    return torch.device("cuda", 0)


def chosen_device(choice: DeviceChoice = "auto") -> torch.device:
    """Device that networks of this process use; raises ValueError for `cuda` without a GPU, or an unknown device."""
    if choice not in get_args(DeviceChoice):
        raise ValueError(f"the device must be one of {', '.join(get_args(DeviceChoice))}, not {choice!r}")
    found = None if choice == "cpu" or PROCESS.refuses_gpu else accelerator()
    if found is None and choice == "cuda":
        raise ValueError(NO_GPU)
    return found or _CPU


def forbid_gpu() -> None:
    """Make `auto` mean the CPU in this process, because the visible GPU is assigned to another one."""
    PROCESS.refuses_gpu = True


@contextmanager
def refusing_gpu(refuses: bool = True) -> Iterator[None]:
    """Context in which `auto` means the CPU in this process, if `refuses`."""
    before = PROCESS.refuses_gpu
    PROCESS.refuses_gpu = before or refuses
    try:
        yield
    finally:
        PROCESS.refuses_gpu = before


@contextmanager
def building_for(device: torch.device) -> Iterator[None]:
    """Context in which modules are built for a device: weights that are read from disk are loaded there.

    Tensor worlds for a rollout are also built in it, on the device.
    """
    token = _BUILDING_FOR.set(device)
    try:
        yield
    finally:
        _BUILDING_FOR.reset(token)


def building_device() -> torch.device:
    """Device for which a module is being built; the CPU outside `building_for`."""
    return _BUILDING_FOR.get()


def built_on(device: torch.device, build: Callable[[], _Module]) -> _Module:
    """Build a module and move it to a device. Initial weights are drawn on the CPU, so they are the same anywhere."""
    with building_for(device):
        return build().to(device)


def copy_on(device: torch.device, module: _Module) -> _Module:
    """A module on a device: itself if it is there, else a copy."""
    return module if get_device(module) == device else copy.deepcopy(module).to(device)


def get_device(module: nn.Module) -> torch.device:
    """Device of a module's parameters; the CPU for a module without parameters."""
    return next((parameter.device for parameter in module.parameters()), _CPU)


def can_capture(device: torch.device) -> bool:
    """Whether this kind of device supports graphs."""
    return device.type == "cuda"


def release_memory() -> None:
    """Release unused GPU memory for other processes."""
    if torch.cuda.is_initialized():
        gc.collect()
        torch.cuda.empty_cache()


def to_device(arrays: Mapping[str, Array], device: torch.device | str) -> dict[str, Tensor]:
    """Tensors [...] of the same names, shapes and types as the arrays, name -> [...].

    On the CPU they share the arrays' memory; elsewhere they are views of one buffer of bytes, copied asynchronously.
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
    """The tensors of a batch, name -> [...], on a device; those of the CPU in one copy, as in `to_device`."""
    if all(value.device.type == "cpu" for value in batch.values()):
        return to_device({name: value.numpy() for name, value in batch.items()}, device)
    return {name: value.to(device) for name, value in batch.items()}


def to_host(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The same tensors on the CPU, name -> [...]; those of an accelerator in one copy."""
    there = {name: value.detach().contiguous() for name, value in tensors.items() if value.device.type != "cpu"}
    if len(there) < 2:
        return {name: value.detach().cpu() for name, value in tensors.items()}
    bytes_of = {name: value.reshape(-1).view(torch.uint8) for name, value in there.items()}
    sizes = [-(-len(value) // _ALIGNMENT) * _ALIGNMENT for value in bytes_of.values()]
    padded = [nn.functional.pad(one, (0, size - len(one))) for one, size in zip(bytes_of.values(), sizes, strict=True)]
    parts = dict(zip(there, torch.cat(padded).cpu().split(sizes), strict=True))
    return {
        name: parts[name][: len(bytes_of[name])].view(value.dtype).view(value.shape)
        if name in parts
        else value.detach()
        for name, value in tensors.items()
    }


class PendingHostCopy:
    """An asynchronous copy of tensors to the host.

    It does not wait for kernels that were launched later.
    """

    def __init__(self, tensors: Mapping[str, Tensor]) -> None:
        """Start the copy; name -> [...]."""
        self._there = dict(tensors)
        self._event = None
        if any(value.device.type == "cuda" for value in tensors.values()):
            self._there = {name: _begin_copy(value) for name, value in tensors.items()}
            self._event = torch.cuda.Event()
            self._event.record()

    def wait(self) -> dict[str, Array]:
        """The arrays, after the copy has finished."""
        if self._event is not None:
            self._event.synchronize()
        return {name: value.numpy() for name, value in to_host(self._there).items()}


def _begin_copy(tensor: Tensor) -> Tensor:
    return torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True).copy_(tensor, non_blocking=True)


def longest(lengths: Tensor, limit: int) -> int:
    """Number of columns to compute of texts of these lengths, [...] int64.

    On the CPU it is the longest length. On an accelerator it is the limit, because reading the length would
    synchronise.
    """
    return int(lengths.max()) if lengths.device.type == "cpu" else limit


def steps_with_starts(is_first: Tensor) -> list[bool]:
    """For each step of [B, T] bool whether an episode may begin there in some world.

    On an accelerator it is True at every step, because reading it would synchronise.
    """
    starts: list[bool] = is_first.any(0).tolist() if is_first.device.type == "cpu" else [True] * is_first.shape[1]
    return starts


_BITS = 62
"""Bits of the integer in which the columns of a row are packed."""


def distinct(rows: Tensor, number: int) -> tuple[Tensor, Tensor]:
    """Distinct row numbers [U] in order, and which of them each entry is, [...] int64 (`unique(return_inverse=True)`).

    Rows [...] int are from 0 to `number` - 1; U is the number of distinct ones on the CPU, elsewhere the largest
    possible.
    """
    if rows.device.type == "cpu":
        return rows.unique(return_inverse=True)  # type: ignore[no-untyped-call, no-any-return]
    flat = rows.flatten()
    ordered, order = flat.sort()
    which = torch.cat([torch.zeros_like(order[:1]), (ordered[1:] != ordered[:-1]).cumsum(0)])
    used = ordered[-1:].repeat(min(number, len(flat))).scatter(0, which, ordered)
    return used, torch.empty_like(order).scatter(0, order, which).view(rows.shape)


def distinct_rows(*tables: Tensor, may_wait: bool = True) -> list[tuple[Tensor, Tensor]]:
    """Distinct rows of several tables, each as `unique(dim=0, return_inverse=True)`; with one synchronisation for all.

    Tables are [K, C] int, numbers from 0. If the host may not wait for an accelerator, the result has K rows, zeros
    after the last distinct one.
    """
    if tables[0].device.type == "cpu":
        return [_packed(table) for table in tables]
    found = [_in_order(table) for table in tables]
    numbers = torch.stack([which[-1] + 1 for _, _, which in found]).tolist() if may_wait else map(len, tables)
    return [
        (_first(ordered, which, number), torch.empty_like(order).scatter(0, order, which))
        for (ordered, order, which), number in zip(found, numbers, strict=True)
    ]


def count_rows(rows: Tensor, number: int, counts: Tensor | None = None) -> Tensor:
    """How often each row number in [K] occurs, [number] int64, as `bincount`, among entries that count, [K] bool."""
    if rows.device.type == "cpu" and counts is None:
        return rows.bincount(minlength=number)
    ones = torch.ones_like(rows) if counts is None else counts.to(rows)
    return torch.zeros(number, dtype=torch.int64, device=rows.device).index_add(0, rows, ones)


def _packed(table: Tensor) -> tuple[Tensor, Tensor]:
    """Distinct rows and which of them each row is; ten times as fast as `unique(dim=0)`."""
    if not table.numel():
        return table.unique(dim=0, return_inverse=True)  # type: ignore[no-untyped-call, no-any-return]
    values = table.long()
    base = int(values.max()) + 1
    together = max(1, (_BITS - len(values).bit_length()) // base.bit_length())
    which = values.new_zeros(len(values))
    for columns in values.split(together, 1):
        for column in columns.unbind(1):
            which = which * base + column
        found, which = which.unique(return_inverse=True)  # type: ignore[no-untyped-call]
    return _first(table, which, len(found)), which


def _in_order(table: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Rows in lexical order [K, C], where they were [K], and which of the distinct ones each is [K]."""
    order = torch.arange(len(table), device=table.device)
    for column in reversed(table.unbind(1)):
        order = order[column[order].argsort(stable=True)]
    ordered = table[order]
    is_new = (ordered[1:] != ordered[:-1]).any(1)
    return ordered, order, torch.cat([torch.zeros_like(order[:1]), is_new.cumsum(0)])


def _first(ordered: Tensor, which: Tensor, number: int) -> Tensor:
    """The distinct rows [number, C] of rows in order."""
    return ordered.new_zeros(number, ordered.shape[1]).scatter(0, which[:, None].expand_as(ordered), ordered)
