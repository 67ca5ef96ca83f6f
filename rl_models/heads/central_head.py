"""Heads of a team with one mind: a probability for each joint action, one value (A Cordial Sync, section 4.2)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rl_models.distributions.joint_categorical import JointCategorical
from rl_models.distributions.joint_tensor import outer
from rl_models.layers.initialisation import glorot_, normalise_rows_
from rl_models.policy import Features

_MARGINAL_NORM = 0.01


class CentralHead(nn.Module):
    """Logits of all A**N joint actions, plus what one vector an agent makes of them.

    As in the authors' code, those vectors enter as an outer product for two agents and as an outer sum for any other
    number. Their rows start with norm 0.01, so at first the joint logits decide alone.
    """

    def __init__(self, features: int, actions: int, num_agents: int) -> None:
        super().__init__()
        self.actions, self.num_agents = actions, num_agents
        self.joint = nn.Linear(features, actions**num_agents)
        self.vectors = nn.Linear(features, num_agents * actions)
        self._combine = torch.mul if num_agents == 2 else torch.add
        glorot_(self)
        normalise_rows_(self.vectors.weight, _MARGINAL_NORM)

    def forward(self, features: Features) -> JointCategorical:
        """Features [B, T, 1, F] -> joint policy over [B, T]."""
        mind = features.features.squeeze(2)
        logits = self.joint(mind).unflatten(-1, (self.actions,) * self.num_agents)
        vectors = self.vectors(mind).unflatten(-1, (self.num_agents, self.actions))
        return JointCategorical.from_logits(logits + outer(vectors, self._combine), self.num_agents)


class SharedValueHead(nn.Module):
    """One value V of the team's summed reward, handed out as V / N to each agent.

    Objectives regress each agent's value on its own return R_i. Shares have the same minimiser as regressing V on the
    sum of returns: the gradient of sum_i (V / N - R_i)**2 with respect to V is 2 (V - sum_i R_i) / N, the gradient of
    (V - sum_i R_i)**2 divided by N. The joint form sums the shares and finds V again.
    """

    def __init__(self, features: int, num_agents: int) -> None:
        super().__init__()
        self.num_agents = num_agents
        self.value = nn.Linear(features, 1)
        glorot_(self)

    def forward(self, features: Features) -> Tensor:
        """[B, T, 1, F] -> [B, T, N]."""
        share: Tensor = self.value(features.features.squeeze(2)) / self.num_agents
        return share.expand(-1, -1, self.num_agents)
