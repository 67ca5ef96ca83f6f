"""Joint policies in the shape that RLlib's stock learners expect: a class over one flat tensor."""

from __future__ import annotations

import copy
from abc import abstractmethod
from typing import Any, cast

import torch
from ray.rllib.core.distribution.torch.torch_distribution import TorchDistribution
from torch import Tensor

from rl_models.distributions.joint_categorical import JointCategorical
from rl_models.distributions.joint_policy import JointPolicy, WholeJointPolicy, as_whole_joint
from rl_models.distributions.mixture import MixtureOfMarginals, as_mixture
from rl_models.policy import PolicyHead, TeamPolicy
from rl_models.rllib.private_ray import PrivateDistribution


class TeamDistribution(PrivateDistribution, TorchDistribution):
    """Joint policy of N agents over A actions; subclasses define a family's flat inputs and sizes."""

    num_agents: int
    actions: int

    def __init__(self, policy: WholeJointPolicy, inputs: Tensor) -> None:
        self.policy, self._is_deterministic = policy, False
        self._batch, self.device = inputs.shape[:-1], inputs.device
        super().__init__()

    @staticmethod
    @abstractmethod
    def to_inputs(policy: JointPolicy) -> Tensor:
        """Flat inputs of `from_logits` for a joint policy, [..., inputs]."""

    @classmethod
    def from_logits(cls, logits: Tensor, **kwargs: Any) -> TeamDistribution:
        """Distribution of flat inputs [..., inputs]."""
        return cls(cls._get_policy(logits), logits)

    @classmethod
    @abstractmethod
    def _get_policy(cls, logits: Tensor) -> WholeJointPolicy:
        """The joint policy of flat inputs."""

    @staticmethod
    def required_input_dim(space: Any, **kwargs: Any) -> int:
        """Not supported: the number of inputs depends on the model, not only on the space."""
        raise NotImplementedError("a joint policy's inputs are sized by its model")

    def sample(self, *, sample_shape: Any = None, **kwargs: Any) -> Tensor:
        """Joint actions [..., N] from torch's own generator, or the mode."""
        if self._is_deterministic:
            return self.policy.mode()[0]
        return self.policy.sample(torch.rand(*self._batch, self.policy.num_uniforms, device=self.device))[0]

    def logp(self, value: Tensor, **kwargs: Any) -> Tensor:
        """Exact joint log-probability [...] of actions [..., N]."""
        return self.policy.log_prob(value.long())

    def entropy(self, **kwargs: Any) -> Tensor:
        """Sum over agents of the entropy of (component, action), [...]."""
        return self.policy.component_entropy().sum(-1)

    def kl(self, other: TeamDistribution, **kwargs: Any) -> Tensor:
        """Exact KL divergence of the joint policies, [...]; costs A**N."""
        mine, theirs = self.policy.log_joint(), other.policy.log_joint()
        return (mine.exp() * (mine - theirs)).flatten(-self.num_agents).sum(-1)

    def to_deterministic(self) -> Any:
        """The same policy, whose sample is the mode, as RLlib asks for with `explore=False`."""
        greedy = copy.copy(self)
        greedy._is_deterministic = True
        return greedy


class MixtureDistribution(TeamDistribution):
    """A mixture of M products of marginals: inputs [..., M + N * M * A]."""

    components: int

    @staticmethod
    def to_inputs(policy: JointPolicy) -> Tensor:
        """Log weights, then log marginals, [..., M + N * M * A]."""
        mixture = as_mixture(policy)
        return torch.cat([mixture.log_weights, mixture.log_marginals.flatten(-3)], dim=-1)

    @classmethod
    def _get_policy(cls, logits: Tensor) -> MixtureOfMarginals:
        weights, marginals = logits[..., : cls.components], logits[..., cls.components :]
        shape = (cls.num_agents, cls.components, cls.actions)
        return MixtureOfMarginals.from_logits(weights, marginals.unflatten(-1, shape))


class CentralDistribution(TeamDistribution):
    """One probability for each joint action: inputs [..., A ** N]."""

    @staticmethod
    def to_inputs(policy: JointPolicy) -> Tensor:
        """Log of the joint tensor, joint actions in row-major order, [..., A ** N]."""
        whole = as_whole_joint(policy)
        return whole.log_joint().flatten(-whole.num_agents)

    @classmethod
    def _get_policy(cls, logits: Tensor) -> JointCategorical:
        return JointCategorical.from_logits(logits.unflatten(-1, (cls.actions,) * cls.num_agents), cls.num_agents)


def team_distribution(policy: TeamPolicy) -> type[TeamDistribution]:
    """The class for one team's policy head and sizes."""
    head = cast(PolicyHead, policy.policy_head)
    sizes = {"num_agents": policy.num_agents, "actions": head.num_actions}
    if head.components is None:
        return type("SizedCentralDistribution", (CentralDistribution,), sizes)
    return type("SizedMixtureDistribution", (MixtureDistribution,), sizes | {"components": head.components})
