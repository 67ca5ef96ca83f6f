"""The observation of an agent of FurnMove: a 15 x 15 egocentric crop of the room, with its heading up.

A Cordial Sync, section 6.1. All channels but those of other agents are bits of one byte per cell, so an observation is
one gather and a few shifts. The agent is in the middle of the bottom row.
"""

from typing import Any

import numpy as np

from rl_envs.core.array_library import NUMPY, ArrayLibrary
from rl_envs.core.spec import Array
from rl_envs.furnmove.geometry import STEPS

VIEW = 15
MARGIN = VIEW - 1
"""Width of the margin around a room, in cells, so that no crop leaves the array."""

TV_ALLOWED, FLOOR, VISITED, TV_BODY, STAND, KNOWN = (1 << bit for bit in range(6))
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

    def __init__(
        self,
        padded_width: int,
        num_agents: int,
        num_worlds: int,
        xp: ArrayLibrary = NUMPY,
        *,
        leading: tuple[Any, ...] = _LEADING_BITS,
        trailing: tuple[Any, ...] = _TRAILING_BITS,
        shows_others: bool = True,
    ) -> None:
        """Compute the 225 cells of a crop for each heading, as offsets in a flattened map.

        Channels are the maps of the `leading` bits, other agents where they are shown, and those of `trailing` bits.
        """
        self._xp, self._padded_width, self._leading, self._trailing = xp, padded_width, leading, trailing
        self._shows_others = shows_others and num_agents > 1
        self._channels = len(leading) + 4 * (num_agents - 1) * shows_others + len(trailing)
        self._crop, self._steps = xp.asarray(crop_offsets(padded_width)), xp.asarray(STEPS)
        agents, offsets = np.arange(num_agents), np.arange(1, num_agents)[:, None]
        self._others = xp.asarray((agents + offsets) % num_agents)
        per_agent = VIEW * VIEW
        first_channel = (agents * self._channels + len(leading) + 4 * (offsets - 1)) * per_agent
        per_world = num_agents * self._channels * per_agent
        self._first_entry = xp.asarray(np.arange(num_worlds)[:, None, None] * per_world + first_channel)
        self._scratch = xp.empty((num_worlds, num_agents, per_agent), dtype=xp.int64)

    def observe(self, codes: Array, first_cells: Array, cells: Array, headings: Array) -> Array:
        """Observations of all agents of K worlds, [K, N, C, 15, 15] uint8, entries 0 or 1.

        Channels: TV allowed, floor now, visited; for each other agent i + 1, i + 2, ... one channel for each heading
        relative to agent i's; TV, stand. `codes` [M] uint8 are all worlds' padded bit maps, flattened, `first_cells`
        [K] the indices of the rooms' first cells; `cells` [K, N, 2] lie in the unpadded room; `headings` are [K, N].
        """
        xp, (count, num_agents) = self._xp, headings.shape
        indices = xp.take_into(self._scratch[:count], self._crop, headings)
        indices += (cells[..., 0] * self._padded_width + cells[..., 1] + first_cells[:, None])[..., None]
        found = codes.take(indices)
        out = xp.zeros((count, num_agents, self._channels, VIEW * VIEW), dtype=xp.uint8)
        for channel, bit in [
            *enumerate(self._leading),
            *enumerate(self._trailing, self._channels - len(self._trailing)),
        ]:
            xp.not_equal(found & bit, 0, out=out[:, :, channel].view(xp.bool))
        if self._shows_others:
            self._mark_others(out.reshape(-1), cells, headings)
        return out.reshape(count, num_agents, -1, VIEW, VIEW)

    def _mark_others(self, out: Array, cells: Array, headings: Array) -> None:
        """Mark agents i + 1, i + 2, ... in the crop of every agent i."""
        xp, steps = self._xp, self._xp.take(self._steps, headings, 0)[:, None]
        down, right = steps[..., 0], steps[..., 1]
        away = cells[:, self._others] - cells[:, None]
        ahead = away[..., 0] * down + away[..., 1] * right
        aside = away[..., 0] * right - away[..., 1] * down
        is_seen = (ahead >= 0) & (ahead < VIEW) & (abs(aside) <= VIEW // 2)
        turned = (headings[:, self._others] - headings[:, None]) % 4
        cell = aside - ahead * VIEW + (MARGIN * VIEW + VIEW // 2)
        # Where the agent is not seen, 0 is written into the first cell, because no shape may depend on values.
        entry = self._first_entry[: len(cells)] + xp.astype(turned, xp.int64) * (VIEW * VIEW) + cell * is_seen
        out[entry] = xp.astype(is_seen, xp.uint8)
