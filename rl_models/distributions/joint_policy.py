"""What rollouts and objectives ask of a joint policy, whatever its family."""

from __future__ import annotations

from typing import Any, Protocol, Self, TypeAlias

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

    def log_prob(self, actions: Any, decides: Tensor | None = None) -> Tensor:
        """Exact joint log-probability, [...], of the actions of those agents that decide ([..., N] bool)."""

    def component_log_prob(self, actions: Any, component: Tensor) -> Tensor:
        """Each agent's own log-probability together with that of the component drawn, [..., N]."""

    def component_entropy(self) -> Tensor:
        """Entropy of (component, own action) for each agent, [..., N]."""

    def marginal_entropy(self) -> Tensor:
        """Entropy of each agent's own marginal policy, [..., N]."""
