"""Find tensors in nested values."""

from collections.abc import Iterator
from dataclasses import is_dataclass
from typing import Any

from torch import Tensor


def tensors_in(value: Any) -> Iterator[Tensor]:
    """Every tensor in nested tuples, lists, dictionaries and dataclasses."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from tensors_in(item)
    elif isinstance(value, dict):
        yield from tensors_in(list(value.values()))
    elif is_dataclass(value) and not isinstance(value, type):
        yield from tensors_in(list(vars(value).values()))
