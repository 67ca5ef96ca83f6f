"""Joint policy over factored actions: an independent joint policy for each factor (where to go, what to say)."""

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
        """Those of all factors, one after another."""
        return sum(policy.num_uniforms for policy in self.factors.values())

    def first(self, steps: int) -> FactoredPolicy:
        """The policy at the first `steps` steps of a batch shape [B, T]."""
        return FactoredPolicy({name: policy.first(steps) for name, policy in self.factors.items()})

    def sample(self, uniforms: Tensor) -> tuple[dict[str, Tensor], Tensor]:
        """Uniforms [..., U] -> factor -> actions [..., N]; components [..., K]."""
        parts = uniforms.split([policy.num_uniforms for policy in self.factors.values()], dim=-1)
        return self._joined([policy.sample(part) for policy, part in zip(self.factors.values(), parts, strict=True)])

    def likeliest(self) -> tuple[dict[str, Tensor], Tensor]:
        """Each factor's likeliest actions [..., N], and components [..., K]."""
        return self._joined([policy.likeliest() for policy in self.factors.values()])

    def log_prob(self, actions: dict[str, Tensor], decides: Tensor | None = None) -> Tensor:
        """Joint log-probability of all factors, [...]."""
        return _total(policy.log_prob(actions[name], decides) for name, policy in self.factors.items())

    def component_log_prob(self, actions: dict[str, Tensor], component: Tensor) -> Tensor:
        """Each agent's log-probability with that of the components drawn, [..., N]."""
        each = component.unbind(-1)
        return _total(
            policy.component_log_prob(actions[name], one)
            for (name, policy), one in zip(self.factors.items(), each, strict=True)
        )

    def component_entropy(self) -> Tensor:
        """[..., N], summed over factors."""
        return _total(policy.component_entropy() for policy in self.factors.values())

    def marginal_entropy(self) -> Tensor:
        """[..., N], summed over factors."""
        return _total(policy.marginal_entropy() for policy in self.factors.values())

    def _joined(self, drawn: list[tuple[Tensor, Tensor]]) -> tuple[dict[str, Tensor], Tensor]:
        """Actions by factor and stacked components, from those of each factor in order."""
        actions = dict(zip(self.factors, (action for action, _ in drawn), strict=True))
        return actions, torch.stack([component for _, component in drawn], dim=-1)


def _total(parts: Iterable[Tensor]) -> Tensor:
    return torch.stack(list(parts)).sum(0)
