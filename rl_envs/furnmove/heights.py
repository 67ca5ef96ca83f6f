"""Heights of what stands in a room, on a grid of 0.125 m: what blocks a line of sight.

Rooms say where the centre of an agent may be (A Cordial Sync, Jain et al., ECCV 2020, section 5), so their furniture
and walls are wider than the real ones by the radius of an agent. So one fine cell is shaved off at each edge.

This file must not know about agents, televisions, pictures or episodes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rl_envs.furnmove.room import FREE, LOW, TALL, Mask, Room, characters

FINE = 2
"""Fine cells along the side of a cell."""

FINE_METRES = 0.125
LOW_METRES, TALL_METRES, WALL_METRES = 0.8, 1.9, 2.7
EYE_METRES = 1.576
"""Height of an agent's camera above the floor."""


def fine_heights(room: Room) -> NDArray[np.float32]:
    """Height of each fine cell above the floor, [2 H, 2 W] float32, metres; 0 is free floor."""
    cells = characters(room.drawing)
    heights = np.select([cells == FREE, cells == LOW, cells == TALL], [0.0, LOW_METRES, TALL_METRES], WALL_METRES)
    return np.where(shaved(cells != FREE), enlarged(heights), 0).astype(np.float32)


def enlarged(cells: NDArray[np.generic]) -> NDArray[np.generic]:
    """Each cell as 2 x 2 fine cells: [H, W] -> [2 H, 2 W], same type."""
    return cells.repeat(FINE, axis=0).repeat(FINE, axis=1)


def shaved(solid: Mask) -> Mask:
    """Fine cells that are solid with all eight neighbours: [H, W] bool -> [2 H, 2 W] bool; outside is solid."""
    padded = np.pad(enlarged(solid), 1, constant_values=True)
    height, width = solid.shape[0] * FINE, solid.shape[1] * FINE
    kept = np.ones((height, width), np.bool_)
    for row in range(3):
        for column in range(3):
            kept &= padded[row : row + height, column : column + width].astype(np.bool_)
    return kept
