"""Rooms generated from a seed, equal in every process.

Procedural rooms instead of the AI2-THOR living rooms of "A Cordial Sync" (Jain et al., ECCV 2020, section 5), in two
sizes: `full` has the extent and the clutter of those rooms, `laptop` is a small version of the same task. Rooms in
which the television can be carried only in a part, or with few places for the stand, are rejected.

This file must not know about episodes, splits or files.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rl_envs.furnmove import living_room
from rl_envs.furnmove.furniture import FloorPlan, Piece
from rl_envs.furnmove.poses import carry_poses, holdable_poses, largest_part
from rl_envs.furnmove.room import Mask, Room, room_from_drawing, stand_cells

LAPTOP_CELLS = (9, 12)
"""Smallest and largest side of a laptop room, in cells."""

MAX_CELLS = {"full": (living_room.HEIGHT_CELLS[1], living_room.WIDTH_CELLS[1]), "laptop": (LAPTOP_CELLS[1],) * 2}
"""Size -> largest (H, W) of a room."""

MIN_POSES, MIN_STAND_PLACES, MIN_CARRY_SHARE = 30, 20, 0.9
FULL_FREE_SHARE, FULL_FREE_CELLS = (0.45, 0.70), (120, 600)
_ATTEMPTS = 1000
_LAPTOP_PIECES = (Piece(2, 2, "arm_chair"), Piece(2, 3, "coffee_table"), Piece(1, 3, "tv_stand"))
_TALL_CELL = Piece(1, 1, "floor_lamp")
_LAPTOP_TALL_SHARE = 0.4


def generate_room(seed: int, size: str, name: str) -> Room:
    """The room of this seed.

    Args:
        seed: any non-negative integer; it determines the room.
        size: `full` (13-32 x 13-36 cells) or `laptop` (9-12 x 9-12 cells).
        name: name of the room.

    Raises:
        ValueError: unknown size.
    """
    if size not in _MAKERS:
        raise ValueError(f"unknown room size {size!r}: choose one of {sorted(_MAKERS)}")
    rng = np.random.Generator(np.random.PCG64(seed))
    for _ in range(_ATTEMPTS):
        room = _MAKERS[size](rng, name)
        if room is not None and is_playable(room):
            return room
    raise RuntimeError(f"no playable {size} room in {_ATTEMPTS} attempts with seed {seed}")  # odds below 1e-100


def is_playable(room: Room) -> bool:
    """Whether the stand has enough places and the television can be carried through nearly all of the room."""
    if stand_cells(room).any(0).sum() < MIN_STAND_PLACES:
        return False
    poses = holdable_poses(room)
    count = int(poses.sum())
    return count >= MIN_POSES and int(largest_part(poses).sum()) >= MIN_CARRY_SHARE * count


def _full_room(rng: np.random.Generator, name: str) -> Room | None:
    plan, tv_cells = living_room.furnished(rng)
    floor = _keep_largest_floor(plan)
    free, share = int(floor.sum()), floor.mean()
    if not FULL_FREE_CELLS[0] <= free <= FULL_FREE_CELLS[1] or not FULL_FREE_SHARE[0] <= share <= FULL_FREE_SHARE[1]:
        return None
    return room_from_drawing(name, plan.drawing(), tv_cells, plan.furniture)


def _laptop_room(rng: np.random.Generator, name: str) -> Room:
    height, width = rng.integers(LAPTOP_CELLS[0], LAPTOP_CELLS[1] + 1, 2)
    plan = FloorPlan(np.ones((height, width), np.bool_))
    for number in rng.integers(len(_LAPTOP_PIECES), size=rng.integers(1, 5)):
        plan.place(_LAPTOP_PIECES[number], rng)
    if rng.random() < _LAPTOP_TALL_SHARE:
        plan.place(_TALL_CELL, rng)
    _keep_largest_floor(plan)
    return room_from_drawing(name, plan.drawing(), furniture=plan.furniture)


def _keep_largest_floor(plan: FloorPlan) -> Mask:
    """Close floor that agents cannot reach; returns the remaining floor, [H, W] bool."""
    floor = largest_part(plan.free)
    plan.keep_floor(floor)
    return floor


_MAKERS: dict[str, Callable[[np.random.Generator, str], Room | None]] = {"full": _full_room, "laptop": _laptop_room}

__all__ = ["MAX_CELLS", "carry_poses", "generate_room", "is_playable"]
