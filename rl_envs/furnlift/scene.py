"""A room with the television at one place, and the start of an episode in it.

A Cordial Sync (Jain et al., ECCV 2020) and the authors' episode sampler: the television lies at a random free place,
both agents stand anywhere that is reachable with any heading, and there is a pair of states from which the television
can be picked up; otherwise the draw is repeated.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from rl_envs.core.spec import Array
from rl_envs.furnlift.expert import target_pairs
from rl_envs.furnlift.sight import closed_cells, seeing_states, television_places
from rl_envs.furnmove.furnishing import fine_heights
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


class Scenes:
    """Makes scenes of some rooms; the last few hundred rooms and scenes are cached."""

    def __init__(self, rooms: Sequence[Room], min_separation_cells: int) -> None:
        self._rooms, self._separation = rooms, min_separation_cells
        self._kept_rooms: OrderedDict[int, tuple[Array, Array]] = OrderedDict()
        self._kept: OrderedDict[tuple[int, ...], Scene] = OrderedDict()

    def places(self, index: int) -> Array:
        """Poses of the television in room `index`, [K, 3] int64."""
        return self._room(index)[0]

    def at(self, index: int, tv: Array, closed: Mask | None = None) -> Scene:
        """A scene.

        Args:
            index: number of the room.
            tv: [3] int, row, column and rotation of the television.
            closed: [H, W] bool, cells that it closes; None for our own rule.
        """
        if closed is not None:
            return self._made(index, tv, closed)
        key = (index, *tv.tolist())
        if key not in self._kept:
            shape = self._rooms[index].agent_cells.shape
            self._kept[key] = self._made(index, tv, closed_cells(shape, tv))
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return self._kept[key]

    def _made(self, index: int, tv: Array, closed: Mask) -> Scene:
        room = self._rooms[index]
        seeing = seeing_states(room, tv, self._room(index)[1])
        return Scene(tv.copy(), room.agent_cells, closed, seeing, self._separation)

    def _room(self, index: int) -> tuple[Array, Array]:
        if index not in self._kept_rooms:
            room = self._rooms[index]
            self._kept_rooms[index] = television_places(room), fine_heights(room)
            if len(self._kept_rooms) > _KEPT:
                self._kept_rooms.popitem(last=False)
        return self._kept_rooms[index]


class Start(NamedTuple):
    """Start of one episode."""

    agent_cells: Array  # [2, 2] int, row and column of each agent
    agent_headings: Array  # [2] int, quarter turns from north
    tv: Array  # [3] int, row, column, rotation


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
    if not len(scene.pairs):
        return None
    cells = np.argwhere(scene.reachable)
    agents = cells[(uniforms[1:3] * len(cells)).astype(np.int64)]
    return Start(agents, (uniforms[3:5] * 4).astype(np.int8), scene.tv)
