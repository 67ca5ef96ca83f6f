"""Causes of lost episodes, as metrics that separate failures of reading from failures of control.

A lost episode counts for one cause: the first in `ENDINGS` that an agent touches and that kills it, or the time limit
(with behaviours of the two-agent release, also any other end). Losses to the enemy are little evidence of reading.
Losses to a decoy are strong evidence: it has the symbol of a message or a goal, and only the manual's description of
its movement identifies it.
"""

import numpy as np

from rl_envs.core.spec import Array, Arrays
from rl_envs.messenger.stages import Stage
from rl_envs.messenger.symbols import ENEMY, GOAL, MESSAGE

ENDINGS = (
    "lost_to_enemy",
    "lost_to_message_decoy",
    "lost_to_goal_decoy",
    "lost_to_goal",
    "lost_to_message",
    "lost_to_time",
)
"""Lost to the goal: it was touched without the message. Lost to the message: by an agent that begins with it."""


def endings(state: Arrays, rows: Array, stage: Stage) -> Arrays:
    """Metrics of the episodes that just ended in worlds `rows` [K], `ENDINGS` and `has_message`, [K] float64 each.

    `state` is that of all worlds, name -> [B, ...].
    """
    apart = abs(state["entity_places"][rows][:, None] - state["avatar_places"][rows][:, :, None])
    touch, holds = np.logical_and.reduce(apart < 2, axis=-1), state["has_message"][rows]
    is_decoy = np.arange(len(stage.role_of)) >= stage.first_decoy
    deadly = {
        "lost_to_enemy": _touches(touch, stage.role_of == ENEMY),
        "lost_to_message_decoy": _touches(touch, is_decoy & (stage.role_of == MESSAGE)),
        "lost_to_goal_decoy": _touches(touch, is_decoy & (stage.role_of == GOAL)),
        "lost_to_goal": _touches(touch, ~is_decoy & (stage.role_of == GOAL)) & ~holds & stage.goal_kills,
        "lost_to_message": _touches(touch, ~is_decoy & (stage.role_of == MESSAGE)) & holds & stage.one_touch_ends,
    }
    open_rows, found = ~state["won"][rows], {}
    for name, touches in deadly.items():
        found[name] = open_rows & touches.any(1)
        open_rows = open_rows & ~found[name]
    lost = found | {"lost_to_time": open_rows}
    return {name: value.astype(np.float64) for name, value in lost.items()} | {"has_message": holds.mean(1)}


def _touches(touch: Array, entities: Array) -> Array:
    """Whether each agent touches one of some entities: [K, N, E] and [E] bool -> [K, N] bool."""
    return np.logical_or.reduce(touch & entities, axis=-1)
