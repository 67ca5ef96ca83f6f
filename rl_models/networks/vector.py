"""Linear layers on one vector per agent, with or without rounds of averaged messages (CommNet).

CommNet is Sukhbaatar et al., 2016, eqs. 1 and 2: in each round an agent's state becomes f(H h_i + C c_i), where c_i is
the mean of the states of the others in the game. Without rounds the network is a multilayer perceptron. All agents
share the weights.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from rl_models.layers.dense import dense
from rl_models.layers.initialisation import glorot_
from rl_models.networks.network_config import VectorConfig
from rl_models.policy import Features, State, Stateless, legal_actions, present_only


class VectorNetwork(Stateless):
    """Vector -> linear layers -> rounds of communication, for each of N agents with the same weights."""

    def __init__(self, config: VectorConfig, num_agents: int, scale: Sequence[float], rounds: int = 0) -> None:
        """Build the network; `scale` [V] divides each number, and 0 rounds are no communication."""
        super().__init__()
        self.num_agents, self.features = num_agents, config.hidden_sizes[-1]
        self._scale = nn.Buffer(torch.tensor(scale, dtype=torch.float32), persistent=False)
        self.dense = dense((len(scale), *config.hidden_sizes), nn.Tanh)
        self.own, self.heard = (
            nn.ModuleList(nn.Linear(self.features, self.features, bias) for _ in range(rounds))
            for bias in (True, False)
        )
        glorot_(self)

    def forward(self, obs: dict[str, Tensor], state: State, is_first: Tensor) -> Features:
        """Features [B, T, N, F] float32 of `vector` [B, T, N, V] of any number type."""
        states: Tensor = self.dense(obs["vector"].float() / self._scale)
        if self.own:
            states = self._after_rounds(states, obs)
        return Features(states, {}, legal=legal_actions(obs))

    def _after_rounds(self, states: Tensor, obs: dict[str, Tensor]) -> Tensor:
        others: Tensor | int = max(1, self.num_agents - 1)
        if "alive" in obs:
            alive = obs["alive"].long()[..., None]
            others = (alive.sum(-2, keepdim=True) - alive).clamp(min=1)
        for own, heard in zip(self.own, self.heard, strict=True):
            said = present_only(states, obs)
            states = torch.tanh(own(states) + heard((said.sum(-2, keepdim=True) - said) / others))
        return states
