"""The camera of an agent, as constant tables: which fine cells each ray crosses, and which pixels each ray has.

A Cordial Sync (Jain et al., ECCV 2020): a pinhole camera of 90 degrees, 30 degrees down, 1.576 m above the centre of
the agent's cell, in one of four headings. So everything relative to the agent is known in advance. Pixels are grouped
by azimuth into narrow columns; within a column they are sorted by slope (rise over horizontal distance), lowest first.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from rl_envs.furnmove.furnishing import EYE_METRES, FINE, FINE_METRES
from rl_envs.furnmove.geometry import ROTATIONS, STEPS

PITCH_DEGREES = 30.0
"""How far the camera looks down; its view is 90 degrees wide and high."""

COLUMNS = 168
"""Columns of azimuth of a frame: two or four for each pixel of its width."""

_AT_FEET = 1e-3


@dataclass(frozen=True)
class Camera:
    """Tables of one frame size, P x P pixels, with K columns of azimuth and S fine cells along each."""

    # [P * P] uint32, place of each pixel (row by row) in the order by column of azimuth and rising slope
    places: NDArray[np.uint32]
    slopes: NDArray[np.float32]  # [P * P] float32, in that order: metres up for each metre ahead
    # [P * P] float32, in that order: horizontal metres to the floor; infinite where the ray rises
    floor_metres: NDArray[np.float32]
    first: NDArray[np.int32]  # [K + 1] int32, first of each column's pixels
    directions: NDArray[np.float32]  # [4, K, 2] float32, unit vector (south, east) of each column for each heading
    # [4, K, S, 2] int16, (row, column) of each fine cell crossed, from the corner under the camera
    steps: NDArray[np.int16]
    distances: NDArray[np.float32]  # [K, S + 1] float32, horizontal metres at which each fine cell is entered
    # [K, S] bool, whether it is entered across a line that lies ahead, else across one at the side
    crosses_ahead: NDArray[np.bool_]


def pixel_rays(pixels: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Azimuth (radians, to the right) and slope of each pixel's centre, [P, P] float64 each, top row first."""
    centre = (np.arange(pixels) + 0.5) / pixels * 2 - 1
    right, up = np.meshgrid(centre, -centre)
    pitch = np.radians(PITCH_DEGREES)
    ahead, rise = np.cos(pitch) + up * np.sin(pitch), -np.sin(pitch) + up * np.cos(pitch)
    return np.arctan2(right, ahead), rise / np.hypot(ahead, right)


@cache
def camera(pixels: int, reach_metres: float) -> Camera:
    """Tables of frames of P x P pixels, with rays of `reach_metres`, at least the diagonal of the largest room."""
    azimuth, slope = (values.reshape(-1) for values in pixel_rays(pixels))
    widest = np.nextafter(abs(azimuth).max(), np.inf)
    column = np.minimum(((azimuth + widest) / (2 * widest) * COLUMNS).astype(np.int64), COLUMNS - 1)
    order = np.lexsort((slope, column))
    centres = ((np.arange(COLUMNS) + 0.5) / COLUMNS * 2 - 1) * widest
    steps, distances, crosses_ahead = _crossed_cells(centres, reach_metres)
    ahead, right = np.cos(centres), np.sin(centres)
    directions = [ahead[:, None] * STEPS[h] + right[:, None] * STEPS[(h + 1) % ROTATIONS] for h in range(ROTATIONS)]
    return Camera(
        places=np.argsort(order).astype(np.uint32),
        slopes=slope[order].astype(np.float32),
        floor_metres=np.where(slope < 0, -EYE_METRES / slope, np.inf)[order].astype(np.float32),
        first=np.searchsorted(column[order], np.arange(COLUMNS + 1)).astype(np.int32),
        directions=np.stack(directions).astype(np.float32),
        steps=steps,
        distances=distances,
        crosses_ahead=crosses_ahead,
    )


def _crossed_cells(
    azimuths: NDArray[np.float64], reach_metres: float
) -> tuple[NDArray[np.int16], NDArray[np.float32], NDArray[np.bool_]]:
    """Fine cells along each azimuth: `steps`, `distances` and `crosses_ahead` of `Camera`."""
    count = int(reach_metres / FINE_METRES) + 1
    lines = np.arange(1, count + 1)
    ahead, side = np.cos(azimuths)[:, None], abs(np.sin(azimuths))[:, None]
    crossings = np.concatenate([lines / ahead, lines / np.maximum(side, 1e-9)], axis=1)
    order = np.argsort(crossings, axis=1, kind="stable")
    distances = np.take_along_axis(crossings, order, axis=1)
    size = int((distances < reach_metres / FINE_METRES).sum(1).max())
    is_ahead = (order < count)[:, :size]
    cells_ahead = np.pad(is_ahead.cumsum(1), ((0, 0), (1, 0)))[:, :-1]
    cells_aside = np.arange(size) - cells_ahead
    aside = np.where(azimuths[:, None] > 0, cells_aside + 0.5, -cells_aside - 0.5)
    steps = [
        np.floor((cells_ahead + 0.5)[..., None] * STEPS[h] + aside[..., None] * STEPS[(h + 1) % ROTATIONS])
        for h in range(ROTATIONS)
    ]
    entered = np.pad(distances[:, :size], ((0, 0), (1, 0)), constant_values=_AT_FEET / FINE_METRES) * FINE_METRES
    # Contiguous, as a pickled copy is: Numba compiles all anew for another layout.
    entered_ahead = np.ascontiguousarray(np.pad(is_ahead, ((0, 0), (1, 0)), constant_values=True)[:, :-1])
    return np.stack(steps).astype(np.int16), entered.astype(np.float32), entered_ahead


assert FINE % 2 == 0, "the camera stands on a corner of four fine cells"
