"""Mixture of product policies: pi(a_1 ... a_N) = sum_j alpha_j prod_i pi^i_j(a_i) (A Cordial Sync, section 4.2).

With one component it is the ordinary product of marginals, so SYNC and marginal policies share this class. All agents
draw the component from a shared random stream, then act independently.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from rl_models.distributions.joint_policy import JointPolicy
from rl_models.distributions.joint_tensor import inverse_cdf, l1_to_product


@dataclass(frozen=True)
class MixtureOfMarginals:
    """Joint policy of N agents.

    Attributes:
        log_weights: [..., M] float, log alpha, normalised over M.
        log_marginals: [..., N, M, A] float, log pi^i_j, normalised over A.
    """

    log_weights: Tensor
    log_marginals: Tensor

    @classmethod
    def from_logits(cls, mixture_logits: Tensor, policy_logits: Tensor) -> MixtureOfMarginals:
        """Normalise logits: mixture [..., M], policy [..., N, M, A]."""
        return cls(mixture_logits.log_softmax(-1), policy_logits.log_softmax(-1))

    @property
    def num_agents(self) -> int:
        """N."""
        return self.log_marginals.shape[-3]

    @property
    def num_actions(self) -> int:
        """A."""
        return self.log_marginals.shape[-1]

    @property
    def num_uniforms(self) -> int:
        """1 + N: the shared draw of the component, then one an agent."""
        return 1 + self.num_agents

    def first(self, steps: int) -> MixtureOfMarginals:
        """The policy at the first `steps` steps of a batch shape [B, T]."""
        return MixtureOfMarginals(self.log_weights[:, :steps], self.log_marginals[:, :steps])

    def of_worlds(self, worlds: slice) -> MixtureOfMarginals:
        """The policy in some of the worlds of a batch shape [B, ...]."""
        return MixtureOfMarginals(self.log_weights[worlds], self.log_marginals[worlds])

    def sample(self, uniforms: Tensor) -> tuple[Tensor, Tensor]:
        """Draw joint actions by inverse CDF.

        Args:
            uniforms: [..., 1 + N] in [0, 1): the shared draw of the component, then one draw an agent.

        Returns:
            actions [..., N] int64; component [...] int64.
        """
        component = inverse_cdf(self.log_weights, uniforms[..., 0])
        actions = inverse_cdf(self._of_component(component), uniforms[..., 1:])
        return actions, component

    def likeliest(self) -> tuple[Tensor, Tensor]:
        """The likeliest component, and in it each agent's likeliest action: [..., N] and [...] int64.

        With one component no joint action is likelier; with more there may be one that gathers its probability from
        several components.
        """
        component = self.log_weights.argmax(-1)
        return self._of_component(component).argmax(-1), component

    def log_prob(self, actions: Tensor, decides: Tensor | None = None) -> Tensor:
        """Exact log-probability of joint actions [..., N] int64, summed over components: [...].

        With `decides` [..., N] bool it is the probability of the deciding agents' actions alone.
        """
        chosen = self._chosen(actions)
        if decides is not None:
            chosen = chosen.masked_fill(~decides[..., None], 0.0)
        return torch.logsumexp(self.log_weights + chosen.sum(-2), dim=-1)

    def component_log_prob(self, actions: Tensor, component: Tensor) -> Tensor:
        """Each agent's log alpha_j + log pi^i_j(a_i) for the component j that was drawn, [..., N].

        This is the authors' per-agent form: through it alpha receives the sum of all agents' advantages.
        """
        chosen = self._chosen(actions).gather(-1, _as_last(component, self.num_agents)).squeeze(-1)
        return chosen + self.log_weights.gather(-1, component[..., None])

    def log_joint_at(self, joint_actions: Tensor) -> Tensor:
        """Log-probabilities of E given joint actions a sample.

        Args:
            joint_actions: [..., E, N] int64.

        Returns:
            [..., E]. Costs E * M * N, however large A**N is.
        """
        total = self.log_weights[..., None]
        for agent in range(self.num_agents):
            index = joint_actions[..., None, :, agent].expand(*total.shape[:-1], -1)
            total = total + self.log_marginals[..., agent, :, :].gather(-1, index)
        return torch.logsumexp(total, dim=-2)

    def log_joint(self) -> Tensor:
        """Log of the whole joint tensor, [..., A, ..., A] with N action axes."""
        total = self.log_weights[..., None]
        for agent in range(self.num_agents):
            total = (total[..., None] + self.log_marginals[..., agent, :, None, :]).flatten(-2)
        return torch.logsumexp(total, dim=-2).unflatten(-1, (self.num_actions,) * self.num_agents)

    def joint(self) -> Tensor:
        """The joint tensor Pi, [..., A, ..., A]."""
        return self.log_joint().exp()

    def marginals(self) -> Tensor:
        """Each agent's own marginal policy, [..., N, A]: sum_j alpha_j pi^i_j."""
        return torch.logsumexp(self.log_weights[..., None, :, None] + self.log_marginals, dim=-2).exp()

    def component_entropy(self) -> Tensor:
        """Entropy of (component, own action) for each agent, [..., N]: H(alpha) + sum_j alpha_j H(pi^i_j).

        The entropy bonus of the authors' SYNC without CORDIAL.
        """
        weights = self.log_weights.exp()
        of_weights = -(weights * self.log_weights).sum(-1, keepdim=True)
        of_components = -(self.log_marginals.exp() * self.log_marginals).sum(-1)
        return of_weights + (weights[..., None, :] * of_components).sum(-1)

    def marginal_entropy(self) -> Tensor:
        """Entropy of each agent's own marginal policy, [..., N]."""
        marginals = self.marginals()
        return torch.special.entr(marginals).sum(-1)

    def l1_to_own_product(self) -> Tensor:
        """L1 distance between Pi and the product of its own marginals, [...]."""
        return l1_to_product(self.joint(), self.marginals())

    def tvd(self) -> Tensor:
        """Total variation distance to the product of own marginals, [...]; 0 for one component."""
        return 0.5 * self.l1_to_own_product()

    def _chosen(self, actions: Tensor) -> Tensor:
        """[..., N, M], log pi^i_j(a_i)."""
        index = actions[..., None, None].expand(*self.log_marginals.shape[:-1], 1)
        return self.log_marginals.gather(-1, index).squeeze(-1)

    def _of_component(self, component: Tensor) -> Tensor:
        """[..., N, A], log marginals of the drawn component."""
        index = component[..., None, None, None].expand(*self.log_marginals.shape[:-2], 1, self.log_marginals.shape[-1])
        return self.log_marginals.gather(-2, index).squeeze(-2)


def as_mixture(policy: JointPolicy) -> MixtureOfMarginals:
    """The policy itself, for whoever needs a plain mixture.

    Raises:
        TypeError: it is of another family, such as a factored policy.
    """
    if not isinstance(policy, MixtureOfMarginals):
        raise TypeError(f"a mixture of marginals is needed here, and this policy is a {type(policy).__name__}")
    return policy


def _as_last(component: Tensor, num_agents: int) -> Tensor:
    return component[..., None, None].expand(*component.shape, num_agents, 1)
