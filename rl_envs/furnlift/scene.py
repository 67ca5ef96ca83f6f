"""A room with the television at one place, and the start of an episode in it.

A Cordial Sync (Jain et al., ECCV 2020) and the authors' episode sampler: the television lies at a random free place,
both agents stand anywhere that is reachable with any heading, and there is a pair of states from which the television
can be picked up; otherwise the draw is repeated.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from rl_envs.core.spec import Array
from rl_envs.furnlift.expert import target_pairs
from rl_envs.furnlift.sight import closed_cells, seeing_states, television_places
from rl_envs.furnmove.room import Mask, Room, largest_part

_KEPT = 512


@dataclass(frozen=True)
class Scene:
    """A room of H x W cells with the television at one place."""

    tv: Array  # [3] int, row, column and rotation of the television
    is_floor: Mask  # [H, W] bool, cells for agents without the television
    closed: Mask  # [H, W] bool, cells that the television closes
    seeing: Mask  # [H, W, 4] bool, states that see the television
    min_separation_cells: int  # least Manhattan distance of the agents at a pickup, in cells

    @cached_property
    def reachable(self) -> Mask:
        """[H, W] bool, the largest connected part of the floor that is left open."""
        return largest_part(self.is_floor & ~self.closed)

    @cached_property
    def pairs(self) -> Array:
        """Pairs of reachable states from which the television can be picked up, [P, 2, 3] int64 (`target_pairs`)."""
        targets = np.argwhere(self.seeing & self.reachable[..., None])
        return target_pairs(targets, self.tv, self.min_separation_cells)


@lru_cache(_KEPT)
def scene_at(room: Room, tv: tuple[int, ...], min_separation_cells: int) -> Scene:
    """The scene of a television at this row, column and rotation, which closes the cells of our own rule."""
    pose = np.array(tv)
    return make_scene(room, pose, min_separation_cells, closed_cells(room.agent_cells.shape, pose))


def make_scene(room: Room, tv: Array, min_separation_cells: int, closed: Mask) -> Scene:
    """The scene of a television `tv` [3] that closes these cells, [H, W] bool."""
    return Scene(tv.copy(), room.agent_cells, closed, seeing_states(room, tv), min_separation_cells)


class Start(NamedTuple):
    """Start of one episode."""

    agent_cells: Array  # [2, 2] int, row and column of each agent
    agent_headings: Array  # [2] int, quarter turns from north
    tv: Array  # [3] int, row, column, rotation


NUM_UNIFORMS = 5
"""Uniforms of a start: place of the television, cell and heading of each agent."""


def draw_start(rooms: Sequence[Room], min_separation_cells: int, index: int, uniforms: Array) -> Start | None:
    """Try once to draw a start in room `index`, with `uniforms` [5] float64 in [0, 1); None if this draw gives none."""
    places = television_places(rooms[index])
    if not len(places):
        return None
    place = places[int(uniforms[0] * len(places))]
    scene = scene_at(rooms[index], tuple(place.tolist()), min_separation_cells)
    if not len(scene.pairs):
        return None
    cells = np.argwhere(scene.reachable)
    agents = cells[(uniforms[1:3] * len(cells)).astype(np.int64)]
    return Start(agents, (uniforms[3:5] * 4).astype(np.int8), scene.tv)
