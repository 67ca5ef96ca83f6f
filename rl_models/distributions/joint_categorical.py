"""One probability for each joint action of a team: the central policy of A Cordial Sync (section 4.2).

Nothing is assumed about how agents depend on each other, and the table has A**N entries. It stands for one mind that
moves every agent, so there is nothing to draw in common: a sample takes one uniform number, and its component is 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from rl_models.distributions.joint_tensor import inverse_cdf, l1_to_product


@dataclass(frozen=True)
class JointCategorical:
    """Joint policy of N agents.

    Attributes:
        log_table: [..., A, ..., A] float, log Pi with one axis an agent, normalised over all of them.
        num_agents: N.
    """

    log_table: Tensor
    num_agents: int

    @classmethod
    def from_logits(cls, logits: Tensor, num_agents: int) -> JointCategorical:
        """Normalise logits [..., A, ..., A] over their last N axes."""
        table = logits.flatten(-num_agents).log_softmax(-1)
        return cls(table.view(logits.shape), num_agents)

    @property
    def num_actions(self) -> int:
        """A."""
        return self.log_table.shape[-1]

    @property
    def num_uniforms(self) -> int:
        """One: the whole joint action is drawn at once."""
        return 1

    def first(self, steps: int) -> JointCategorical:
        """The policy at the first `steps` steps of a batch shape [B, T]."""
        return JointCategorical(self.log_table[:, :steps], self.num_agents)

    def of_worlds(self, worlds: slice) -> JointCategorical:
        """The policy in some of the worlds of a batch shape [B, ...]."""
        return JointCategorical(self.log_table[worlds], self.num_agents)

    def sample(self, uniforms: Tensor) -> tuple[Tensor, Tensor]:
        """Draw joint actions by inverse CDF.

        Args:
            uniforms: [..., 1] in [0, 1).

        Returns:
            actions [..., N] int64; component [...] int64, all 0.
        """
        return self._joint_action(inverse_cdf(self._flat(), uniforms[..., 0]))

    def likeliest(self) -> tuple[Tensor, Tensor]:
        """The likeliest joint action [..., N] int64; component [...] int64, all 0."""
        return self._joint_action(self._flat().argmax(-1))

    def log_prob(self, actions: Tensor, decides: Tensor | None = None) -> Tensor:
        """Exact log-probability of joint actions [..., N] int64: [...].

        With `decides` [..., N] bool it is the probability of the deciding agents' actions alone: the others' axes are
        summed over.
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
        """The joint log-probability for every agent, [..., N].

        So the per-agent form gives log Pi the sum of all agents' advantages. One table cannot tell the agents apart:
        where some of them do not decide, that form counts their ignored actions, and the joint form is the right one.
        """
        return self.log_prob(actions)[..., None].expand(*actions.shape)

    def log_joint_at(self, joint_actions: Tensor) -> Tensor:
        """Log-probabilities of E given joint actions a sample: [..., E, N] int64 -> [..., E]."""
        index = joint_actions[..., 0]
        for agent in range(1, self.num_agents):
            index = index * self.num_actions + joint_actions[..., agent]
        return self._flat().gather(-1, index)

    def log_joint(self) -> Tensor:
        """Log of the whole joint tensor, [..., A, ..., A] with N action axes."""
        return self.log_table

    def joint(self) -> Tensor:
        """The joint tensor Pi, [..., A, ..., A]."""
        return self.log_table.exp()

    def marginals(self) -> Tensor:
        """Each agent's own marginal policy, [..., N, A]: Pi summed over the others' actions."""
        joint = self.joint()
        batch, axes = joint.shape[: -self.num_agents], range(-self.num_agents, 0)
        own = [joint.movedim(axis, -1).reshape(*batch, -1, self.num_actions).sum(-2) for axis in axes]
        return torch.stack(own, dim=-2)

    def component_entropy(self) -> Tensor:
        """H(Pi) / N for each agent, [..., N], so that their sum is the entropy of the joint policy."""
        flat = self._flat()
        entropy = -(flat.exp() * flat).sum(-1, keepdim=True) / self.num_agents
        return entropy.expand(*entropy.shape[:-1], self.num_agents)

    def marginal_entropy(self) -> Tensor:
        """Entropy of each agent's own marginal policy, [..., N]."""
        return torch.special.entr(self.marginals()).sum(-1)

    def tvd(self) -> Tensor:
        """Total variation distance to the product of own marginals, [...]."""
        return 0.5 * l1_to_product(self.joint(), self.marginals())

    def _joint_action(self, index: Tensor) -> tuple[Tensor, Tensor]:
        """Joint actions [..., N] by their place in row-major order [...], and component 0."""
        actions = torch.unravel_index(index, self.log_table.shape[-self.num_agents :])
        return torch.stack(actions, dim=-1), torch.zeros_like(index)

    def _flat(self) -> Tensor:
        """[..., A ** N], joint actions in row-major order."""
        return self.log_table.flatten(-self.num_agents)
