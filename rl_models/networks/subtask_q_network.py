"""Q network of LDSA (Yang et al., NeurIPS 2022): each agent chooses one of k sub-tasks at every step.

A separate recurrent state encodes an agent's abilities; its product with the learned vector of a sub-task is the
sub-task's logit. The vector of the chosen sub-task writes the last layer of the Q network, without a gradient through
the vector. Sub-tasks are drawn when acting and learning, with the same noise; without noise, as in greedy evaluation,
the most probable one is taken.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from rl_models.layers.recurrence import run_gru
from rl_models.layers.sampling import choose_one
from rl_models.networks.q_network import ENCODED, Encoder, QValues, with_agent_index
from rl_models.networks.role_team_config import SubtaskConfig
from rl_models.policy import Features, State, legal_actions
from rl_models.runtime.added_observations import NOISE

LOGITS, TABLE = "subtask/logits", "subtask/table"
"""Extras while gradients are enabled: [B, T, N, k] and [B, T, k, e] float32, the vectors being the same everywhere."""


class SubtaskQNetwork(QValues):
    """Values of every agent's actions in the sub-task that it has chosen."""

    def __init__(
        self, encoder: Encoder, num_agents: int, num_actions: int, config: SubtaskConfig, hidden_size: int = 64
    ) -> None:
        super().__init__(encoder, num_agents, num_actions)
        self._config, inputs, vector = config, encoder.features + num_agents, config.vector_size
        self.ability_input = nn.Linear(inputs, hidden_size)
        self.ability_memory = nn.GRUCell(hidden_size, hidden_size)
        self.ability_output = nn.Linear(hidden_size, vector)
        self.table = nn.Sequential(
            nn.Linear(config.num_subtasks, vector), nn.ReLU(), nn.Linear(vector, vector), nn.Tanh()
        )
        self.input = nn.Linear(inputs, hidden_size)
        self.memory = nn.GRUCell(hidden_size, hidden_size)
        self.last_weights = nn.Linear(vector, hidden_size * num_actions)
        self.last_biases = nn.Linear(vector, num_actions)

    def initial_state(self, batch: int) -> State:
        """Zero recurrent states before an episode, `hidden` and `ability` -> [B, N, hidden_size] float32."""
        zeros = self.input.weight.new_zeros(batch, self.num_agents, self.memory.hidden_size)
        return {"hidden": zeros, "ability": zeros.clone()}

    def noise_shape(self, obs: Mapping[str, Any]) -> tuple[int, ...]:
        """Shape of one agent's noise at one step: a number for each sub-task."""
        return (self._config.num_subtasks,)

    def forward(self, obs: dict[str, Tensor], state: State, is_first: Tensor) -> Features:
        """Action values [B, T, N, A] float32 as features, and while gradients are enabled the extras of this file.

        The encoder reads the observations, with `noise` [B, T, N, k] for a drawn sub-task. The state's `hidden` and
        `ability`, [B, N, hidden_size] each, are cleared where `is_first` [B, T] bool.
        """
        encoded = self.encoder(obs)
        inputs = with_agent_index(encoded)
        abilities = run_gru(self.ability_memory, torch.relu(self.ability_input(inputs)), state["ability"], is_first)
        states = run_gru(self.memory, torch.relu(self.input(inputs)), state["hidden"], is_first)
        table = self.vectors()
        logits = self.ability_output(abilities) @ table.T
        choice = choose_one(logits, obs.get(NOISE))
        values = (self.values(states, table) * choice.unsqueeze(-1)).sum(-2)
        extras: dict[str, Tensor] = {}
        if torch.is_grad_enabled():
            extras = {LOGITS: logits, TABLE: table.expand(*logits.shape[:2], -1, -1), ENCODED: encoded}
        following = {"hidden": states[:, -1], "ability": abilities[:, -1]}
        return Features(values, following, extras=extras, legal=legal_actions(obs))

    def vectors(self) -> Tensor:
        """The sub-tasks' vectors, [k, e] float32 in (-1, 1)."""
        vectors: Tensor = self.table(torch.eye(self._config.num_subtasks, device=self.input.weight.device))
        return vectors

    def values(self, states: Tensor, table: Tensor) -> Tensor:
        """Action values in every sub-task, [..., k, A] float32, of states [..., hidden_size].

        No gradient goes into the table [k, e].
        """
        vectors = table.detach()
        weights = self.last_weights(vectors).unflatten(-1, (self.memory.hidden_size, self.features))
        return torch.einsum("...h,kha->...ka", states, weights) + self.last_biases(vectors)
