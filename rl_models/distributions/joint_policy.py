"""What rollouts and objectives ask of a joint policy, whatever its family."""

from __future__ import annotations

from typing import Any, Protocol, Self, TypeAlias, runtime_checkable

from torch import Tensor

JointActions: TypeAlias = Tensor | dict[str, Tensor]
"""[..., N] int64, or one such tensor for each factor of a factored action."""


class JointPolicy(Protocol):
    """A distribution over the joint actions of N agents, with batch shape [...]."""

    @property
    def num_uniforms(self) -> int:
        """U, uniform numbers that one sample takes."""

    def first(self, steps: int) -> Self:
        """The policy at the first `steps` steps of a batch shape [B, T]."""

    def sample(self, uniforms: Tensor) -> tuple[JointActions, Tensor]:
        """Uniforms [..., U] -> joint actions, and the mixture component drawn ([...], or [..., K] for K factors)."""

    def likeliest(self) -> tuple[JointActions, Tensor]:
        """What greedy play takes in place of a sample: joint actions and component, of the same shapes."""

    def log_prob(self, actions: Any, decides: Tensor | None = None) -> Tensor:
        """Exact joint log-probability, [...], of the actions of those agents that decide ([..., N] bool)."""

    def component_log_prob(self, actions: Any, component: Tensor) -> Tensor:
        """Each agent's own log-probability together with that of the component drawn, [..., N]."""

    def component_entropy(self) -> Tensor:
        """Entropy of (component, own action) for each agent, [..., N]."""

    def marginal_entropy(self) -> Tensor:
        """Entropy of each agent's own marginal policy, [..., N]."""


@runtime_checkable
class WholeJointPolicy(JointPolicy, Protocol):
    """A joint policy over one action an agent, which knows the probability of every joint action.

    Coordination sets, the paper's metrics and RLlib's stock learners need this much.
    """

    @property
    def num_agents(self) -> int:
        """N."""

    @property
    def num_actions(self) -> int:
        """A."""

    def sample(self, uniforms: Tensor) -> tuple[Tensor, Tensor]:
        """Uniforms [..., U] -> joint actions [..., N] int64, and the mixture component drawn, [...]."""

    def likeliest(self) -> tuple[Tensor, Tensor]:
        """Joint actions [..., N] int64 and component [...]."""

    def of_worlds(self, worlds: slice) -> Self:
        """The policy in some of the worlds of a batch shape [B, ...]."""

    def log_joint_at(self, joint_actions: Tensor) -> Tensor:
        """Log-probabilities of E given joint actions a sample: [..., E, N] int64 -> [..., E]."""

    def log_joint(self) -> Tensor:
        """Log of the joint tensor, [..., A, ..., A] with N action axes."""

    def joint(self) -> Tensor:
        """The joint tensor Pi, [..., A, ..., A]."""

    def marginals(self) -> Tensor:
        """Each agent's own marginal policy, [..., N, A]."""

    def tvd(self) -> Tensor:
        """Total variation distance to the product of own marginals, [...]."""


def as_whole_joint(policy: JointPolicy) -> WholeJointPolicy:
    """The policy itself, for whoever needs probabilities of whole joint actions.

    Raises:
        TypeError: it has no joint tensor, such as a factored policy.
    """
    if not isinstance(policy, WholeJointPolicy):
        raise TypeError(f"a policy with a joint tensor is needed here, and this policy is a {type(policy).__name__}")
    return policy
