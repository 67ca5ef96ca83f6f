"""Observations of a room: names in its cells, positions of agents, legal moves and inventories.

RTFM, section 3: the room is a matrix of texts. Here a text is the number of a name, one byte. The offset of every cell
from the agent is not observed: a network can compute it from `position`.
"""

from __future__ import annotations

import numpy as np

from rl_envs.core.spec import Array, Arrays, ArraySpec
from rl_envs.rtfm.grid import NUM_MOVES, Grid
from rl_envs.rtfm.lexicon import AGENT, EMPTY, EMPTY_HANDED, FOG, WALL, YOU
from rl_envs.rtfm.settings import check_counts


class Observer:
    """Computes the observations of N agents in rooms of one size."""

    def __init__(self, grid: Grid, num_agents: int, num_names: int, names_per_cell: int, sight: float | None) -> None:
        """Prepare the empty room, for N agents, K names and P names per cell.

        Cells further than `sight` (Euclidean distance) are fog; None shows the whole room.
        """
        check_counts(names_per_cell=names_per_cell)
        if sight is not None and not sight >= 0:
            raise ValueError(f"sight must be a distance of 0 or more, or None for all of the room, got {sight}")
        self._grid = grid
        self._names_per_cell = names_per_cell
        self._bare = np.zeros((grid.size**2, names_per_cell), np.uint8)
        self._bare[:, 0] = WALL
        self._bare[grid.inside, 0] = EMPTY
        self._own_first = (np.arange(num_agents)[:, None] + np.arange(num_agents)) % num_agents
        self._own_last = self._own_first[:, ::-1]
        self._faces = np.array([AGENT] * (num_agents - 1) + [YOU], np.uint8)
        self._is_fog = None if sight is None else grid.distance > sight**2
        last, size = num_names - 1, grid.size
        self.spec = {
            "grid": ArraySpec((size, size, names_per_cell), "uint8", 0, last, "names in each cell, highest first"),
            "position": ArraySpec((num_agents, 2), "uint8", 0, size - 2, "row and column of agents, its own first"),
            "legal": ArraySpec((NUM_MOVES,), "bool", 0, 1, "moves that do not lead into a wall"),
            "inventory": ArraySpec((num_agents,), "uint8", 0, last, "names of what agents hold, its own first"),
        }

    def observe(self, agents: Array, things: Array, names: Array, carried: Array) -> Arrays:
        """Observations of all agents of K worlds.

        Args:
            agents: [K, N] int64, cells of agents; 0 for dead ones.
            things: [K, E] int64, cells of items and monsters, lowest first; 0 for removed ones.
            names: [K, E] uint8, names of items and monsters.
            carried: [K, N] uint8, names of held items.

        Returns:
            dict of `[K, N, ...]` arrays, as `spec` declares them.
        """
        return {
            "grid": self._names_in_cells(agents, things, names),
            "position": self._grid.coordinates[agents[:, self._own_first]],
            "legal": self._grid.is_legal[agents],
            "inventory": carried[:, self._own_first],
        }

    def _names_in_cells(self, agents: Array, things: Array, names: Array) -> Array:
        """[K, N, H, W, P] uint8."""
        count, num_agents = agents.shape
        rooms = np.empty((count, 1, *self._bare.shape), np.uint8)
        rooms[...] = self._bare
        if self._names_per_cell == 1:
            _paint(rooms, things[:, None], names[:, None])
            grids = rooms if num_agents == 1 else np.repeat(rooms, num_agents, axis=1)
            _paint(grids, agents[:, self._own_last], self._faces)
            grids[:, :, 0] = WALL
        else:
            grids = np.repeat(rooms, num_agents, axis=1)
            self._stack(grids, agents, things, names)
        if self._is_fog is not None:
            grids[self._is_fog[agents]] = [FOG] + [0] * (self._names_per_cell - 1)
        size = self._grid.size
        return grids.reshape(count, num_agents, size, size, self._names_per_cell)

    def _stack(self, grids: Array, agents: Array, things: Array, names: Array) -> None:
        """Write several names per cell; the index of a name is the number of higher names in its cell."""
        count, num_agents = agents.shape
        cells = np.concatenate([agents[:, self._own_first], np.repeat(things[:, None, ::-1], num_agents, 1)], axis=2)
        faces = np.tile(self._faces[::-1], (count, num_agents, 1))
        all_names = np.concatenate([faces, np.repeat(names[:, None, ::-1], num_agents, 1)], axis=2)
        higher = np.tril(cells[..., :, None] == cells[..., None, :], -1).sum(-1)
        world, viewer, entity = np.nonzero((cells > 0) & (higher < self._names_per_cell))
        chosen = (world, viewer, entity)
        grids[world, viewer, cells[chosen], higher[chosen]] = all_names[chosen]


def _paint(grids: Array, cells: Array, names: Array) -> None:
    """Write names [K, V, E] into cells [K, V, E] of grids [K, V, C, 1]; a later name replaces an earlier one."""
    flat = grids.reshape(-1)
    first = np.arange(0, flat.size, grids.shape[2]).reshape(*grids.shape[:2], 1)
    flat[first + cells] = names


def carried_names(held: Array, item_names: Array) -> Array:
    """Names of the items that agents hold, [K, N] uint8.

    Args:
        held: [K, N] int64, the item's number + 1, or 0 for nothing.
        item_names: [K, I] uint8, names of the items.
    """
    return np.where(held > 0, item_names[np.arange(len(held))[:, None], held - 1], np.uint8(EMPTY_HANDED))
