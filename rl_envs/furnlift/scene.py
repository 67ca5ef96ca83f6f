"""A room with the television at one place, and the start of an episode in it.

A Cordial Sync (Jain et al., ECCV 2020) and the authors' episode sampler: the television lies at a random free place,
both agents stand anywhere that is reachable with any heading, and there is a pair of states from which the television
can be picked up; otherwise the draw is repeated.

This file must not know about steps, rewards or observations.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rl_envs.core.spec import Array
from rl_envs.furnlift.expert import target_pairs
from rl_envs.furnlift.sight import closed_cells, seeing_states, television_places
from rl_envs.furnmove.furnishing import fine_heights
from rl_envs.furnmove.poses import largest_part
from rl_envs.furnmove.room import Mask, Room

_KEPT_ROOMS = 512


@dataclass(frozen=True)
class Scene:
    """A room of H x W cells with the television at one place.

    Attributes:
        tv: [3] int, row, column and rotation of the television.
        is_floor: [H, W] bool, cells for agents without the television.
        closed: [H, W] bool, cells that the television closes.
        seeing: [H, W, 4] bool, states that see the television.
    """

    tv: Array
    is_floor: Mask
    closed: Mask
    seeing: Mask

    def pairs(self, is_open: Mask, min_separation_cells: int) -> Array:
        """Pairs of reachable states from which the television can be picked up, [P, 2, 3] int64 (`target_pairs`)."""
        targets = np.argwhere(self.seeing & largest_part(is_open)[..., None])
        return target_pairs(targets, self.tv, min_separation_cells)


class Scenes:
    """Makes scenes of some rooms; the last few hundred rooms are cached."""

    def __init__(self, rooms: Sequence[Room], min_separation_cells: int) -> None:
        self._rooms, self.min_separation_cells = rooms, min_separation_cells
        self._kept: OrderedDict[int, tuple[Array, Array]] = OrderedDict()

    def places(self, index: int) -> Array:
        """Poses of the television in room `index`, [K, 3] int64."""
        return self._room(index)[0]

    def at(self, index: int, tv: Array) -> Scene:
        """Room `index` with the television at `tv` [3]."""
        room = self._rooms[index]
        closed = closed_cells(room.agent_cells.shape, tv)
        return Scene(tv.copy(), room.agent_cells, closed, seeing_states(room, tv, self._room(index)[1]))

    def _room(self, index: int) -> tuple[Array, Array]:
        if index not in self._kept:
            room = self._rooms[index]
            self._kept[index] = television_places(room), fine_heights(room)
            if len(self._kept) > _KEPT_ROOMS:
                self._kept.popitem(last=False)
        return self._kept[index]


class Start(NamedTuple):
    """Start of one episode.

    Attributes:
        agent_cells: [2, 2] int, row and column of each agent.
        agent_headings: [2] int, quarter turns from north.
        tv: [3] int, row, column, rotation.
    """

    agent_cells: Array
    agent_headings: Array
    tv: Array


def draws_needed() -> int:
    """Number of uniforms that one call of `draw_start` uses."""
    return 5


def draw_start(scenes: Scenes, index: int, uniforms: Array) -> Start | None:
    """Try once to draw a start.

    Args:
        scenes: the rooms.
        index: number of the room.
        uniforms: [5] float64 in [0, 1): place of the television, cell and heading of each agent.

    Returns:
        a start, or None if this draw gives none.
    """
    places = scenes.places(index)
    if not len(places):
        return None
    scene = scenes.at(index, places[int(uniforms[0] * len(places))])
    is_open = scene.is_floor & ~scene.closed
    if not len(scene.pairs(is_open, scenes.min_separation_cells)):
        return None
    cells = np.argwhere(largest_part(is_open))
    agents = cells[(uniforms[1:3] * len(cells)).astype(np.int64)]
    return Start(agents, (uniforms[3:5] * 4).astype(np.int8), scene.tv)
