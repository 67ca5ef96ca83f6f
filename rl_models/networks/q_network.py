"""QMIX's agents (Rashid et al., ICML 2018, section 4 and appendix): one recurrent Q network that all of them share.

What an agent sees and which agent it is go through a linear layer with a ReLU, a GRU and a linear layer, and out come
the values of its actions. Its previous action is no input, because the worlds here show what it did. It knows no
observation: an encoder reads those.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor, nn

from rl_models.policy import Features, State


class Encoder(Protocol):
    """Turns observations into vectors, step by step."""

    features: int

    def __call__(self, obs: dict[str, Tensor]) -> Tensor:
        """Name -> [B, T, N, ...] to [B, T, N, features], or [B, T, features] of a global state."""


class QNetwork(nn.Module):
    """Values of every agent's actions.

    Attributes:
        features: A; a head finds the values [B, T, N, A] where other networks have features.
    """

    def __init__(self, encoder: Encoder, num_agents: int, actions: int, hidden: int = 64) -> None:
        """Build the layers.

        Args:
            encoder: of what an agent sees.
            num_agents: N.
            actions: A.
            hidden: width of the recurrent state.
        """
        super().__init__()
        self.num_agents, self.features = num_agents, actions
        self.encoder = encoder
        self.input = nn.Linear(encoder.features + num_agents, hidden)
        self.memory = nn.GRUCell(hidden, hidden)
        self.output = nn.Linear(hidden, actions)

    def initial_state(self, batch: int) -> State:
        """State before an episode, `hidden` [B, N, hidden]."""
        return {"hidden": self.input.weight.new_zeros(batch, self.num_agents, self.memory.hidden_size)}

    def forward(self, obs: dict[str, Tensor], state: State, is_first: Tensor) -> Features:
        """Action values [B, T, N, A]; the memory is empty where `is_first` [B, T] says that an episode begins."""
        seen = self.encoder(obs)
        who = torch.eye(self.num_agents, device=seen.device).expand(*seen.shape[:-1], -1)
        inputs = torch.relu(self.input(torch.cat([seen, who], -1)))
        hidden, remembered = state["hidden"], []
        for step, begins in enumerate(is_first.unbind(1)):
            hidden = hidden.masked_fill(begins[:, None, None], 0.0)
            hidden = self.memory(inputs[:, step].flatten(0, 1), hidden.flatten(0, 1)).view_as(hidden)
            remembered.append(hidden)
        legal = obs["legal"].bool() if "legal" in obs else None
        return Features(self.output(torch.stack(remembered, 1)), {"hidden": hidden}, legal=legal)
