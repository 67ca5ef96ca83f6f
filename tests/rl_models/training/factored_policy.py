"""A joint policy as a user may write one: factored actions, an independent policy for each factor (a move, a word)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from rl_models.distributions.mixture import MixtureOfMarginals


@dataclass(frozen=True)
class FactoredPolicy:
    """K independent mixtures; log-probabilities and entropies are their sums.

    Attributes:
        factors: name -> joint policy over that factor, in a fixed order.
    """

    factors: dict[str, MixtureOfMarginals]

    @property
    def num_uniforms(self) -> int:
        """U, the sum over all factors; one sample takes the uniforms of one factor after the other."""
        return sum(policy.num_uniforms for policy in self.factors.values())

    def first_steps(self, steps: int) -> FactoredPolicy:
        """The policy at the first `steps` steps of its batch shape [B, T]."""
        return FactoredPolicy({name: policy.first_steps(steps) for name, policy in self.factors.items()})

    def sample(self, uniforms: Tensor) -> tuple[dict[str, Tensor], Tensor]:
        """Uniforms [..., U] in [0, 1) -> factor -> actions [..., N] int64; components [..., K] int64."""
        parts = uniforms.split([policy.num_uniforms for policy in self.factors.values()], dim=-1)
        return self._joined([policy.sample(part) for policy, part in zip(self.factors.values(), parts, strict=True)])

    def mode(self) -> tuple[dict[str, Tensor], Tensor]:
        """Factor -> mode of its policy [..., N] int64; components [..., K] int64."""
        return self._joined([policy.mode() for policy in self.factors.values()])

    def log_prob(self, actions: dict[str, Tensor], decides: Tensor | None = None) -> Tensor:
        """Joint log-probability of all factors, [...] float32.

        Args:
            actions: factor -> [..., N] int64.
            decides: [..., N] bool, agents whose actions count; None for all.
        """
        return _total(policy.log_prob(actions[name], decides) for name, policy in self.factors.items())

    def component_log_prob(self, actions: dict[str, Tensor], component: Tensor) -> Tensor:
        """Each agent's log-probability of its actions and the drawn components, [..., N] float32.

        Args:
            actions: factor -> [..., N] int64.
            component: [..., K] int64, the component drawn for each factor.
        """
        each = component.unbind(-1)
        return _total(
            policy.component_log_prob(actions[name], one)
            for (name, policy), one in zip(self.factors.items(), each, strict=True)
        )

    def component_entropy(self) -> Tensor:
        """Sum over factors of the entropy of (component, own action), [..., N] float32, in nats."""
        return _total(policy.component_entropy() for policy in self.factors.values())

    def marginal_entropy(self) -> Tensor:
        """Sum over factors of the entropy of each agent's marginal policy, [..., N] float32, in nats."""
        return _total(policy.marginal_entropy() for policy in self.factors.values())

    def _joined(self, drawn: list[tuple[Tensor, Tensor]]) -> tuple[dict[str, Tensor], Tensor]:
        """Actions by factor and stacked components [..., K], from the (actions, component) of each factor in order."""
        actions = dict(zip(self.factors, (action for action, _ in drawn), strict=True))
        return actions, torch.stack([component for _, component in drawn], dim=-1)


def _total(parts: Iterable[Tensor]) -> Tensor:
    return torch.stack(list(parts)).sum(0)
