"""Q network of ROMA (Wang et al., ICML 2020): each agent's stochastic role generates the last layer of its Q network.

An agent's role is drawn at every step from what it observes now. Two further networks are for learning only: one infers
the role from the memory, and one says how differently two roles behave (`losses/roles.py` has both terms).

Deviations from the release: layer normalisation replaces batch normalisation, because an agent's values must not depend
on the number of worlds; the same noise is used when acting and learning; without noise, as in greedy evaluation, the
role is its mean; and the previous action is no input.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from rl_models.layers.recurrence import run_gru, states_before
from rl_models.layers.sampling import standard_normal
from rl_models.networks.q_network import ENCODED, Encoder, QValues, with_agent_index
from rl_models.networks.role_team_config import RoleConfig
from rl_models.policy import Features, State, legal_actions
from rl_models.runtime.added_observations import NOISE

MEAN, VARIANCE, SAMPLE, INFERRED_MEAN, INFERRED_VARIANCE, DISSIMILARITY = (
    f"role/{name}" for name in ("mean", "variance", "sample", "inferred_mean", "inferred_variance", "dissimilarity")
)
"""Extras while gradients are enabled: [B, T, N, role_size] float32 each; the last is [B, T, N, N], not negative."""


class RoleQNetwork(QValues):
    """Values of every agent's actions, by a last layer that its role generates."""

    def __init__(
        self, encoder: Encoder, num_agents: int, num_actions: int, config: RoleConfig, hidden_size: int = 64
    ) -> None:
        super().__init__(encoder, num_agents, num_actions)
        self._config, inputs, width = config, encoder.features + num_agents, config.hidden_size
        self.role_encoder = _perceptron(inputs, width, 2 * config.role_size)
        self.role_decoder = _hidden_layer(config.role_size, width)
        self.last_weights = nn.Linear(width, hidden_size * num_actions)
        self.last_biases = nn.Linear(width, num_actions)
        self.input = nn.Linear(inputs, hidden_size)
        self.memory = nn.GRUCell(hidden_size, hidden_size)
        self.inference = _perceptron(hidden_size + inputs, width, 2 * config.role_size)
        self.dissimilarity = _perceptron(2 * config.role_size, width, 1)

    def noise_shape(self, obs: Mapping[str, Any]) -> tuple[int, ...]:
        """Shape of one agent's noise at one step: a number for each entry of its role."""
        return (self._config.role_size,)

    def forward(self, obs: dict[str, Tensor], state: State, is_first: Tensor) -> Features:
        """Action values [B, T, N, A] float32 as features, and while gradients are enabled the extras of this file.

        The encoder reads the observations, with `noise` [B, T, N, role_size] for a drawn role. The state's `hidden` [B,
        N, hidden_size] is cleared where `is_first` [B, T] bool.
        """
        encoded = self.encoder(obs)
        inputs = with_agent_index(encoded)
        mean, variance = self._normal(self.role_encoder(inputs))
        role = mean + variance.sqrt() * standard_normal(obs[NOISE]) if NOISE in obs else mean
        states = run_gru(self.memory, torch.relu(self.input(inputs)), state["hidden"], is_first)
        values = self.values(states, role)
        extras: dict[str, Tensor] = {}
        if torch.is_grad_enabled():
            before = states_before(states, state["hidden"], is_first).detach()
            inferred = self._normal(self.inference(torch.cat([before, inputs], -1)))
            extras = {MEAN: mean, VARIANCE: variance, SAMPLE: role, DISSIMILARITY: self._dissimilarities(role)}
            extras |= {INFERRED_MEAN: inferred[0], INFERRED_VARIANCE: inferred[1], ENCODED: encoded}
        return Features(values, {"hidden": states[:, -1]}, extras=extras, legal=legal_actions(obs))

    def values(self, states: Tensor, role: Tensor) -> Tensor:
        """Action values [..., A] by the last layer that roles write, h W(role) + b(role), without building any W.

        From states h [..., hidden_size] and roles [..., role_size], float32.
        """
        decoded = self.role_decoder(role)
        shape = self.memory.hidden_size, self.features
        weight = self.last_weights.weight.unflatten(0, shape)  # [hidden_size, A, width]
        by_width = torch.einsum("...h,haw->...aw", states, weight)
        constant = states @ self.last_weights.bias.unflatten(0, shape)
        values: Tensor = (by_width * decoded.unsqueeze(-2)).sum(-1) + constant + self.last_biases(decoded)
        return values

    def _normal(self, parameters: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance of a normal distribution: [..., 2 d] -> [..., d] each."""
        mean, log_variance = parameters.chunk(2, -1)
        return mean, log_variance.exp().clamp_min(self._config.smallest_variance)

    def _dissimilarities(self, role: Tensor) -> Tensor:
        """Dissimilarities of all ordered pairs of roles: [B, T, N, d] -> [B, T, N, N]."""
        pairs = (*role.shape[:3], self.num_agents, role.shape[-1])
        both = torch.cat([role.unsqueeze(3).expand(pairs), role.unsqueeze(2).expand(pairs)], -1)
        absolute: Tensor = self.dissimilarity(both).squeeze(-1).abs()
        return absolute


def _hidden_layer(inputs: int, width: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, width), nn.LayerNorm(width), nn.LeakyReLU())


def _perceptron(inputs: int, width: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(*_hidden_layer(inputs, width), nn.Linear(width, outputs))
