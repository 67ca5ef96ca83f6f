"""Cells that the television on the floor blocks, and cells from which an agent sees it.

A Cordial Sync (Jain et al., ECCV 2020), section 2, asks AI2-THOR for both. Here an agent sees the television if the
nearest point of its box is within 1.25 m, and one of 27 points of the box lies in the view of the agent's camera (90
degrees wide and high, 30 degrees down, 1.576 m above the floor) with nothing higher than the line between them. These
are our own rules: the authors' engine uses the true shapes. Recorded visibility replaces them (`world.py`).
"""

from functools import cache, lru_cache

import numpy as np

from rl_envs.core.spec import Array
from rl_envs.furnmove.frame_palette import TELEVISION_METRES
from rl_envs.furnmove.furnishing import EYE_METRES, FINE_METRES, RING_CELLS, fine_heights
from rl_envs.furnmove.geometry import CELL_METRES, ROTATIONS, STEPS, TV_BAR, cells_where_fits, rectangle
from rl_envs.furnmove.kinds import CARRY_METRES
from rl_envs.furnmove.room import Mask, Room

AGENT_RADIUS_METRES = 0.2
VISIBILITY_METRES = 1.25
PITCH_DEGREES = 30.0
_SAMPLES = 24
_CLEARANCE_METRES = 0.02


BOX_CELLS = TV_BAR


@lru_cache(512)
def television_places(room: Room) -> Array:
    """Poses at which the television stands on free floor, [K, 3] int64: row, column, rotation."""
    fits = np.stack([cells_where_fits(room.agent_cells, cells) for cells in BOX_CELLS], axis=-1)
    return np.argwhere(fits)


def closed_cells(shape: tuple[int, int], tv: Array) -> Mask:
    """Cells in which an agent would touch the television, [H, W] bool."""
    return _distance_to_box(_offsets(shape, tv), int(tv[2])) < AGENT_RADIUS_METRES


def seeing_states(room: Room, tv: Array) -> Mask:
    """Cells and headings from which a television `tv` [3] is seen, [H, W, 4] bool; also cells where no agent can be."""
    offsets, in_view, points = _view_table(int(tv[2]) % 2)
    cells = offsets + tv[:2]
    inside = ((cells >= 0) & (cells < (room.height, room.width))).all(1)
    cells, in_view = cells[inside], in_view[inside]
    clear = _lines_are_clear(fine_heights(room), cells, tv[:2] * CELL_METRES + points[:, :2], points[:, 2])
    states = np.zeros((room.height, room.width, ROTATIONS), np.bool_)
    states[cells[:, 0], cells[:, 1]] = (in_view & clear[:, None]).any(-1)
    return states


def sees_lifted(cells: Array, headings: Array, tv: Array) -> Array:
    """Whether agents see a television carried at 1.3 m, by the rule of this file without occlusion, [..., N] bool.

    `cells` [..., N, 2], `headings` [..., N], `tv` [..., 3]: row, column and rotation.
    """
    table = _lifted_table()
    reach = table.shape[1] // 2
    away = cells - tv[..., None, :2]
    near = (abs(away) <= reach).all(-1)
    away = np.clip(away, -reach, reach) + reach
    return np.asarray(near & table[tv[..., None, 2] % 2, away[..., 0], away[..., 1], headings])


@cache
def _lifted_table() -> Mask:
    """[2, S, S, 4] bool, by rotation, row and column away from the television, and heading."""
    offsets = [_view_table(rotation, CARRY_METRES)[0] for rotation in range(2)]
    reach = max(int(abs(some).max()) for some in offsets)
    table = np.zeros((2, 2 * reach + 1, 2 * reach + 1, ROTATIONS), np.bool_)
    for rotation, some in enumerate(offsets):
        in_view = _view_table(rotation, CARRY_METRES)[1]
        table[rotation, some[:, 0] + reach, some[:, 1] + reach] = in_view.any(-1)
    return table


def _offsets(shape: tuple[int, int], tv: Array) -> Array:
    """[H, W, 2] float64, metres to the south and to the east of the television's centre."""
    return (np.moveaxis(np.indices(shape), 0, -1) - tv[:2]) * CELL_METRES


def _half_box(rotation: int) -> Array:
    """Half of the box along rows and columns, [2] float64, metres."""
    width, depth, _ = TELEVISION_METRES
    return np.array([depth, width] if rotation % 2 == 0 else [width, depth]) / 2


def _distance_to_box(offsets: Array, rotation: int) -> Array:
    """Horizontal distance to the box: offsets [..., 2] metres -> [...] float64, metres."""
    return np.hypot(*np.moveaxis(np.maximum(abs(offsets) - _half_box(rotation), 0), -1, 0))


@cache
def _view_table(rotation: int, base_metres: float = 0.0) -> tuple[Array, Array, Array]:
    """Visibility that depends on geometry alone, for a television whose base is `base_metres` above the floor."""
    reach = int((VISIBILITY_METRES + max(TELEVISION_METRES)) / CELL_METRES) + 1
    offsets = rectangle(range(-reach, reach + 1), range(-reach, reach + 1))
    offsets = offsets[_distance_to_box(offsets * CELL_METRES, rotation) <= VISIBILITY_METRES + 1e-9]
    half = _half_box(rotation)
    share = np.stack(np.meshgrid(*[(-1.0, 0.0, 1.0)] * 3, indexing="ij"), -1).reshape(-1, 3)
    points = np.concatenate([share[:, :2] * half, base_metres + (share[:, 2:] + 1) / 2 * TELEVISION_METRES[2]], axis=1)
    away = points[None, :, :2] - offsets[:, None] * CELL_METRES
    ahead = np.einsum("kpd,hd->khp", away, STEPS)
    right = np.einsum("kpd,hd->khp", away, np.roll(STEPS, -1, axis=0))
    return offsets, _in_camera(ahead, right, points[:, 2] - EYE_METRES), points


def _in_camera(ahead: Array, right: Array, above: Array) -> Array:
    """Whether points, in metres from the camera, lie in its square view of 90 degrees: [...] -> [...] bool."""
    pitch = np.radians(PITCH_DEGREES)
    depth = ahead * np.cos(pitch) - above * np.sin(pitch)
    height = ahead * np.sin(pitch) + above * np.cos(pitch)
    return (abs(right) <= depth) & (abs(height) <= depth)


def _lines_are_clear(heights: Array, cells: Array, targets: Array, target_heights: Array) -> Array:
    """Whether nothing rises above the line from the eye in each cell to each point, [K, P] bool."""
    share = np.arange(1, _SAMPLES) / _SAMPLES
    eye = cells * CELL_METRES
    ground = eye[:, None, None] + share[:, None] * (targets[None, :, None] - eye[:, None, None])
    line = EYE_METRES + share * (target_heights[:, None] - EYE_METRES)
    fine = np.floor((ground + CELL_METRES * (RING_CELLS + 0.5)) / FINE_METRES).astype(np.int64)
    solid = heights[fine[..., 0], fine[..., 1]]
    return np.asarray((solid <= line + _CLEARANCE_METRES).all(-1))
