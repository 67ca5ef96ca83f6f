"""Distinct rows without a question to the device.

How many distinct numbers a tensor holds is known to an accelerator alone, and `unique` makes the host wait for it. So
there are as many here as there can be; those left over repeat the largest number, and nothing points at them. On the
CPU the number is asked for, because arithmetic costs more than the question.
"""

from __future__ import annotations

import torch
from torch import Tensor

_BITS = 62
"""Bits of a number in which columns of a row are packed."""


def distinct(rows: Tensor, number: int) -> tuple[Tensor, Tensor]:
    """Distinct row numbers in order, and which of them each entry is, as `unique(return_inverse=True)`.

    Args:
        rows: [...] int, from 0 to `number` - 1.
        number: how many different ones there can be.

    Returns:
        [U], and `rows`' shape int64. U is the number of distinct ones on the CPU, elsewhere the most that there can be.
    """
    if rows.device.type == "cpu":
        return rows.unique(return_inverse=True)  # type: ignore[no-untyped-call, no-any-return]
    flat = rows.flatten()
    ordered, order = flat.sort()
    which = torch.cat([torch.zeros_like(order[:1]), (ordered[1:] != ordered[:-1]).cumsum(0)])
    used = ordered[-1:].repeat(min(number, len(flat))).scatter(0, which, ordered)
    return used, torch.empty_like(order).scatter(0, order, which).view(rows.shape)


def distinct_rows(*tables: Tensor, asks: bool = True) -> list[tuple[Tensor, Tensor]]:
    """Distinct rows of several tables, each as `unique(dim=0, return_inverse=True)`; the host waits once for all.

    Args:
        tables: [K, C] int each, numbers from 0.
        asks: False lets the host not wait for an accelerator: there are K rows then, zeros behind the last distinct
            one.

    Returns:
        for each table its distinct rows [U, C] in order, and which of them each row is, [K] int64.
    """
    if tables[0].device.type == "cpu":
        return [_packed(table) for table in tables]
    found = [_in_order(table) for table in tables]
    numbers = torch.stack([which[-1] + 1 for _, _, which in found]).tolist() if asks else map(len, tables)
    return [
        (_first(ordered, which, number), torch.empty_like(order).scatter(0, order, which))
        for (ordered, order, which), number in zip(found, numbers, strict=True)
    ]


def count_rows(rows: Tensor, number: int, counts: Tensor | None = None) -> Tensor:
    """How often each row number occurs, [number] int64, as `bincount(minlength=number)` of [K] int64.

    Args:
        rows: [K] int64.
        number: how many there can be.
        counts: [K] bool, entries that count; None for all.
    """
    if rows.device.type == "cpu" and counts is None:
        return rows.bincount(minlength=number)
    ones = torch.ones_like(rows) if counts is None else counts.to(rows)
    return torch.zeros(number, dtype=torch.int64, device=rows.device).index_add(0, rows, ones)


def _packed(table: Tensor) -> tuple[Tensor, Tensor]:
    """Distinct rows and which of them each row is: as many columns at a time as one number can hold.

    `unique(dim=0)` compares rows as tensors, which takes ten times as long.
    """
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
