"""Q network of QMIX (Rashid et al., ICML 2018, section 4 and appendix): recurrent, and shared by all agents.

An agent's encoded observation and its index go through a linear layer with ReLU, a GRU and a linear layer, whose output
are the values of its actions. The previous action is no input: most actions here have an observable effect; an action
without one is not observed. An encoder reads the observations.
"""

from typing import Protocol

import torch
from torch import Tensor, nn

from rl_models.layers.recurrence import run_gru
from rl_models.policy import Features, State, legal_actions

ENCODED = "q/encoded"
"""Extra while gradients are enabled: encoded observations, [B, T, N, F] float32; a policy may learn more from them."""


class Encoder(Protocol):
    """Turns the observations of each step into vectors of width `features`."""

    features: int

    def __call__(self, obs: dict[str, Tensor]) -> Tensor:
        """Observations, name -> [B, T, N, ...], to [B, T, N, F] float32, or to [B, T, F] for a global state."""


class QValues(nn.Module):
    """A network whose features are action values: `QNetwork`, or one with roles or sub-tasks."""

    input: nn.Linear
    memory: nn.GRUCell

    def __init__(self, encoder: Encoder, num_agents: int, num_actions: int) -> None:
        super().__init__()
        self.num_agents, self.features, self.encoder = num_agents, num_actions, encoder

    def initial_state(self, batch: int) -> State:
        """Zero recurrent state before an episode, `hidden` -> [B, N, hidden_size] float32."""
        return {"hidden": self.input.weight.new_zeros(batch, self.num_agents, self.memory.hidden_size)}


class QNetwork(QValues):
    """Values of every agent's actions."""

    def __init__(self, encoder: Encoder, num_agents: int, num_actions: int, hidden_size: int = 64) -> None:
        super().__init__(encoder, num_agents, num_actions)
        self.input = nn.Linear(encoder.features + num_agents, hidden_size)
        self.memory = nn.GRUCell(hidden_size, hidden_size)
        self.output = nn.Linear(hidden_size, num_actions)

    def forward(self, obs: dict[str, Tensor], state: State, is_first: Tensor) -> Features:
        """Action values [B, T, N, A] float32, as features.

        The encoder reads the observations, [B, T, N, ...]; the state's `hidden` [B, N, hidden_size] is cleared where
        `is_first` [B, T] bool. Optionally `legal` [B, T, N, A] bool is among the observations.
        """
        encoded = self.encoder(obs)
        inputs = torch.relu(self.input(with_agent_index(encoded)))
        states = run_gru(self.memory, inputs, state["hidden"], is_first)
        extras = {ENCODED: encoded} if torch.is_grad_enabled() else {}
        return Features(self.output(states), {"hidden": states[:, -1]}, extras=extras, legal=legal_actions(obs))


def with_agent_index(encoded: Tensor) -> Tensor:
    """Observations with the one-hot index of their agent appended: [B, T, N, F] -> [B, T, N, F + N] float32."""
    num_agents = encoded.shape[2]
    agent = torch.eye(num_agents, device=encoded.device).expand(*encoded.shape[:-1], -1)
    return torch.cat([encoded, agent], -1)
