"""Heads of a central policy: a probability for each joint action, and one value (A Cordial Sync, section 5, A.3)."""

import torch
from torch import Tensor, nn

from rl_models.distributions.joint_categorical import JointCategorical
from rl_models.distributions.joint_policy import outer
from rl_models.layers.initialisation import glorot_, normalise_rows_
from rl_models.policy import Features

_MARGINAL_NORM = 0.01


class CentralHead(nn.Module):
    """Logits of all A**N joint actions, plus the outer product or sum of one vector per agent.

    As in the authors' code, the vectors enter as an outer product for two agents and as an outer sum for any other
    number of agents. Their weights start with rows of norm 0.01, so at first the joint logits decide almost alone.
    """

    components = None

    def __init__(self, features: int, num_actions: int, num_agents: int) -> None:
        super().__init__()
        self.num_actions, self.num_agents = num_actions, num_agents
        self.joint = nn.Linear(features, num_actions**num_agents)
        self.vectors = nn.Linear(features, num_agents * num_actions)
        self._combine = torch.mul if num_agents == 2 else torch.add
        glorot_(self)
        normalise_rows_(self.vectors.weight, _MARGINAL_NORM)

    def forward(self, features: Features) -> JointCategorical:
        """Features [B, T, 1, F] of the team -> joint policy with batch shape [B, T]."""
        team = features.features.squeeze(2)
        logits = self.joint(team).unflatten(-1, (self.num_actions,) * self.num_agents)
        vectors = self.vectors(team).unflatten(-1, (self.num_agents, self.num_actions))
        return JointCategorical.from_logits(logits + outer(vectors, self._combine), self.num_agents)


class SharedValueHead(nn.Module):
    """One value V of the team's summed reward, of which each agent gets V / N.

    Objectives regress each agent's value on its own return R_i. This has the same minimiser as regressing V on the sum
    of the returns: the gradient of sum_i (V / N - R_i)**2 with respect to V is 2 (V - sum_i R_i) / N, which is the
    gradient of (V - sum_i R_i)**2 divided by N. The joint form sums the agents' values, and the sum is V.
    """

    def __init__(self, features: int, num_agents: int) -> None:
        super().__init__()
        self.num_agents = num_agents
        self.value = nn.Linear(features, 1)
        glorot_(self)

    def forward(self, features: Features) -> Tensor:
        """Features [B, T, 1, F] of the team -> values [B, T, N] float32."""
        share: Tensor = self.value(features.features.squeeze(2)) / self.num_agents
        return share.expand(-1, -1, self.num_agents)
