"""What the agents of a FurnMove or FurnLift world see, as pictures for people, whatever the world's observations are.

This file must not know about rules or rewards.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rl_envs.furnmove.frame_renderer import STAND_LOOKS, TELEVISION_LOOKS, FrameRenderer
from rl_envs.furnmove.splits import bounds


class Eyes:
    """The camera frames of one of B worlds."""

    def __init__(self, world: Any, index: int = 0, pixels: int = 84, agents_visible: bool = True) -> None:
        """Prepare to look.

        Args:
            world: B worlds of FurnMove or FurnLift; it may be of either observation.
            index: which of them.
            pixels: P, side of a frame: 42 or 84.
            agents_visible: whether agents see each other.
        """
        self._world, self._index = world, index
        self._renderer = FrameRenderer(1, *bounds(world.rooms), pixels, agents_visible)

    def frames(self) -> NDArray[np.uint8]:
        """What each agent sees now, [N, P, P, 3] uint8."""
        state = {name: values[[self._index]] for name, values in self._world.state.items()}
        is_lifted = "stand" in state
        goal, looks = (state["stand"], STAND_LOOKS) if is_lifted else (state["tv"], TELEVISION_LOOKS)
        self._renderer.load(0, self._world.rooms[int(state["room"][0])], goal[0], looks)
        poses = state["agent_cells"], state["agent_headings"]
        return self._renderer.frames(np.zeros(1, np.int64), *poses, state["tv"] if is_lifted else None)[0]
