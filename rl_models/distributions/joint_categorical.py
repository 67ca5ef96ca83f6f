"""One probability for each joint action of a team: the central policy (A Cordial Sync, section 5, A.3).

The table has A**N entries and can represent every dependence between agents. One central policy moves all agents, so a
sample takes one uniform number, and its component is always 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from rl_models.distributions.joint_policy import ILLEGAL_LOGIT, inverse_cdf, l1_to_product


@dataclass(frozen=True)
class JointCategorical:
    """Joint policy of N agents.

    Attributes:
        log_table: [..., A, ..., A] float, log Pi, with one axis per agent, normalised over these axes.
        num_agents: N.
    """

    explores: ClassVar[bool] = False
    log_table: Tensor
    num_agents: int

    @classmethod
    def from_logits(cls, logits: Tensor, num_agents: int) -> JointCategorical:
        """Build the policy from logits [..., A, ..., A], which are normalised over their last N axes."""
        table = logits.flatten(-num_agents).log_softmax(-1)
        return cls(table.view(logits.shape), num_agents)

    @property
    def num_actions(self) -> int:
        """A."""
        return self.log_table.shape[-1]

    @property
    def num_uniforms(self) -> int:
        """U = 1, because the whole joint action is drawn at once."""
        return 1

    def first_steps(self, steps: int) -> JointCategorical:
        """The policy at the first `steps` steps of its batch shape [B, T]."""
        return JointCategorical(self.log_table[:, :steps], self.num_agents)

    def select_worlds(self, worlds: slice) -> JointCategorical:
        """The policy in some of the worlds of its batch shape [B, ...]."""
        return JointCategorical(self.log_table[worlds], self.num_agents)

    def sample(self, uniforms: Tensor) -> tuple[Tensor, Tensor]:
        """Draw by inverse CDF with uniforms [..., 1]: joint actions [..., N] int64; component [...] int64, all 0."""
        return self._joint_action(inverse_cdf(self._flat(), uniforms[..., 0]))

    def mode(self) -> tuple[Tensor, Tensor]:
        """The most probable joint action [..., N] int64; component [...] int64, all 0."""
        return self._joint_action(self._flat().argmax(-1))

    def log_prob(self, actions: Tensor, decides: Tensor | None = None) -> Tensor:
        """Exact joint log-probability, [...] float32, summed over the actions of agents that do not decide.

        Actions are [..., N] int64, `decides` [..., N] bool (None: all).
        """
        if decides is None:
            return self.log_joint_at(actions[..., None, :])[..., 0]
        total = self.log_table
        for agent in reversed(range(self.num_agents)):
            ones = [1] * agent  # the axes of the agents before
            action, counts = (tensor[..., agent].reshape(*actions.shape[:-1], *ones) for tensor in (actions, decides))
            chosen = total.gather(-1, action[..., None].expand(*total.shape[:-1], 1)).squeeze(-1)
            total = torch.where(counts, chosen, total.logsumexp(-1))
        return total

    def component_log_prob(self, actions: Tensor, component: Tensor) -> Tensor:
        """The joint log-probability for each agent, [..., N] float32, of actions [..., N] int64.

        The per-agent form thus gives log Pi the sum of all agents' advantages. One table cannot separate the agents: if
        some of them do not decide, this form counts their ignored actions, and only the joint form is right. The
        component [...] is not used.
        """
        return self.log_prob(actions)[..., None].expand(*actions.shape)

    def log_joint_at(self, joint_actions: Tensor) -> Tensor:
        """Log-probabilities of E joint actions a sample: [..., E, N] int64 -> [..., E] float32."""
        index = joint_actions[..., 0]
        for agent in range(1, self.num_agents):
            index = index * self.num_actions + joint_actions[..., agent]
        return self._flat().gather(-1, index)

    def log_joint(self) -> Tensor:
        """Log of the joint tensor Pi, [..., A, ..., A] float32 with N action axes."""
        return self.log_table

    def joint(self) -> Tensor:
        """The joint tensor Pi, [..., A, ..., A] float32 with N action axes, probabilities."""
        return self.log_table.exp()

    def marginals(self) -> Tensor:
        """Each agent's marginal policy, [..., N, A] float32: Pi summed over the others' actions."""
        return self._by_agent(self.joint()).sum(-2)

    def component_entropy(self) -> Tensor:
        """H(Pi) / N for each agent, [..., N] float32 in nats, so that the sum is the entropy of the joint policy."""
        flat = self._flat()
        entropy = -(flat.exp() * flat).sum(-1, keepdim=True) / self.num_agents
        return entropy.expand(*entropy.shape[:-1], self.num_agents)

    def marginal_entropy(self) -> Tensor:
        """Entropy of each agent's marginal policy, [..., N] float32, in nats."""
        # By way of logarithms, because the gradient of -p log p is not finite where p underflows to 0.
        log_marginals = self._by_agent(self.log_table).logsumexp(-2)
        return -(log_marginals.exp() * log_marginals.clamp(min=ILLEGAL_LOGIT)).sum(-1)

    def tvd(self) -> Tensor:
        """Total variation distance between Pi and the product of its marginals, [...] float32 in [0, 1]."""
        return 0.5 * l1_to_product(self.joint(), self.marginals())

    def _by_agent(self, table: Tensor) -> Tensor:
        """A table [..., A, ..., A] once for each agent, [..., N, A ** (N - 1), A], its own actions in the last axis."""
        batch, axes = table.shape[: -self.num_agents], range(-self.num_agents, 0)
        return torch.stack([table.movedim(axis, -1).reshape(*batch, -1, self.num_actions) for axis in axes], dim=-3)

    def _joint_action(self, index: Tensor) -> tuple[Tensor, Tensor]:
        """Joint actions [..., N] from their indices in row-major order [...], and component 0 as [...]."""
        sizes = self.log_table.shape[-self.num_agents :]
        strides = [math.prod(sizes[agent + 1 :]) for agent in range(self.num_agents)]
        actions = [index // stride % size for stride, size in zip(strides, sizes, strict=True)]
        return torch.stack(actions, dim=-1), torch.zeros_like(index)

    def _flat(self) -> Tensor:
        """[..., A ** N], log-probabilities of the joint actions in row-major order."""
        return self.log_table.flatten(-self.num_agents)
