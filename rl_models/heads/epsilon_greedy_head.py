"""Heads of a team that acts by action values: an epsilon-greedy policy, and the value of the best action.

The policy is a mixture with one component, so rollouts sample it with the world's uniforms and record its
log-probabilities like those of other policies. Greedy play takes the best action even if epsilon makes all actions
equally likely.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from rl_models.distributions.joint_policy import legal_or_all
from rl_models.distributions.mixture import MixtureOfMarginals
from rl_models.policy import Features


@dataclass(frozen=True)
class EpsilonGreedy(MixtureOfMarginals):
    """Joint policy of N agents that explore independently.

    Attributes:
        best: [..., N] int64, the action with the largest value.
    """

    explores: ClassVar[bool] = True
    best: Tensor

    @classmethod
    def from_values(cls, values: Tensor, epsilon: Tensor) -> EpsilonGreedy:
        """Build the policy from values [..., N, A] float32, minus infinity for illegal actions; some action is legal.

        `epsilon`, [] in [0, 1], is the probability of a uniformly drawn legal action.
        """
        is_legal = values > -torch.inf
        best = values.argmax(-1)
        uniform = is_legal / is_legal.sum(-1, keepdim=True)
        probabilities = epsilon * uniform
        probabilities = probabilities.scatter_add(-1, best[..., None], (1 - epsilon).expand(*best.shape, 1))
        # Finite logarithms, so that an impossible action has entropy 0.
        log_marginals = probabilities.clamp_min(torch.finfo(probabilities.dtype).tiny).log()
        return cls(values.new_zeros(*values.shape[:-2], 1), log_marginals.unsqueeze(-2), best)

    def mode(self) -> tuple[Tensor, Tensor]:
        """The best actions [..., N] int64, and component 0 as [...] int64."""
        return self.best, self.log_weights.argmax(-1)


def legal_values(features: Features) -> Tensor:
    """Action values of a Q network, [B, T, N, A] float32, minus infinity for illegal actions.

    Where an agent has no legal action, as one that is out of the game, all count as legal: every number stays finite.
    """
    values, legal = features.features, legal_or_all(features.legal)
    return values if legal is None else values.masked_fill(~legal, -torch.inf)


class EpsilonGreedyHead(nn.Module):
    """Epsilon-greedy policy over action values. Epsilon is a buffer, so it reaches env runners with the weights."""

    def __init__(self, num_actions: int) -> None:
        """Begin with an epsilon of 1, until a learner sets another one."""
        super().__init__()
        self.components, self.num_actions = 1, num_actions
        self.epsilon = nn.Buffer(torch.ones(1))

    def forward(self, features: Features) -> EpsilonGreedy:
        """Action values [B, T, N, A] as features -> joint policy with batch shape [B, T] and M = 1."""
        return EpsilonGreedy.from_values(legal_values(features).detach(), self.epsilon)


class BestValueHead(nn.Module):
    """The value of each agent's best legal action."""

    def forward(self, features: Features) -> Tensor:
        """Action values [B, T, N, A] as features -> values [B, T, N] float32."""
        return legal_values(features).amax(-1)
