"""Epsilon-greedy play as a joint policy: every agent takes its best action, or with probability epsilon any legal one.

It is a mixture with one component, so rollouts sample it from the world's own uniforms and record its log-probabilities
as those of any other policy. Greedy play takes the best action also where epsilon makes all of them alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from rl_models.distributions.mixture import MixtureOfMarginals


@dataclass(frozen=True)
class EpsilonGreedy(MixtureOfMarginals):
    """Joint policy of N agents that explore each for itself.

    Attributes:
        best: [..., N] int64, the action of the largest value.
    """

    best: Tensor

    @classmethod
    def of_values(cls, values: Tensor, epsilon: Tensor) -> EpsilonGreedy:
        """Explore around values.

        Args:
            values: [..., N, A] float32, -inf for what is not legal.
            epsilon: [] in [0, 1], probability of a uniformly drawn legal action.
        """
        is_legal = values > -torch.inf
        best = values.argmax(-1)
        uniform = is_legal / is_legal.sum(-1, keepdim=True)
        probabilities = epsilon * uniform
        probabilities = probabilities.scatter_add(-1, best[..., None], (1 - epsilon).expand(*best.shape, 1))
        # Finite logarithms, so that an impossible action has entropy 0.
        log_marginals = probabilities.clamp_min(torch.finfo(probabilities.dtype).tiny).log()
        return cls(values.new_zeros(*values.shape[:-2], 1), log_marginals.unsqueeze(-2), best)

    def first(self, steps: int) -> EpsilonGreedy:
        """The policy at the first `steps` steps of a batch shape [B, T]."""
        return EpsilonGreedy(self.log_weights[:, :steps], self.log_marginals[:, :steps], self.best[:, :steps])

    def of_worlds(self, worlds: slice) -> EpsilonGreedy:
        """The policy in some of the worlds of a batch shape [B, ...]."""
        return EpsilonGreedy(self.log_weights[worlds], self.log_marginals[worlds], self.best[worlds])

    def likeliest(self) -> tuple[Tensor, Tensor]:
        """Best actions [..., N] int64, and the only component [...]."""
        return self.best, self.log_weights.argmax(-1)
