"""The mixture of marginals in the shape that RLlib's stock learners expect: a class over one flat tensor."""

from __future__ import annotations

from typing import Any

import torch
from ray.rllib.core.distribution.torch.torch_distribution import TorchDistribution
from torch import Tensor

from rl_models.distributions.mixture import MixtureOfMarginals
from rl_models.team_policy import TeamPolicy


class MixtureDistribution(TorchDistribution):
    """Joint policy of N agents with M components over A actions; subclasses fix (N, M, A)."""

    num_agents: int
    components: int
    actions: int

    def __init__(self, policy: MixtureOfMarginals) -> None:
        self.policy = policy
        super().__init__()

    @staticmethod
    def inputs_of(policy: MixtureOfMarginals) -> Tensor:
        """[..., M + N * M * A], what `from_logits` reads."""
        return torch.cat([policy.log_weights, policy.log_marginals.flatten(-3)], dim=-1)

    @classmethod
    def from_logits(cls, logits: Tensor, **kwargs: Any) -> MixtureDistribution:
        """Distribution of flat inputs [..., M + N * M * A]."""
        weights, marginals = logits[..., : cls.components], logits[..., cls.components :]
        shape = (cls.num_agents, cls.components, cls.actions)
        return cls(MixtureOfMarginals.from_logits(weights, marginals.unflatten(-1, shape)))

    @staticmethod
    def required_input_dim(space: Any, **kwargs: Any) -> int:
        """Not derivable from a space: the number of components is the model's choice."""
        raise NotImplementedError("a mixture's inputs are sized by its model")

    def _get_torch_distribution(self, *args: Any, **kwargs: Any) -> None:
        return None

    def sample(self, *, sample_shape: Any = None, **kwargs: Any) -> Tensor:
        """Joint actions [..., N] from torch's own generator."""
        uniforms = torch.rand(
            *self.policy.log_weights.shape[:-1], 1 + self.num_agents, device=self.policy.log_weights.device
        )
        return self.policy.sample(uniforms)[0]

    def logp(self, value: Tensor, **kwargs: Any) -> Tensor:
        """Exact joint log-probability [...] of actions [..., N]."""
        return self.policy.log_prob(value.long())

    def entropy(self, **kwargs: Any) -> Tensor:
        """Sum over agents of the entropy of (component, action), [...]."""
        return self.policy.component_entropy().sum(-1)

    def kl(self, other: MixtureDistribution, **kwargs: Any) -> Tensor:
        """Exact KL divergence of the joint policies, [...]; costs A**N."""
        mine, theirs = self.policy.log_joint(), other.policy.log_joint()
        return (mine.exp() * (mine - theirs)).flatten(-self.num_agents).sum(-1)

    def to_deterministic(self) -> Any:
        """Teams are evaluated by sampling, as the paper does: the same distribution."""
        return self


def mixture_distribution(policy: TeamPolicy) -> type[MixtureDistribution]:
    """The class for one team's sizes."""
    head: Any = policy.policy_head
    sizes = {"num_agents": policy.num_agents, "components": head.components, "actions": head.actions}
    return type("SizedMixtureDistribution", (MixtureDistribution,), sizes)
