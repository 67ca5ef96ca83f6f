"""Mixing network of QMIX (Rashid et al., ICML 2018, section 4): agents' values -> the team's value, monotonically.

    Q_tot = |W_2(s)| . elu(|W_1(s)| q + b_1(s)) + b_2(s)

Hypernetworks compute the weights from the global state. Absolute values make the weights non-negative, so dQ_tot / dQ_i
>= 0, and each agent's best action is its part of the best joint action. A `MonotonicMixer` turns states into `Mixing`,
and a loss can apply a `Mixing` to any values.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Mixing:
    """The mixing network of each state, with E hidden units.

    Attributes:
        first: [..., N, E] float32, W_1, non-negative.
        first_bias: [..., E] float32, b_1.
        second: [..., E] float32, W_2, non-negative.
        second_bias: [...] float32, b_2.
    """

    first: Tensor
    first_bias: Tensor
    second: Tensor
    second_bias: Tensor

    def __call__(self, values: Tensor) -> Tensor:
        """Agents' values [..., N] float32 -> the team's value [...] float32."""
        hidden = nn.functional.elu((values[..., None] * self.first).sum(-2) + self.first_bias)
        return (hidden * self.second).sum(-1) + self.second_bias


def sum_of_values(values: Tensor) -> Tensor:
    """Sum of the agents' values (VDN, Sunehag et al., 2018): [..., N] float32 -> [...] float32."""
    return values.sum(-1)


class MonotonicMixer(nn.Module):
    """Hypernetworks: one linear layer each, and for the last bias two with a ReLU between them.

    The hypernetworks of both weights may have a hidden layer, too, as in later releases of QMIX.
    """

    def __init__(
        self, state_features: int, num_agents: int, hidden_size: int = 32, hypernetwork_hidden_size: int = 0
    ) -> None:
        super().__init__()

        def weights(width: int) -> nn.Module:
            if not hypernetwork_hidden_size:
                return nn.Linear(state_features, width)
            hidden = nn.Linear(state_features, hypernetwork_hidden_size)
            return nn.Sequential(hidden, nn.ReLU(), nn.Linear(hypernetwork_hidden_size, width))

        self.first = weights(num_agents * hidden_size)
        self.first_bias = nn.Linear(state_features, hidden_size)
        self.second = weights(hidden_size)
        last = nn.Linear(state_features, hidden_size), nn.ReLU(), nn.Linear(hidden_size, 1)
        self.second_bias = nn.Sequential(*last)
        self._shape = num_agents, hidden_size

    def forward(self, state: Tensor) -> Mixing:
        """Global states [..., S] float32 -> the mixing network of each state."""
        return Mixing(
            self.first(state).abs().unflatten(-1, self._shape),
            self.first_bias(state),
            self.second(state).abs(),
            torch.squeeze(self.second_bias(state), -1),
        )
