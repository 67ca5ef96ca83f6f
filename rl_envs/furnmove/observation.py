"""The observation of an agent of FurnMove: a 15 x 15 egocentric crop of the room, with its heading up.

A Cordial Sync, section 6.1. All channels but those of other agents are bits of one byte per cell, so an observation is
one gather and a few shifts. The agent is in the middle of the bottom row.
"""

from __future__ import annotations

import numpy as np

from rl_envs.core.spec import Array
from rl_envs.furnmove.geometry import STEPS

VIEW = 15
MARGIN = VIEW - 1
"""Width of the margin around a room, in cells, so that no crop leaves the array."""

TV_ALLOWED, FLOOR, VISITED, TV_BODY, STAND, KNOWN = (np.uint8(1 << bit) for bit in range(6))
"""Bits of a cell: the TV centre may be here in some rotation; an agent may be here now; the TV centre was here after a
joint action; covered by the TV; covered by the stand; the cell belongs to the room's masks."""

_LEADING_BITS, _TRAILING_BITS = (TV_ALLOWED, FLOOR, VISITED), (TV_BODY, STAND)


def num_channels(num_agents: int) -> int:
    """Number of channels C: three maps, four headings for each other agent, TV and stand."""
    return 5 + 4 * (num_agents - 1)


def crop_offsets(padded_width: int) -> Array:
    """Cells of an agent's crop in a flattened map, relative to its own cell: [4, 225] int64, for each heading."""
    ahead = MARGIN - np.arange(VIEW)[:, None]
    right = np.arange(VIEW)[None, :] - VIEW // 2
    heading = np.arange(4)[:, None, None]
    offset = STEPS @ (padded_width, 1)
    return (ahead * offset[heading] + right * offset[(heading + 1) % 4]).reshape(4, -1)


class Observer:
    """Computes the agents' observations from padded bit maps of one width."""

    def __init__(self, padded_width: int, num_agents: int) -> None:
        """Compute the 225 cells of a crop for each heading, as offsets in a flattened map."""
        self._crop = crop_offsets(padded_width)
        self._padded_width = padded_width
        self._num_agents = num_agents
        self._scratch = np.empty((0, num_agents, VIEW * VIEW), np.int64)

    def observe(self, maps: Array, cells: Array, headings: Array) -> Array:
        """Observations of all agents of K worlds.

        Args:
            maps: [K, P] uint8, flattened padded bit maps.
            cells: [K, N, 2] int, cells of the agents in the unpadded room.
            headings: [K, N] int, headings of the agents.

        Returns:
            [K, N, C, 15, 15] uint8, entries 0 or 1. Channels: TV allowed, floor now, visited; for each other agent
            i + 1, i + 2, ... one channel for each heading relative to agent i's; TV, stand.
        """
        count, num_agents = headings.shape
        centre = (cells[..., 0] + MARGIN) * self._padded_width + cells[..., 1] + MARGIN
        centre = centre + (np.arange(count) * maps.shape[1])[:, None]
        codes = maps.reshape(-1).take(self._indices(headings, centre))
        out = np.zeros((count, num_agents, num_channels(num_agents), VIEW * VIEW), np.uint8)
        for channel, bit in enumerate(_LEADING_BITS):
            np.not_equal(codes & bit, 0, out=out[:, :, channel].view(np.bool_))
        for channel, bit in enumerate(_TRAILING_BITS, start=out.shape[2] - 2):
            np.not_equal(codes & bit, 0, out=out[:, :, channel].view(np.bool_))
        for offset in range(1, num_agents):
            self._mark_other(out, cells, headings, offset)
        return out.reshape(count, num_agents, -1, VIEW, VIEW)

    def _indices(self, headings: Array, centre: Array) -> Array:
        """Indices of all crops' cells in the flat maps, [K, N, 225] int64; reused memory, valid until the next call."""
        count = len(headings)
        if len(self._scratch) < count:
            self._scratch = np.empty((count, *self._scratch.shape[1:]), np.int64)
        indices = self._crop.take(headings, axis=0, out=self._scratch[:count], mode="clip")
        indices += centre[..., None]
        return indices

    def _mark_other(self, out: Array, cells: Array, headings: Array, offset: int) -> None:
        """Mark agent i + offset in the crop of every agent i."""
        other = (np.arange(self._num_agents) + offset) % self._num_agents
        away = cells[:, other] - cells
        ahead = (away * STEPS[headings]).sum(-1)
        right = (away * STEPS[(headings + 1) % 4]).sum(-1)
        world, agent = np.nonzero((ahead >= 0) & (ahead < VIEW) & (abs(right) <= VIEW // 2))
        turned = (headings[:, other] - headings) % 4
        channel = len(_LEADING_BITS) + 4 * (offset - 1) + turned[world, agent]
        cell = (MARGIN - ahead[world, agent]) * VIEW + right[world, agent] + VIEW // 2
        out[world, agent, channel, cell] = 1
