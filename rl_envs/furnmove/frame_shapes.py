"""Sizes of what is in a frame, in metres: from A Cordial Sync's engine (AI2-THOR) where they are known.

The television hangs from 1.30 to 2.05 m; an agent is a cylinder with a ring in its colour; the stand has a yellow top.
"""

TV_LOW_METRES, TV_HIGH_METRES = 1.3, 2.05
TV_HALF_DEPTH, TV_HALF_WIDTH = 0.205, 0.535
AGENT_RADIUS, AGENT_METRES = 0.2, 1.8
RING_LOW_METRES, RING_HIGH_METRES, HEAD_METRES = 1.1, 1.35, 1.4
STAND_METRES, TELEVISION_METRES = 0.9, 0.75
"""Heights of the stand, and of a television on the floor."""

CHECK_METRES = 0.5
"""Side of a square of the floor's pattern."""

SHADE_METRES = 2.0
"""Colours get one shade darker every so many metres."""
