"""Array libraries on which a world's rules run: NumPy, or torch on a CPU or a GPU.

Functions have the names of the array API standard where it has them. What they compute is equal to the bit. With torch
no shape depends on values, so that the host never waits for a GPU and a step can be captured as a graph.
"""

from functools import partial
from typing import Any, TypeAlias

import numpy as np

from rl_envs.core.spec import Array

Rows: TypeAlias = Array | slice


class ArrayLibrary:
    """NumPy, whose own functions these are where it has them; `name` and `device` are a world's arguments.

    `has_fixed_shapes`: no shape may depend on values; `can_read_values`: the host need not wait for a device.
    """

    name = "numpy"
    device = "cpu"
    has_fixed_shapes = False
    can_read_values = True
    bool: Any = np.bool_
    uint8: Any = np.uint8
    int8: Any = np.int8
    int16: Any = np.int16
    int32: Any = np.int32
    int64: Any = np.int64
    float64: Any = np.float64
    word: Any = np.uint64  # dtype of 64 bits in which products and sums wrap
    arange: Any = staticmethod(np.arange)
    empty: Any = staticmethod(np.empty)
    zeros: Any = staticmethod(np.zeros)
    ones: Any = staticmethod(np.ones)
    zeros_like: Any = staticmethod(np.zeros_like)
    where: Any = staticmethod(np.where)
    not_equal: Any = staticmethod(np.not_equal)
    integers: Any = frozenset(map(np.dtype, np.typecodes["AllInteger"]))  # dtypes of integers
    # an array of the library, on its device, from a NumPy array or one of the library
    asarray: Any = staticmethod(np.asarray)
    astype: Any = staticmethod(np.asarray)  # the array with another dtype; the array itself if it has it already
    # writes `values`, a number or an array of the same dtype and shape, `where` the mask holds
    copyto: Any = staticmethod(np.copyto)
    shift_right: Any = staticmethod(np.right_shift)  # logical shift of words by 1 .. 63 bits
    as_word: Any = staticmethod(int)  # a number in 0 .. 2**64 - 1 as an operand of words

    def __reduce__(self) -> tuple[Any, ...]:
        return get_array_library, (self.name, self.device)

    def to_numpy(self, array: Array) -> Array:
        """The array [...] in the host's memory, [...]."""
        return array

    def is_capturing(self) -> bool:
        """Whether a graph is being captured, in which the host can neither read nor write arrays."""
        return False

    def take(self, table: Array, indices: Any, axis: int | None = None) -> Array:
        """Entries of a table [...], flat or along the first axis, at integers of any dtype or at rows of `find_rows`.

        Along the first axis they are [*indices.shape, ...], else of the shape of the indices.
        """
        return table.take(indices, axis)

    def take_into(self, out: Array, table: Array, indices: Any) -> Array:
        """`take` of a table [D, ...] along the first axis into `out` [*indices.shape, ...], for indices in range.

        `out` has the table's dtype and is returned.
        """
        return table.take(indices, 0, out, "clip")

    def find_rows(self, mask: Array) -> Rows | None:
        """Rows that include all where the mask [K] holds, and None if there are none.

        They are exactly those with NumPy, and all K with fixed shapes: what is written there must depend on the mask.
        """
        rows = np.flatnonzero(mask)
        return rows if rows.size else None


NUMPY = ArrayLibrary()


class TorchArrays(ArrayLibrary):
    """torch on one device, where words are int64."""

    name = "torch"
    has_fixed_shapes = True

    def __init__(self, device: str) -> None:
        """Import torch and find the device.

        Raises ValueError where there is no such device.
        """
        import torch  # only where it is used

        try:
            found = torch.device(device)
            torch.empty(0, device=found)  # torch may report a device that is absent
        except (RuntimeError, TypeError, AssertionError):
            raise ValueError(f"device must be 'cpu', or 'cuda' where there is a GPU, not {device!r}") from None
        self.device, self._torch, self._device = device, torch, found
        self.can_read_values = found.type == "cpu"
        self.bool, self.uint8, self.int8, self.int16 = torch.bool, torch.uint8, torch.int8, torch.int16
        self.int32, self.int64, self.float64 = torch.int32, torch.int64, torch.float64
        self.word = torch.int64
        self.integers = {torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64}
        self.arange, self.empty = partial(torch.arange, device=found), partial(torch.empty, device=found)
        self.zeros, self.ones = partial(torch.zeros, device=found), partial(torch.ones, device=found)
        self.zeros_like, self.where, self.not_equal = torch.zeros_like, torch.where, torch.not_equal

    def asarray(self, values: Any) -> Array:
        """See `ArrayLibrary`."""
        if not isinstance(values, self._torch.Tensor):
            values = np.asarray(values)
            values = self._torch.tensor(values.view(np.int64) if values.dtype == np.uint64 else values)
        return values.to(self._device)

    def to_numpy(self, array: Any) -> Array:
        """See `ArrayLibrary`."""
        return array.cpu().numpy()

    def is_capturing(self) -> bool:
        """See `ArrayLibrary`."""
        return self._device.type == "cuda" and bool(self._torch.cuda.is_current_stream_capturing())

    def astype(self, array: Any, dtype: Any) -> Array:
        """See `ArrayLibrary`."""
        return array.to(dtype)

    def take(self, table: Any, indices: Any, axis: int | None = None) -> Array:
        """See `ArrayLibrary`."""
        table = table.reshape(-1) if axis is None else table
        return table[indices if isinstance(indices, slice) else indices.long()]

    def take_into(self, out: Any, table: Any, indices: Any) -> Array:
        """See `ArrayLibrary`."""
        self._torch.index_select(table, 0, indices.long().reshape(-1), out=out.view(-1, *table.shape[1:]))
        return out

    def copyto(self, target: Any, values: Any, where: Any) -> None:
        """See `ArrayLibrary`."""
        if isinstance(values, self._torch.Tensor):
            self._torch.where(where, values, target, out=target)
        else:
            target.masked_fill_(where, values)

    def find_rows(self, mask: Array) -> Rows | None:
        """See `ArrayLibrary`."""
        return slice(None)

    def as_word(self, number: int) -> int:
        """See `ArrayLibrary`."""
        return number - 2**64 if number >= 2**63 else number

    def shift_right(self, words: Any, bits: int) -> Array:
        """See `ArrayLibrary`."""
        return (words >> bits) & (2 ** (64 - bits) - 1)


def get_array_library(arrays: str, device: str) -> ArrayLibrary:
    """The library of a world's arguments `arrays` and `device`.

    Raises ValueError for an unknown library or device, or a GPU for NumPy.
    """
    if arrays == "torch":
        return TorchArrays(device)
    if arrays != "numpy":
        raise ValueError(f"arrays must be 'numpy' or 'torch', not {arrays!r}")
    if device != "cpu":
        raise ValueError(f"device={device!r} needs arrays='torch': NumPy computes on the CPU")
    return NUMPY
