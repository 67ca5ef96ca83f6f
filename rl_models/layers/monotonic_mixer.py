"""QMIX's mixing network (Rashid et al., ICML 2018, section 4): agents' values in, the team's value out, never falling.

    Q_tot = |W_2(s)| . elu(|W_1(s)| q + b_1(s)) + b_2(s)

Its weights are outputs of hypernetworks that see the global state; absolute values keep them from being negative, so
that dQ_tot / dQ_i >= 0 and each agent's best action is its part of the best joint action. There are two halves here: a
`MonotonicMixer` makes a `Mixing` of each state, and a `Mixing` is arithmetic that a loss can apply to any values.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Mixing:
    """The mixing network of each state, E hidden units wide.

    Attributes:
        first: [..., N, E], W_1, not negative.
        first_bias: [..., E], b_1.
        second: [..., E], W_2, not negative.
        second_bias: [...], b_2.
    """

    first: Tensor
    first_bias: Tensor
    second: Tensor
    second_bias: Tensor

    def __call__(self, values: Tensor) -> Tensor:
        """Agents' values [..., N] -> the team's, [...]."""
        hidden = nn.functional.elu((values[..., None] * self.first).sum(-2) + self.first_bias)
        return (hidden * self.second).sum(-1) + self.second_bias


def sum_of_values(values: Tensor) -> Tensor:
    """Value decomposition without a mixer (VDN, Sunehag et al., 2018): [..., N] -> [...]."""
    return values.sum(-1)


class MonotonicMixer(nn.Module):
    """Hypernetworks: single linear layers, and two with a ReLU between for the last bias."""

    def __init__(self, state_features: int, num_agents: int, hidden: int = 32) -> None:
        """Build the hypernetworks.

        Args:
            state_features: S, width of the global state.
            num_agents: N.
            hidden: E.
        """
        super().__init__()
        self.first = nn.Linear(state_features, num_agents * hidden)
        self.first_bias = nn.Linear(state_features, hidden)
        self.second = nn.Linear(state_features, hidden)
        self.second_bias = nn.Sequential(nn.Linear(state_features, hidden), nn.ReLU(), nn.Linear(hidden, 1))
        self._shape = num_agents, hidden

    def forward(self, state: Tensor) -> Mixing:
        """Global states [..., S] -> a mixing network for each."""
        return Mixing(
            self.first(state).abs().unflatten(-1, self._shape),
            self.first_bias(state),
            self.second(state).abs(),
            torch.squeeze(self.second_bias(state), -1),
        )
