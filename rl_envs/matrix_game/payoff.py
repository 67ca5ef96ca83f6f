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
    """The payoff of each agent of the team, [3, 3, 3] float64; -1 where the two agents differ.

    The axes are the first agent's, the second agent's and the adversary's action.
    """
    own, reply = np.meshgrid(np.arange(3), np.arange(3), indexing="ij")
    payoff = np.full((3, 3, 3), -1.0)
    payoff[own, own, reply] = _OUTCOME[(own - reply) % 3]
    return payoff


def values_by_reply(joint: ArrayLike) -> Float64:
    """Expected payoff [3] float64 of a joint policy [3, 3] (probabilities), by the adversary's action."""
    joint = np.asarray(joint, np.float64)
    if joint.shape != (3, 3) or (joint < 0).any() or not np.isclose(joint.sum(), 1.0, atol=1e-5):
        raise ValueError(f"a joint policy is [3, 3], not negative and sums to 1; got {joint.shape}, sum {joint.sum()}")
    return np.einsum("ij,ijk->k", joint, payoff_tensor())


def value_against_adversary(joint: ArrayLike) -> float:
    """Expected payoff of `joint` ([3, 3] probabilities) against the reply that is worst for the team."""
    return float(values_by_reply(joint).min())
