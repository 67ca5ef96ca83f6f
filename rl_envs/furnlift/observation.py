"""The grid observation of an agent of FurnLift: a 15 x 15 egocentric crop of the room, with its heading up.

A Cordial Sync (Jain et al., ECCV 2020) gives its FurnLift agents camera frames; this is the crop of its gridworld
FurnMove (section 6.1) for the other task. The agent is in the middle of the bottom row.
"""

import numpy as np

from rl_envs.core.spec import Array
from rl_envs.furnmove.geometry import STEPS
from rl_envs.furnmove.observation import MARGIN, VIEW, crop_offsets

FLOOR, TELEVISION = np.uint8(1), np.uint8(2)
"""Bits of a cell: an agent may be here; covered by the television."""

_MAPS = (FLOOR, TELEVISION)


def num_channels(agents_visible: bool) -> int:
    """Number of channels C: floor and television, and four headings of the other agent where it is visible."""
    return len(_MAPS) + 4 * agents_visible


class Observer:
    """Computes the agents' observations from padded bit maps of one width."""

    def __init__(self, padded_width: int, agents_visible: bool) -> None:
        """Compute the cells of a crop for each heading."""
        self._crop, self._padded_width, self._agents_visible = crop_offsets(padded_width), padded_width, agents_visible

    def observe(self, maps: Array, cells: Array, headings: Array) -> Array:
        """Observations of both agents of K worlds, [K, 2, C, 15, 15] uint8, entries 0 or 1.

        Floor, television, and if it is visible the other agent, in the channel of its heading relative to the agent's.
        `maps` [K, P] uint8 are flattened padded bit maps; `cells` [K, 2, 2] lie in the unpadded room.
        """
        centre = (cells[..., 0] + MARGIN) * self._padded_width + cells[..., 1] + MARGIN
        centre = centre + (np.arange(len(maps)) * maps.shape[1])[:, None]
        codes = maps.reshape(-1).take(self._crop[headings] + centre[..., None])
        channels = [(codes & bit != 0).astype(np.uint8) for bit in _MAPS]
        out = np.stack(channels, axis=2)
        if self._agents_visible:
            out = np.concatenate([out, self._other_agent(cells, headings)], axis=2)
        return out.reshape(*headings.shape, -1, VIEW, VIEW)

    def _other_agent(self, cells: Array, headings: Array) -> Array:
        """[K, 2, 4, 225] uint8, 1 in the cell and the relative heading of the other agent."""
        out = np.zeros((*headings.shape, 4, VIEW * VIEW), np.uint8)
        away = cells[:, ::-1] - cells
        ahead = (away * STEPS[headings]).sum(-1)
        right = (away * STEPS[(headings + 1) % 4]).sum(-1)
        world, agent = np.nonzero((ahead >= 0) & (ahead < VIEW) & (abs(right) <= VIEW // 2))
        turned = (headings[:, ::-1] - headings) % 4
        cell = (MARGIN - ahead[world, agent]) * VIEW + right[world, agent] + VIEW // 2
        out[world, agent, turned[world, agent], cell] = 1
        return out
