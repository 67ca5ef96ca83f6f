"""FurnLift for a warm start: an expert takes over in a falling share of the steps (A Cordial Sync, appendix A.3).

This is how DAgger collects data. One coin a step decides for both agents: it is the world's draw 0 of that step. The
plain game makes no draw in a step, so the starts of episodes are the same as there.
"""

from typing import Any

import numpy as np

from rl_envs.core.spec import Array, Arrays
from rl_envs.furnlift.world import FurnLift


class GuidedFurnLift(FurnLift):
    """FurnLift in which the expert takes over in part of the steps (appendix A.3; DAgger).

    With probability p(1 - e / E) both agents take the expert's action, by one coin for both; e is the number of
    training episodes that have ended. Each world counts its own episodes, and all worlds of a run play about equally
    many.
    """

    def __init__(
        self, num_worlds: int, first_world: int, expert_probability: float, decline_episodes: float, **arguments: Any
    ) -> None:
        """Build B worlds: `expert_probability` is p, and falls to 0 in `decline_episodes` (E) of one world."""
        super().__init__(num_worlds, first_world, shows_expert=True, **arguments)
        self._probability, self._decline = expert_probability, decline_episodes

    def expert_acts(self) -> Array:
        """Whether the expert takes over in this step, [B] bool."""
        left = np.maximum(1 - self.chance.episode / self._decline, 0)
        return self.chance.uniforms(1)[:, 0] < self._probability * left

    def _advance(self, actions: Any, recorded: Arrays) -> tuple[Array, Array, Array]:
        advised = self.state["expert"]
        takes_over = self.expert_acts() & (advised >= 0).all(1)
        return super()._advance(np.where(takes_over[:, None], advised, actions), recorded)
