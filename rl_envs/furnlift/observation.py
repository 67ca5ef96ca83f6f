"""The grid observation of an agent of FurnLift: a 15 x 15 egocentric crop of the room, with its heading up.

A Cordial Sync (Jain et al., ECCV 2020) gives its FurnLift agents camera frames; this is the crop of its gridworld
FurnMove (section 6.1) for the other task. The agent is in the middle of the bottom row.
"""

import numpy as np

FLOOR, TELEVISION = np.uint8(1), np.uint8(2)
"""Bits of a cell: an agent may be here; covered by the television."""

MAPS = (FLOOR, TELEVISION)


def num_channels(agents_visible: bool) -> int:
    """Number of channels C: floor and television, and four headings of the other agent where it is visible."""
    return len(MAPS) + 4 * agents_visible
