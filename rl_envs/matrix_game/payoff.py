"""The arithmetic of team rock-paper-scissors (A Cordial Sync, appendix A.2): payoffs and worst cases.

Two agents form a team against an adversary that knows their joint policy before it chooses.
"""

import numpy as np
from numpy.typing import ArrayLike

from rl_envs.core.chance import Float64

ROCK, PAPER, SCISSORS = 0, 1, 2
_OUTCOME = np.array([0.0, 1.0, -1.0])
"""Payoff by (own action - adversary's action) modulo 3: 0 is a tie, 1 a win, 2 a loss."""


def payoff_tensor() -> Float64:
    """The payoff of each agent of the team.

    Returns:
        [3, 3, 3] float64, by first agent's, second agent's and adversary's action; -1 where the two agents differ.
    """
    own, reply = np.meshgrid(np.arange(3), np.arange(3), indexing="ij")
    payoff = np.full((3, 3, 3), -1.0)
    payoff[own, own, reply] = _OUTCOME[(own - reply) % 3]
    return payoff


def values_by_reply(joint: ArrayLike) -> Float64:
    """Expected payoff of a joint policy for each reply of the adversary, [3] float64, by the adversary's action.

    Args:
        joint: [3, 3] probabilities of the team's joint actions.
    """
    joint = np.asarray(joint, np.float64)
    if joint.shape != (3, 3) or (joint < 0).any() or not np.isclose(joint.sum(), 1.0, atol=1e-5):
        raise ValueError(f"a joint policy is [3, 3], not negative and sums to 1; got {joint.shape}, sum {joint.sum()}")
    return np.einsum("ij,ijk->k", joint, payoff_tensor())


def value_against_adversary(joint: ArrayLike) -> float:
    """Expected payoff of `joint` ([3, 3] probabilities) against the reply that is worst for the team."""
    return float(values_by_reply(joint).min())
