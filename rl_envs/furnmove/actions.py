"""The 13 actions of FurnMove and the rule of coordinated joint actions.

A Cordial Sync, section 3 and appendix A.1: actions have four modalities, and only some joint actions (16 of 169 for two
agents, 46 of 2,197 for three) are coordinated. They depend only on the agents' headings relative to agent 0, so there
are 4**(N-1) coordination matrices. They are stored as lists of their entries that are 1; the A**N matrix is built only
for tests and figures.

Headings and rotations are quarter turns clockwise: 0 north (row - 1), 1 east (column + 1), 2 south, 3 west.
"""

from __future__ import annotations

import itertools

import numpy as np

from rl_envs.core.spec import Array

ACTION_NAMES = (
    "MoveAhead",
    "RotateLeft",
    "RotateRight",
    "Pass",
    "MoveWithObjectAhead",
    "MoveWithObjectRight",
    "MoveWithObjectBack",
    "MoveWithObjectLeft",
    "RotateObjectRight",
    "MoveObjectAhead",
    "MoveObjectRight",
    "MoveObjectBack",
    "MoveObjectLeft",
)
NUM_ACTIONS = len(ACTION_NAMES)
MOVE_AHEAD, ROTATE_LEFT, ROTATE_RIGHT, PASS = range(4)
NAVIGATE, MOVE_WITH_OBJECT, ROTATE_OBJECT, MOVE_OBJECT = range(4)

MODALITY = np.array([0] * 4 + [1] * 4 + [2] + [3] * 4, np.int8)
"""[A] int8, modality of each action."""
DIRECTION = np.array([0, 0, 0, 0, 0, 1, 2, 3, 0, 0, 1, 2, 3], np.int8)
"""[A] int8, clockwise quarter turns from the agent's heading to the direction of the push."""

_FIRST_PUSH = {MOVE_WITH_OBJECT: 4, MOVE_OBJECT: 9}
_ROTATE_OBJECT_ACTION = 8


def is_coordinated(actions: Array, headings: Array) -> Array:
    """Whether a joint action is an entry of S_t (section 3, A.1), [...] bool.

    All agents must share a modality. Navigation needs an agent that passes (unless there is a single agent). Pushes
    must have the same direction in the world. Rotating the object is always coordinated.

    Args:
        actions: [..., N] int, actions of the agents.
        headings: [..., N] int, headings of the agents.
    """
    modality = MODALITY[actions]
    together = (modality == modality[..., :1]).all(-1)
    push = (DIRECTION[actions] + headings) % 4
    same_way = (push == push[..., :1]).all(-1)
    one_waits = (actions == PASS).any(-1) if actions.shape[-1] > 1 else np.True_
    kind = modality[..., 0]
    agrees = np.where(kind == NAVIGATE, one_waits, (kind == ROTATE_OBJECT) | same_way)
    return together & agrees


def coordination_class(headings: Array) -> Array:
    """Number of the coordination matrix for these headings.

    Args:
        headings: [..., N] int.

    Returns:
        [...] uint8 (uint16 from six agents on), 0 .. 4**(N-1) - 1: the headings relative to agent 0, read as digits
        in base 4.
    """
    relative = (headings[..., 1:] - headings[..., :1]) % 4
    others = relative.shape[-1]
    return (relative * 4 ** np.arange(others)).sum(-1).astype(np.min_scalar_type(4**others - 1))


def coordinated_actions(num_agents: int) -> tuple[Array, Array]:
    """Every coordinated joint action of every coordination class.

    Returns:
        joint_actions: [K, E, N] int8, K = 4**(N-1) classes with E coordinated actions each (16 for N = 2, 46 for N =
            3).
        modalities: [E] int8, modality of each joint action, the same in every class.
    """
    waiting = [joint for joint in itertools.product(range(4), repeat=num_agents) if num_agents == 1 or PASS in joint]
    relative = np.array(list(itertools.product(range(4), repeat=num_agents - 1)), np.int64)[:, ::-1]
    headings = np.concatenate([np.zeros((len(relative), 1), np.int64), relative], axis=1)
    classes = np.empty((len(headings), len(waiting) + 9, num_agents), np.int8)
    classes[:, : len(waiting)] = np.array(waiting)
    classes[:, len(waiting)] = _ROTATE_OBJECT_ACTION
    pushes = (np.arange(4)[:, None] - headings[:, None, :]) % 4
    classes[:, -8:-4] = _FIRST_PUSH[MOVE_WITH_OBJECT] + pushes
    classes[:, -4:] = _FIRST_PUSH[MOVE_OBJECT] + pushes
    return classes, MODALITY[classes[0, :, 0]]


def coordination_matrix(headings: Array) -> Array:
    """The coordination matrix S_t, for tests and figures, [..., A, ..., A] bool with N action axes.

    Args:
        headings: [..., N] int.
    """
    num_agents = headings.shape[-1]
    everything = np.stack(np.meshgrid(*[np.arange(NUM_ACTIONS)] * num_agents, indexing="ij"), axis=-1)
    shape = headings.shape[:-1] + (1,) * num_agents + (num_agents,)
    return is_coordinated(everything, headings.reshape(shape))
