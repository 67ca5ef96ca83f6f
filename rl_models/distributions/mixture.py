"""Mixture of product policies: pi(a_1 ... a_N) = sum_j alpha_j prod_i pi^i_j(a_i) (A Cordial Sync, section 4).

With one component it is a product of marginals, so SYNC and marginal policies share this class. All agents draw the
component from a shared random stream and then act independently.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from rl_models.distributions.joint_policy import JointPolicy, inverse_cdf, l1_to_product, select_component

_REGISTER = 16 if torch.backends.cpu.get_cpu_capability().startswith("AVX512") else 8
"""Number of float32 that a vector register of this CPU holds."""


class ProductMixture(ABC):
    """Base class of mixtures of products over N agents.

    Attributes:
        log_weights: [..., M] float, log alpha, normalised over M.
    """

    explores: ClassVar[bool] = False
    log_weights: Tensor

    @property
    @abstractmethod
    def num_agents(self) -> int:
        """N."""

    @property
    @abstractmethod
    def num_uniforms(self) -> int:
        """U, number of uniform numbers that one sample takes."""

    @abstractmethod
    def sample(self, uniforms: Tensor) -> tuple[Any, Tensor]:
        """Uniforms [..., U] in [0, 1) -> joint actions [..., N] (by part if they have several), component [...]."""

    @abstractmethod
    def repeat(self, times: int) -> Self:
        """The policy of one step, batch shape [B, 1], as that of `times` equal steps."""

    @property
    def _is_product(self) -> bool:
        """Whether there is only one component."""
        return self.log_weights.shape[-1] == 1

    def log_prob(self, actions: Any, decides: Tensor | None = None) -> Tensor:
        """Exact joint log-probability, summed over components, [...] float32, of the agents that decide.

        Actions are [..., N] int64 (by part if they have several), `decides` [..., N] bool (None: all).
        """
        chosen = self._chosen(actions)
        if decides is not None:
            chosen = chosen.masked_fill(~decides[..., None], 0.0)
        return self._log_sum(self.log_weights + chosen.sum(-2), -1)

    def component_log_prob(self, actions: Any, component: Tensor) -> Tensor:
        """Each agent's log alpha_j + log pi^i_j(a_i) for the drawn component j, [..., N] float32.

        The authors' per-agent form uses it, so alpha receives the sum of all agents' advantages. Actions are [..., N]
        int64 (by part if they have several), the component [...] int64.
        """
        chosen = self._chosen(actions)
        if self._is_product:
            return chosen.squeeze(-1) + self.log_weights
        index = component[..., None, None].expand(*chosen.shape[:-1], 1)
        of_component = chosen.gather(-1, index).squeeze(-1)
        return of_component + self.log_weights.gather(-1, component[..., None])

    def marginal_log_prob(self, actions: Any) -> Tensor:
        """Log-probability of each agent's action under its own marginal policy, [..., N] float32."""
        return self._log_sum(self.log_weights[..., None, :] + self._chosen(actions), -1)

    def component_entropy(self) -> Tensor:
        """Entropy of (component, own action) for each agent, [..., N] float32: H(alpha) + sum_j alpha_j H(pi^i_j).

        It is the entropy bonus of the authors' SYNC without CORDIAL, in nats.
        """
        weights = self.log_weights.exp()
        weight_entropy = -(weights * self.log_weights).sum(-1, keepdim=True)
        return weight_entropy + (weights[..., None, :] * self._component_entropies()).sum(-1)

    def _log_sum(self, logs: Tensor, axis: int) -> Tensor:
        """Log of the sum of exp(logs) over the axis of components."""
        return logs.squeeze(axis) if self._is_product else torch.logsumexp(logs, dim=axis)

    @abstractmethod
    def _chosen(self, actions: Any) -> Tensor:
        """[..., N, M], log pi^i_j(a_i)."""

    @abstractmethod
    def _component_entropies(self) -> Tensor:
        """[..., N, M], H(pi^i_j)."""


@dataclass(frozen=True)
class MixtureOfMarginals(ProductMixture):
    """Joint policy of N agents.

    Attributes:
        log_weights: [..., M] float, log alpha, normalised over M.
        log_marginals: [..., N, M, A] float, log pi^i_j, normalised over A.
    """

    log_weights: Tensor
    log_marginals: Tensor

    @classmethod
    def from_logits(cls, mixture_logits: Tensor, policy_logits: Tensor) -> MixtureOfMarginals:
        """Build the policy from mixture logits [..., M] and policy logits [..., N, M, A], which are normalised."""
        return cls(mixture_logits.log_softmax(-1), _log_softmax_of_few(policy_logits))

    @classmethod
    def of_one(cls, logits: Tensor) -> MixtureOfMarginals:
        """The policy of one component from its logits [..., N, A]."""
        return cls.from_logits(logits.new_zeros(*logits.shape[:-2], 1), logits.unsqueeze(-2))

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
        """U = 1 + N: one shared draw of the component, then one draw per agent."""
        return 1 + self.num_agents

    def first_steps(self, steps: int) -> Self:
        """The policy at the first `steps` steps of its batch shape [B, T]."""
        return type(self)(*(value[:, :steps] for value in vars(self).values()))

    def select_worlds(self, worlds: slice) -> Self:
        """The policy in some of the worlds of its batch shape [B, ...]."""
        return type(self)(*(value[worlds] for value in vars(self).values()))

    def repeat(self, times: int) -> MixtureOfMarginals:
        """The policy of one step, batch shape [B, 1], as that of `times` equal steps."""
        marginals = self.log_marginals.expand(-1, times, -1, -1, -1)
        return MixtureOfMarginals(self.log_weights.expand(-1, times, -1), marginals)

    def sample(self, uniforms: Tensor) -> tuple[Tensor, Tensor]:
        """Draw joint actions [..., N] int64 and the component [...] int64 by inverse CDF.

        `uniforms` [..., 1 + N] in [0, 1) are the shared draw of the component and one draw per agent.
        """
        component = inverse_cdf(self.log_weights, uniforms[..., 0])
        actions = inverse_cdf(self._select_component(component), uniforms[..., 1:])
        return actions, component

    def mode(self) -> tuple[Tensor, Tensor]:
        """Each agent's most probable action in the most probable component, [..., N] int64, and that component, [...].

        With one component this is the most probable joint action. With more components another joint action may have
        a larger probability, which it gets from several components.
        """
        component = self.log_weights.argmax(-1)
        return self._select_component(component).argmax(-1), component

    def log_joint_at(self, joint_actions: Tensor) -> Tensor:
        """Log-probabilities of joint actions [..., E, N], [..., E] float32, at a cost of E * M * N whatever A**N is."""
        total = self.log_weights[..., None]
        for agent in range(self.num_agents):
            index = joint_actions[..., None, :, agent].expand(*total.shape[:-1], -1)
            total = total + self.log_marginals[..., agent, :, :].gather(-1, index)
        return self._log_sum(total, -2)

    def log_joint(self) -> Tensor:
        """Log of the joint tensor Pi, [..., A, ..., A] float32 with N action axes."""
        total = self.log_weights[..., None]
        for agent in range(self.num_agents):
            total = (total[..., None] + self.log_marginals[..., agent, :, None, :]).flatten(-2)
        return self._log_sum(total, -2).unflatten(-1, (self.num_actions,) * self.num_agents)

    def joint(self) -> Tensor:
        """The joint tensor Pi, [..., A, ..., A] float32 with N action axes, probabilities."""
        return self.log_joint().exp()

    def marginals(self) -> Tensor:
        """Each agent's marginal policy, [..., N, A] float32: sum_j alpha_j pi^i_j."""
        return self._log_marginals_of_all().exp()

    def marginal_entropy(self) -> Tensor:
        """Entropy of each agent's marginal policy, [..., N] float32, in nats."""
        # By way of logarithms, because the gradient of -p log p is not finite at p = 0, an illegal action.
        log_marginals = self._log_marginals_of_all()
        return -(log_marginals.exp() * log_marginals).sum(-1)

    def tvd(self) -> Tensor:
        """Total variation distance between Pi and the product of its marginals, [...]; 0 for one component."""
        return 0.5 * l1_to_product(self.joint(), self.marginals())

    def _log_marginals_of_all(self) -> Tensor:
        """[..., N, A], log of sum_j alpha_j pi^i_j."""
        return self._log_sum(self.log_weights[..., None, :, None] + self.log_marginals, -2)

    def _chosen(self, actions: Tensor) -> Tensor:
        """[..., N, M], log pi^i_j(a_i)."""
        return log_of_choice(self.log_marginals, actions)

    def _component_entropies(self) -> Tensor:
        return -(self.log_marginals.exp() * self.log_marginals).sum(-1)

    def _select_component(self, component: Tensor) -> Tensor:
        """[..., N, A], log marginals of a component [...] int64."""
        return select_component(self.log_marginals, component)


def log_of_choice(log_probabilities: Tensor, actions: Tensor) -> Tensor:
    """Log-probability of each agent's action [..., N] under each component [..., N, M, A], [..., N, M] float32."""
    index = actions[..., None, None].expand(*log_probabilities.shape[:-1], 1)
    return log_probabilities.gather(-1, index).squeeze(-1)


def _log_softmax_of_few(logits: Tensor) -> Tensor:
    """`log_softmax(-1)`. Of fewer actions than a register holds torch's kernel for CPUs takes four times as long."""
    if logits.device.type != "cpu" or logits.shape[-1] >= _REGISTER:
        return logits.log_softmax(-1)
    below = logits - logits.detach().amax(-1, keepdim=True)
    return below - below.exp().sum(-1, keepdim=True).log()


def as_mixture(policy: JointPolicy) -> MixtureOfMarginals:
    """The policy itself, checked to be a mixture of marginals, else TypeError."""
    if not isinstance(policy, MixtureOfMarginals):
        raise TypeError(f"a mixture of marginals is needed here, and this policy is a {type(policy).__name__}")
    return policy
