"""The five actions of FurnLift and the rule of coordinated joint actions.

A Cordial Sync (Jain et al., ECCV 2020), section 3 and figure 2b: a joint action is coordinated if
both agents pick up or neither does. These are 17 of 25, whatever the state.
"""

import numpy as np

from rl_envs.core.spec import Array

ACTION_NAMES = ("MoveAhead", "RotateLeft", "RotateRight", "Pass", "Pickup")
NUM_ACTIONS = len(ACTION_NAMES)
MOVE_AHEAD, ROTATE_LEFT, ROTATE_RIGHT, PASS, PICKUP = range(NUM_ACTIONS)


def is_coordinated(actions: Array) -> Array:
    """Whether all agents pick up or none does: actions [..., N] int -> [...] bool."""
    picks = actions == PICKUP
    return picks.all(-1) | ~picks.any(-1)


def coordination_matrix() -> Array:
    """The coordination matrix of two agents, [5, 5] bool, the same in every state."""
    return is_coordinated(np.moveaxis(np.indices((NUM_ACTIONS, NUM_ACTIONS)), 0, -1))


def coordinated_actions() -> tuple[Array, Array]:
    """Every coordinated joint action [1, 17, 2] int8, in the form of other worlds with a coordination matrix.

    The second is its modality [17] int8, 0 for walking, turning and passing, 1 for the joint pickup.
    """
    joint_actions = np.argwhere(coordination_matrix()).astype(np.int8)
    return joint_actions[None], (joint_actions[:, 0] == PICKUP).astype(np.int8)
