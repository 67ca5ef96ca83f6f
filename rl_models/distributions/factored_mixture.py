"""Mixture of products over agents and parts of their actions: pi(a) = sum_j alpha_j prod_i prod_f pi^i_j,f(a_i,f).

It is `mixture.py` for actions of several parts: each part is one of a list of choices, or a vector of numbers
(`squashed_gaussian.py`). All agents draw the component from a shared random stream; each then draws its parts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor

from rl_models.distributions.joint_policy import inverse_cdf, select_component
from rl_models.distributions.mixture import MixtureOfMarginals, ProductMixture, log_of_choice
from rl_models.distributions.squashed_gaussian import SquashedGaussian

CONTINUOUS = "continuous"
"""Name of the part of an action that is a vector of numbers."""
BEFORE_TANH = "before_tanh"
"""Name under which the sample of that part before tanh is kept beside it, for its log-probability."""


@dataclass(frozen=True)
class ActionParts:
    """Parts of the actions of N agents.

    Attributes:
        sizes: part -> number of choices; agents that have fewer choose among legal ones.
        low, high: [N, D] float32, bounds of the vector of numbers; equal where an agent has no such number.
    """

    sizes: dict[str, int]
    low: Tensor = field(default_factory=lambda: torch.zeros(1, 0))
    high: Tensor = field(default_factory=lambda: torch.zeros(1, 0))

    @property
    def num_choices(self) -> int:
        """W, number of choices of all parts together, which is the width of a mask."""
        return sum(self.sizes.values())

    @property
    def num_numbers(self) -> int:
        """D."""
        return self.low.shape[-1]


@dataclass(frozen=True)
class FactoredMixture(ProductMixture):
    """Joint policy of N agents whose actions have several parts.

    Attributes:
        log_weights: [..., M] float, log alpha, normalised over M.
        log_choices: part -> [..., N, M, A] float, log-probabilities, normalised over A.
        gaussian: distribution of the numbers; None where there are none.
    """

    log_weights: Tensor
    log_choices: dict[str, Tensor]
    gaussian: SquashedGaussian | None = None

    @property
    def num_agents(self) -> int:
        """N."""
        some = self.gaussian.mean if self.gaussian is not None else next(iter(self.log_choices.values()))
        return some.shape[-3]

    @property
    def num_joint_actions(self) -> float:
        """Number of joint actions, infinite with numbers."""
        if self.gaussian is not None:
            return math.inf
        return float(math.prod(each.shape[-1] for each in self.log_choices.values()) ** self.num_agents)

    @property
    def num_uniforms(self) -> int:
        """U: one shared draw of the component, then for each agent one draw of each of its parts."""
        numbers = 0 if self.gaussian is None else self.gaussian.mean.shape[-1]
        return 1 + self.num_agents * (len(self.log_choices) + numbers)

    def first_steps(self, steps: int) -> FactoredMixture:
        """The policy at the first `steps` steps of its batch shape [B, T]."""
        first = (slice(None), slice(steps))
        choices = {name: each[first] for name, each in self.log_choices.items()}
        return FactoredMixture(self.log_weights[first], choices, self.gaussian and self.gaussian[first])

    def repeat(self, times: int) -> FactoredMixture:
        """The policy of one step, batch shape [B, 1], as that of `times` equal steps."""
        choices = {name: each.expand(-1, times, -1, -1, -1) for name, each in self.log_choices.items()}
        gaussian = self.gaussian and self.gaussian.repeat(times)
        return FactoredMixture(self.log_weights.expand(-1, times, -1), choices, gaussian)

    def sample(self, uniforms: Tensor) -> tuple[dict[str, Tensor], Tensor]:
        """Draw by inverse CDF with uniforms [..., U]: part -> [..., N] int64 (numbers [..., N, D]), component [...]."""
        component = inverse_cdf(self.log_weights, uniforms[..., 0])
        own = uniforms[..., 1:].unflatten(-1, (self.num_agents, -1))
        actions = {
            name: inverse_cdf(select_component(each, component), own[..., number])
            for number, (name, each) in enumerate(self.log_choices.items())
        }
        if self.gaussian is not None:
            actions |= self._numbers(self.gaussian.sample(own[..., len(self.log_choices) :], component))
        return actions, component

    def mode(self) -> tuple[dict[str, Tensor], Tensor]:
        """The most probable component's likeliest choices and squashed means, and that component [...] int64."""
        component = self.log_weights.argmax(-1)
        actions = {name: select_component(each, component).argmax(-1) for name, each in self.log_choices.items()}
        if self.gaussian is not None:
            actions |= self._numbers(select_component(self.gaussian.mean, component))
        return actions, component

    def marginal_entropy(self) -> Tensor:
        """Entropy of each agent's marginal policy, [..., N] float32, in nats: exact for one component, else from below.

        H >= sum_j alpha_j (H_j - log sum_k alpha_k BC_jk), with the Bhattacharyya coefficients BC of the components
        (Kolchinsky and Tracey, 2017); it is exact where components are equal and where they do not overlap.
        """
        own = self._component_entropies()
        if not self._is_product:
            own = own - torch.logsumexp(self.log_weights[..., None, None, :] + self._log_overlaps(), -1)
        return (self.log_weights.exp()[..., None, :] * own).sum(-1)

    def as_marginals(self) -> MixtureOfMarginals:
        """The same policy with one action for each combination of an agent's choices; it must have no numbers."""
        if self.gaussian is not None:
            raise TypeError("numbers cannot be listed")
        total = torch.zeros_like(next(iter(self.log_choices.values()))[..., :1])
        for each in self.log_choices.values():
            total = (total[..., :, None] + each[..., None, :]).flatten(-2)
        return MixtureOfMarginals(self.log_weights, total)

    def _numbers(self, before_tanh: Tensor) -> dict[str, Tensor]:
        assert self.gaussian is not None
        return {CONTINUOUS: self.gaussian.squash(before_tanh), BEFORE_TANH: before_tanh}

    def _chosen(self, actions: dict[str, Tensor]) -> Tensor:
        each = [log_of_choice(choices, actions[name]) for name, choices in self.log_choices.items()]
        if self.gaussian is not None:
            each.append(self.gaussian.log_prob(actions[BEFORE_TANH]))
        return torch.stack(each).sum(0)

    def _component_entropies(self) -> Tensor:
        each = [-(choices.exp() * choices).sum(-1) for choices in self.log_choices.values()]
        if self.gaussian is not None:
            each.append(self.gaussian.entropy())
        return torch.stack(each).sum(0)

    def _log_overlaps(self) -> Tensor:
        """[..., N, M, M], log of the Bhattacharyya coefficient of each pair of an agent's components."""
        each = [
            torch.logsumexp((choices[..., :, None, :] + choices[..., None, :, :]) / 2, -1)
            for choices in self.log_choices.values()
        ]
        if self.gaussian is not None:
            each.append(self.gaussian.log_overlap())
        return torch.stack(each).sum(0)
