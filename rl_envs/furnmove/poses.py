"""The poses among which the television can be carried: the connected poses of a room.

The dynamics of "A Cordial Sync" (Jain et al., ECCV 2020, section 5) move the television by one cell or turn it right,
and agents must hold it before and after. A search over all positions of the agents would have millions of states. This
file only checks whether two agents fit around each pose, which is a relaxation: a pose that it excludes is impossible,
and nearly every pose that it includes is possible.

This file must not know about episodes, actions of single agents or how rooms are made.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from rl_envs.furnmove.geometry import HOLD_MASKS, HOLD_REACH, MIN_AGENT_SEPARATION, ROTATIONS
from rl_envs.furnmove.room import Mask, Room

_SIDE = 2 * HOLD_REACH + 1


def largest_part(cells: Mask) -> Mask:
    """The largest connected part of a mask, [H, W] or [4, H, W] bool, same shape; the first of equally large ones.

    With a leading axis of four rotations, poses that differ by a quarter turn are neighbours too.
    """
    # The mask becomes one long integer with one bit per cell, so a shift moves all cells at once. A closed row and
    # column at the end separate rows from each other. This costs a tenth of shifting arrays.
    framed = np.pad(cells, [(0, 0)] * (cells.ndim - 2) + [(0, 1), (0, 1)])
    row, plane = framed.shape[-1], framed.shape[-1] * framed.shape[-2]
    shifts = (1, row) if cells.ndim == 2 else (1, row, plane, (ROTATIONS - 1) * plane)
    left = int.from_bytes(np.packbits(framed, bitorder="little").tobytes(), "little")
    best = 0
    while left.bit_count() > best.bit_count():
        part = _part_around(left & -left, left, shifts)
        left ^= part
        best = max(best, part, key=int.bit_count)
    bits = np.frombuffer(best.to_bytes((framed.size + 7) // 8, "little"), np.uint8)
    found = np.unpackbits(bits, count=framed.size, bitorder="little").view(np.bool_)
    return found.reshape(framed.shape)[..., :-1, :-1].copy()


def _part_around(start: int, cells: int, shifts: tuple[int, ...]) -> int:
    """The connected part of `cells` that contains `start`; bits that differ by one of the shifts are neighbours."""
    part, grown = 0, start
    while grown != part:
        part = grown
        for shift in shifts:
            grown |= part << shift | part >> shift
        grown &= cells
    return part


def holdable_poses(room: Room) -> Mask:
    """Poses that the room allows and in which two agents can hold the television, far enough apart.

    Returns:
        [4, H, W] bool, one mask per rotation of the television, cells of its centre.
    """
    padded = np.pad(room.agent_cells, HOLD_REACH)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (_SIDE, _SIDE))
    rotation, row, column = np.nonzero(room.tv_cells)
    wanted = room.tv_cells.any(0)
    around = windows[wanted].reshape(-1, _SIDE * _SIDE).astype(np.float32)
    has_agent = np.greater(around @ _line_sums(), 0).reshape(-1, ROTATIONS, 2, _SIDE)
    # Two cells at least 2 apart exist exactly if the occupied rows or the occupied columns span at least 2.
    seen: Mask = np.logical_or.accumulate(has_agent[..., :-MIN_AGENT_SEPARATION], axis=-1)
    holdable = (seen & has_agent[..., MIN_AGENT_SEPARATION:]).any(axis=(-1, -2))
    number = np.cumsum(wanted).reshape(wanted.shape) - 1
    poses = np.zeros_like(room.tv_cells)
    poses[rotation, row, column] = holdable[number[row, column], rotation]
    return poses


def carry_poses(room: Room) -> Mask:
    """The poses among which the television can be carried: the largest connected part of `holdable_poses`.

    Returns:
        [4, H, W] bool, one mask a rotation of the television, cells of its centre.
    """
    return largest_part(holdable_poses(room))


@cache
def _line_sums() -> NDArray[np.float32]:
    """[121, 4 * 2 * 11] float32, matrix that sums the hold cells of a window by row, then by column."""
    sums = np.zeros((_SIDE, _SIDE, ROTATIONS, 2, _SIDE), np.float32)
    for rotation, mask in enumerate(HOLD_MASKS):
        for row, column in np.argwhere(mask):
            sums[row, column, rotation, 0, row] = 1
            sums[row, column, rotation, 1, column] = 1
    return sums.reshape(_SIDE * _SIDE, -1)
