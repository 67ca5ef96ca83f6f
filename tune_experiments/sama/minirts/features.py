"""The features of MiniRTS that tests of sub-goals look at, counted from what agents observe, for B worlds at once.

A moment is a dict of arrays: `team` [B, 16] finished objects of the team by type; `own` [B, N, 16] of each agent;
`idle`, `gathering`, `attacking` [B, N]; `seen`, `money` [B]. Where tests are Python, `texts` has the B states, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rl_envs.core.spec import Arrays
from rl_envs.minirts.factored import C_ATTACK, C_GATHER, C_IDLE
from rl_envs.minirts.symbols import ARMY, NUM_CELLS, NUM_TYPES, PEASANT


def moment_of(seen: Arrays) -> dict[str, Any]:
    """Features of observations.

    Args:
        seen: the world's own, name -> [B, N, ...].
    """
    kinds, commands, owned = seen["own_type"].astype(int), seen["command_type"], seen["owned"]
    peasants, fighters = owned & (kinds == PEASANT), owned & np.isin(kinds, ARMY)
    own = (owned[..., None] & (kinds[..., None] == np.arange(NUM_TYPES))).sum(2)
    return {
        "team": own.sum(1),
        "own": own,
        "idle": (peasants & (commands == C_IDLE)).sum(2),
        "gathering": (peasants & (commands == C_GATHER)).sum(2),
        "attacking": (fighters & (commands == C_ATTACK)).sum(2),
        "seen": np.rint(seen["count"][:, 0, :2].sum(1) * NUM_CELLS).astype(int),
        "money": seen["money"][:, 0].astype(int),
    }
